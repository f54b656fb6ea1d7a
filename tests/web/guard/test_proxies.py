"""Behind a proxy: only it is answered, and it says who asks."""

import asyncio

import pytest

from classmark.problems import Mistake
from classmark.web.guard.gate import behind, doors_of, networks_of


def asked(proxy, client, **headers):
    """Status, and the address and scheme that the application is told."""
    told, sent = [], []

    async def app(scope, _receive, send):
        told.append((scope["client"][0], scope["scheme"]))
        await send({"type": "http.response.start", "status": 204, "headers": []})

    async def send(message):
        sent.append(message)

    named = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    scope = {
        "type": "http", "method": "GET", "path": "/enter", "query_string": b"",
        "headers": named, "client": client, "scheme": "http", "state": {},
    }  # fmt: skip
    asyncio.run(behind(app, proxy)(scope, None, send))
    return sent[0]["status"], told


@pytest.mark.parametrize("client", [("127.0.0.1", 1), ("::ffff:127.0.0.1", 1)])
def test_the_proxy_is_answered(client):
    assert asked("127.0.0.1", client)[0] == 204


@pytest.mark.parametrize("client", [("192.0.2.9", 1), ("::1", 1), None])
def test_others_are_not(client):
    said = {"x_forwarded_for": "127.0.0.1", "x_forwarded_proto": "https"}
    assert asked("127.0.0.1", client, **said) == (403, [])


def test_whom_the_proxy_names_is_believed_and_nobody_before():
    client = ("10.0.0.7", 1)
    forged = "198.51.100.1, 192.0.2.9"
    said = {"x_forwarded_for": forged, "x_forwarded_proto": "https"}
    assert asked("10.0.0.0/8", client, **said) == (204, [("192.0.2.9", "https")])


@pytest.mark.parametrize("proxy", ["*", "nginx", "10.0.0.0/99", "127.0.0.1,"])
def test_a_proxy_is_an_address(proxy):
    with pytest.raises(Mistake, match="--behind-proxy"):
        networks_of(proxy)
    with pytest.raises(Mistake, match="--behind-proxy"):
        doors_of("::", 1, names=["a.example"], tls=False, proxy=proxy, people=True)
