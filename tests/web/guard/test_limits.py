"""What is too long, too large or too slow."""

import asyncio
import json

import pytest

from classmark.web.guard.limits import USUAL, RequestLimits

PAGE = "/settings/me"


def test_a_body_that_says_it_is_too_large_is_not_read(client):
    headers = {"Content-Length": str(10 * 2**30)}
    answer = client.post("/settings/theme", content=b"x", headers=headers)
    assert answer.status_code == 413
    headers = {"Content-Length": "-1"}
    answer = client.post("/settings/theme", content=b"x", headers=headers)
    assert answer.status_code in (400, 413)


def test_a_body_that_turns_out_too_large_is_cut_off(client):
    def pieces():
        for _ in range(USUAL // 65_536 + 2):
            yield b"theme=dark&" * 5957 + b"x"

    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = client.post("/settings/theme", content=pieces(), headers=headers)
    assert answer.status_code == 413
    answer = client.post("/api/v1/no-such-call", content=pieces())
    assert answer.status_code in (404, 413)


def test_uploads_may_be_larger(client):
    body = b"x" * (USUAL + 1)
    assert client.post("/files/upload-nowhere", content=body).status_code != 413
    assert client.post("/settings/theme", content=body).status_code == 413


def test_a_body_has_one_length(client):
    both = {"Content-Length": "3", "Transfer-Encoding": "chunked"}
    answer = client.post("/settings/theme", content=b"x=1", headers=both)
    assert answer.status_code == 400


def test_long_headers_and_addresses_are_refused(client):
    assert client.get(PAGE, headers={"X-Long": "x" * 40_000}).status_code == 431
    assert client.get(PAGE + "?q=" + "x" * 9_000).status_code == 414


def scope_of(path, method="POST"):
    return {
        "type": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "method": method,
        "headers": [],
    }


async def asked(limits, scope, receive):
    sent = []

    async def send(message):
        sent.append(message)

    await limits(scope, receive, send)
    return sent


def test_a_silent_body_is_given_up():
    async def reads_all(_scope, receive, _send):
        while (await receive()).get("more_body"):
            pass

    async def receive():
        await asyncio.sleep(5)

    limits = RequestLimits(reads_all, silence=0.01)
    sent = asyncio.run(asked(limits, scope_of("/api/v1/x"), receive))
    assert sent[0]["status"] == 408
    assert "too slowly" in json.loads(sent[1]["body"])["error"]["message"]


def test_a_body_that_only_drips_is_given_up():
    async def reads_all(_scope, receive, _send):
        while (await receive()).get("more_body"):
            pass

    async def receive():
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"x", "more_body": True}

    limits = RequestLimits(reads_all, silence=0.05)
    sent = asyncio.run(asked(limits, scope_of("/api/v1/x"), receive))
    assert sent[0]["status"] == 408


def test_waiting_for_the_end_of_a_finished_request_is_not_limited():
    async def watches(_scope, receive, _send):
        assert (await receive())["type"] == "http.request"
        assert (await receive())["type"] == "http.disconnect"

    async def receive():
        if not said:
            said.append(1)
            return {"type": "http.request", "body": b"", "more_body": False}
        await asyncio.sleep(0.05)
        return {"type": "http.disconnect"}

    said = []
    limits = RequestLimits(watches, silence=0.01)
    assert asyncio.run(asked(limits, scope_of("/api/v1/x"), receive)) == []


@pytest.mark.parametrize("kind", ["lifespan", "websocket"])
def test_other_kinds_pass(kind):
    async def app(scope, _receive, _send):
        seen.append(scope["type"])

    seen = []
    asyncio.run(asked(RequestLimits(app), {"type": kind}, None))
    assert seen == [kind]
