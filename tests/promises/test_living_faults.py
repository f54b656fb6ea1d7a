"""Servers that are killed, stopped, doubled or cut off, under eight who decide."""

import asyncio
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack, contextmanager, suppress
from itertools import count
from threading import Timer

import numpy as np
import pytest

from classmark.workbench.project import STORE, Project, info
from classmark.workbench.settings import StoreSettings
from projects import new_parish
from promises.living import ask, decisions_in, request, served, together

EIGHT = 8
LONGEST = 20.0  # seconds that anybody decides
NAMES = ["bees", "bread", "candles", "birds"]


@pytest.fixture
def folder(tmp_path):
    return new_parish(tmp_path / "parish")


async def decide(serving, at):
    body = {"document": f"{NAMES[at % 4]}-{at // 4 % 10}", "assign": [NAMES[at % 3]]}
    return await ask(serving, "POST", "/decide", body)


async def deciding(serving, who, until):
    """Decide on one document after the other; what was answered."""
    answers, end = [], time.monotonic() + LONGEST
    for turn in count():
        answers.append(await decide(serving, EIGHT * turn + who))
        if until(answers[-1]) or time.monotonic() > end:
            break
    return answers


def eight_deciding(serving, until):
    answers = asyncio.run(together(deciding(serving, n, until) for n in range(EIGHT)))
    return [answer for each in answers for answer in each]


def saved(answers):
    return {answer.json["number"] for answer in answers if answer.status == 200}


def require_saved(folder, numbers):
    """All that was acknowledged is in the log, and every byte is sound."""
    assert numbers
    assert numbers <= decisions_in(folder)
    with Project(folder) as project:
        info(project, check=True)


def test_a_killed_server_loses_nothing(folder, tmp_path, promised):
    numbers = set()
    for seed in range(promised(2, 20)):
        seconds = np.random.default_rng(seed).uniform(0.3, 1.0)
        with served(folder, tmp_path / "log") as serving:
            answers = eight_deciding(serving, lambda answer: answer.status == 200)
            kill = Timer(seconds, serving.process.kill)
            kill.start()
            answers += eight_deciding(serving, lambda answer: answer.status == 0)
            kill.join()
        assert {answer.status for answer in answers} <= {0, 200, 409}
        numbers |= saved(answers)
        require_saved(folder, numbers)


def test_a_killed_postgres_loses_nothing(tmp_path):
    """Who decides meanwhile is told; when it is back, deciding goes on by itself."""
    from postgres_server import mortal_server, program

    pytest.importorskip("psycopg", reason="needs psycopg: install classmark[postgres]")
    if program("initdb") is None:
        pytest.skip("needs PostgreSQL: install its server programs")
    with mortal_server() as (url, kill_and_start):
        folder = new_parish(tmp_path / "parish", store=StoreSettings(url, "parish"))
        with served(folder, tmp_path / "log") as serving:
            for _ in range(2):
                before = time.monotonic()
                kill = Timer(0.5, kill_and_start, (0.5,))
                kill.start()
                answers = eight_deciding(
                    serving,
                    lambda answer, before=before: (
                        answer.status == 200 and time.monotonic() - before > 3
                    ),
                )
                kill.join()
                statuses = Counter(answer.status for answer in answers)
                assert statuses.keys() <= {200, 409, 503}, statuses
                assert statuses[503], "it was away for half a second"
                assert saved(answers) <= decisions_in(folder)
            assert "Traceback" not in serving.said()
        with Project(folder) as project:
            info(project, check=True)


