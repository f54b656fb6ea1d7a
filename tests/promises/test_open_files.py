"""A process may have few files open: it serves fewer at once, and loses nothing."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from projects import new_parish
from promises.living import ask, decisions_in, request, served, together

FEW = 280
NAMES = ["bees", "bread", "candles", "birds"]


@pytest.fixture
def folder(tmp_path):
    return new_parish(tmp_path / "parish")


def calls(serving, n):
    """Calls of every kind: decisions, suggestions, searches, lists, pages of texts."""
    for at in range(n):
        document = f"{NAMES[at % 4]}-{at // 4 % 10}"
        match at % 5:
            case 0 | 1:
                body = {"document": document, "assign": [NAMES[at // 2 % 4]]}
                yield ask(serving, "POST", "/decide", body)
            case 2:
                body = {"text": "dough in the oven", "top": 3}
                yield ask(serving, "POST", "/suggest", body)
            case 3:
                yield ask(serving, "POST", "/search", {"query": "honey"})
            case 4:
                yield ask(serving, "GET", f"/sheet/{document}")


def saved(answers):
    """The numbers of the acts that were acknowledged."""
    found = [answer.json for answer in answers if answer.status == 200]
    return {answer["number"] for answer in found if "number" in answer}


def require_in_order(answers):
    """Everybody has an answer, and none is an accident."""
    statuses = {answer.status for answer in answers}
    assert statuses <= {200, 409, 503}, statuses
    for answer in answers:
        if answer.status == 503:
            assert int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize("burst", [60, 200])
def test_bursts_end_in_answers(folder, tmp_path, burst):
    with served(folder, tmp_path / "log", open_files=FEW) as serving:
        asyncio.run(together(calls(serving, 5)))
        numbers = set()
        for _ in range(3):
            answers = asyncio.run(together(calls(serving, burst)))
            require_in_order(answers)
            assert sum(a.status == 200 for a in answers) >= min(burst, 60)
            numbers |= saved(answers)
        assert len(numbers) >= 60
        log = serving.said()
    assert "Traceback" not in log
    assert "failure" not in log
    assert numbers <= decisions_in(folder)


@asynccontextmanager
async def line(serving, data):
    """A connection on which something is said; nothing more is read than the first."""
    reader, writer = await asyncio.open_connection("127.0.0.1", serving.port)
    try:
        writer.write(data)
        yield await asyncio.wait_for(reader.read(12), 30) if data else b""
    finally:
        writer.close()


async def deciding_beside(serving, lines, data):
    """Open some lines and keep them open; what is said on them, and what is decided."""
    async with AsyncExitStack() as stack:
        opening = (stack.enter_async_context(line(serving, data)) for _ in range(lines))
        firsts = await together(opening)
        await asyncio.sleep(2.5)
        return firsts, await together(calls(serving, 60))


def test_decisions_go_on_beside_event_streams(folder, tmp_path):
    """A person may listen with twenty pages; they still decide."""
    with served(folder, tmp_path / "log", open_files=FEW) as serving:
        data = request(serving, "GET", "/events?seconds=60")
        firsts, answers = asyncio.run(deciding_beside(serving, 60, data))
        assert firsts.count(b"HTTP/1.1 200") == 20
        assert firsts.count(b"HTTP/1.1 429") == 40
        require_in_order(answers)
        assert {answer.status for answer in answers} == {200}
        numbers = saved(answers)
    assert len(numbers) == 24
    assert numbers <= decisions_in(folder)


def test_silent_connections_make_room_for_decisions(folder, tmp_path):
    with served(folder, tmp_path / "log", open_files=FEW) as serving:
        _, answers = asyncio.run(deciding_beside(serving, 150, b""))
        require_in_order(answers)
        assert {answer.status for answer in answers} == {200}


def test_what_a_burst_took_is_given_back(folder, tmp_path):
    """Threads end, and their connections to the store with them."""
    with served(folder, tmp_path / "log") as serving:
        asyncio.run(together(calls(serving, 60)))
        after_one = serving.files
        for _ in range(3):
            asyncio.run(together(calls(serving, 60)))
        assert serving.files <= after_one + 20


def test_what_is_too_little_is_said_at_the_start(folder, tmp_path):
    with served(folder, tmp_path / "log", open_files=FEW) as serving:
        advice = serving.process.stdout.readline()
    assert advice.startswith("Only 280 files may be open at once: ")
    assert "ulimit -n" in advice
    with (
        pytest.raises(AssertionError, match=r"needs .* raise the limit"),
        served(folder, tmp_path / "log", open_files=80),
    ):
        pass