def test_two_servers_on_one_project(any_store, tmp_path):
    """One log with one order; each follows the other."""
    folder = new_parish(tmp_path / "parish", store=any_store())
    with (
        served(folder, tmp_path / "one") as one,
        served(folder, tmp_path / "two") as two,
    ):
        end = time.monotonic() + 1.5

        async def both():
            return await together(
                deciding(serving, who, lambda _: time.monotonic() > end)
                for serving in (one, two)
                for who in range(4)
            )

        answers = [answer for each in asyncio.run(both()) for answer in each]
        assert {answer.status for answer in answers} <= {200, 409}
        numbers = [a.json["number"] for a in answers if a.status == 200]
        assert len(set(numbers)) == len(numbers), "an act has one number"
        last = max(numbers)
        for serving in (one, two):
            known = asyncio.run(ask(serving, "GET", "/history?top=9"))
            assert f'"number":{last}' in known.body.decode().replace(" ", "")
        one.process.send_signal(signal.SIGSTOP)
        more = asyncio.run(decide(two, 1))
        one.process.send_signal(signal.SIGCONT)
        assert more.status == 200, (
            "a server that is stopped between acts stops no other"
        )
    require_saved(folder, set(numbers) | saved([more]))


HOLDING = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("holds", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
connection.execute("ROLLBACK")
"""


def test_a_writer_that_is_stopped_is_waited_for_and_told(folder, tmp_path):
    """Reading goes on; decisions wait half a minute, are refused, and go on after."""
    with served(folder, tmp_path / "log") as serving:
        command = [sys.executable, "-c", HOLDING, str(folder / STORE)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (ourselves)
        assert writer.stdout.readline() == "holds\n"

        async def meanwhile():
            waiting = [asyncio.create_task(decide(serving, n)) for n in range(3)]
            await asyncio.sleep(1)
            read = await ask(serving, "GET", "/sheet/bees-1")
            return read, await together(waiting)

        read, refused = asyncio.run(meanwhile())
        assert read.status == 200
        assert {answer.status for answer in refused} == {503}
        assert all(answer.headers["retry-after"] == "5" for answer in refused)
        assert b"in use by another process" in refused[0].body
        writer.send_signal(signal.SIGCONT)
        writer.communicate(timeout=10)
        after = asyncio.run(decide(serving, 1))
        assert after.status == 200
    require_saved(folder, saved([after]))


@contextmanager
def mounted(place, size):
    """A disk of its own, of some size; only root may mount one."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)]
    done = subprocess.run(mount, capture_output=True, check=False)  # noqa: S603 (our own)
    if done.returncode:
        pytest.skip("needs the right to mount a disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)  # noqa: S603, S607 (our own)


def fill(path):
    """Write to a file until its disk is full."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_full_disk_refuses_and_goes_on_when_there_is_room(tmp_path):
    with mounted(tmp_path / "disk", "24m") as disk:
        folder = new_parish(disk / "parish")
        with served(folder, tmp_path / "log") as serving:
            before = eight_deciding(serving, lambda answer: answer.status == 200)
            filler = disk / "filler"
            fill(filler)
            refused = eight_deciding(serving, lambda answer: answer.status == 503)
            assert 503 in {answer.status for answer in refused}
            assert {answer.status for answer in refused} <= {200, 409, 503}
            read = asyncio.run(ask(serving, "GET", "/sheet/bees-1"))
            assert read.status == 200, "reading goes on"
            filler.unlink()
            after = eight_deciding(serving, lambda answer: answer.status == 200)
            numbers = saved(before + refused + after)
        require_saved(folder, numbers)


def test_a_read_only_disk_is_told_in_a_line(tmp_path):
    """A server and every command say that nothing can be written, and what to do."""
    with mounted(tmp_path / "disk", "64m") as disk:
        folder = new_parish(disk / "parish")
        remount = ["mount", "-o", "remount,ro", str(disk)]
        subprocess.run(remount, check=True)  # noqa: S603 (our own)
        for words in (
            ["serve", folder, "--port", "0"],
            ["decide", "-p", folder, "bees-1", "--assign", "bees"],
            ["train", "-p", folder],
        ):
            command = [sys.executable, "-m", "classmark.cli.main", *map(str, words)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (ourselves)
            assert done.returncode == 2, done
            assert done.stderr.count("\n") == 1, done.stderr
            assert "let yourself write" in done.stderr


@pytest.mark.parametrize("damage", ["swapped", "removed", "log removed"])
def test_a_store_that_is_swapped_takes_no_more_decisions(folder, tmp_path, damage):
    """They would be acknowledged, and be in a file that nobody finds."""
    store, log = folder / STORE, folder / f"{STORE}-wal"
    other = new_parish(tmp_path / "other")
    with served(folder, tmp_path / "log") as serving:
        before = eight_deciding(serving, lambda answer: answer.status == 200)
        away = {file: file.rename(f"{file}.away") for file in (store, log)}
        if damage == "swapped":
            (other / STORE).rename(store)
        elif damage == "log removed":
            away[store].rename(store)
        answers = eight_deciding(serving, lambda _: True)
        assert {answer.status for answer in answers} == {503}
        if damage == "swapped":
            return
        for file in (store, log):
            if not file.exists():
                away[file].rename(file)
        after = eight_deciding(serving, lambda answer: answer.status == 200)
        numbers = saved(before + after)
    require_saved(folder, numbers)


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_store_that_is_damaged_under_a_server_is_told(folder, tmp_path, damage):
    with served(folder, tmp_path / "log") as serving:
        eight_deciding(serving, lambda answer: answer.status == 200)
        with (folder / STORE).open("r+b") as file:
            if damage == "cut":
                file.truncate(8192)
            else:
                file.seek(4096)
                file.write(bytes(255 - byte for byte in file.read(40_960)))
        calls = [
            ("GET", "/sheet/bees-1"), ("GET", "/history"), ("GET", "/export"),
            ("GET", "/documents"), ("POST", "/decide"), ("GET", "/progress"),
        ]  # fmt: skip
        body = {"document": "bees-1", "assign": ["bees"]}
        answers = asyncio.run(
            together(
                ask(serving, m, p, body if m == "POST" else None) for m, p in calls
            )
        )
        assert {answer.status for answer in answers} <= {0, 200, 503}, answers
        assert serving.process.poll() is None


def test_five_hundred_event_streams_leave_room_for_decisions(folder, tmp_path):
    """Of many people: some listen, the others are told to come again."""
    with served(folder, tmp_path / "log") as serving:
        listening = request(serving, "GET", "/events?seconds=60")

        async def many():
            async with AsyncExitStack() as stack:
                firsts = []
                for _ in range(500):
                    reader, writer = await asyncio.open_connection(
                        "127.0.0.1", serving.port
                    )
                    stack.callback(writer.close)
                    writer.write(listening)
                    firsts.append(reader)
                heads = [await asyncio.wait_for(r.read(12), 30) for r in firsts]
                return heads, await together(decide(serving, n) for n in range(EIGHT))

        heads, answers = asyncio.run(many())
        assert Counter(heads) == {b"HTTP/1.1 200": 20, b"HTTP/1.1 429": 480}
        assert {answer.status for answer in answers} == {200}
        assert len(saved(answers)) == EIGHT


def test_slow_readers_hold_up_nobody(folder, tmp_path):
    """Who asks for everything and reads nothing takes a connection, no more."""
    with served(folder, tmp_path / "log") as serving:
        asking = request(serving, "GET", "/export") + b""

        async def many():
            async with AsyncExitStack() as stack:
                for _ in range(100):
                    reader, writer = await asyncio.open_connection(
                        "127.0.0.1", serving.port, limit=1
                    )
                    reader._transport.pause_reading()  # noqa: SLF001 (it reads nothing)
                    stack.callback(writer.close)
                    writer.write(asking)
                started = time.monotonic()
                answers = await together(decide(serving, n) for n in range(EIGHT))
                return answers, time.monotonic() - started

        answers, seconds = asyncio.run(many())
        assert {answer.status for answer in answers} == {200}
        assert seconds < 10
