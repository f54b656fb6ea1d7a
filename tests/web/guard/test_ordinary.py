"""Ordinary requests are answered as h11 answers them; all others are h11's."""

import asyncio

import h11
import pytest
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from classmark.web.guard.capacity import Bounded
from classmark.web.guard.ordinary import Answer, ordinary

POST = b"POST /x?a=1 HTTP/1.1\r\nHost: shelf\r\nContent-Length: 5\r\n\r\nbees!"
GET = b"GET /%41/b HTTP/1.1\r\nHost:shelf \r\nAccept: a, b\r\nX-y:\r\n\r\n"


class Transport(asyncio.Transport):
    """What a server writes, and whether it reads and is open."""

    def __init__(self):
        super().__init__()
        self.written, self.closed, self.paused = [], False, False

    def write(self, data):
        self.written.append(bytes(data))

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed

    def pause_reading(self):
        self.paused = True

    def resume_reading(self):
        self.paused = False


async def echo(scope, receive, send):
    """Answer what was asked; the query says how."""
    body, more = b"", True
    while more and scope["query_string"] != b"early":
        message = await receive()
        body, more = body + message["body"], message["more_body"]
    text = repr((scope["method"], scope["path"], scope["headers"], body)).encode()
    length = [(b"content-length", b"%d" % len(text))]
    query = scope["query_string"]
    headers = [] if query == b"chunks" else length
    headers += [(b"connection", b"close")] if query == b"last" else []
    headers += [(b"x-odd", b"a\r\nb: c")] if query == b"split" else []
    status = 204 if query == b"none" else 200
    if status == 204:
        headers, text = [], b""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if query == b"slow":
        await asyncio.sleep(0.01)
    half = len(text) // 2
    await send({"type": "http.response.body", "body": text[:half], "more_body": True})
    rest = text[half:] + b"?" * (query == b"long")
    await send({"type": "http.response.body", "body": rest})


def protocol_of(kind):
    config = Config(echo, http="h11", access_log=False, date_header=False, ws="none")
    config.load()
    state = ServerState()
    options = {"most": 5} if kind is Bounded else {}
    protocol = kind(config, state, {}, asyncio.get_running_loop(), **options)
    transport = Transport()
    protocol.connection_made(transport)
    return protocol, transport


def exchange(kind, pieces):
    """What is answered to some pieces of bytes, and the protocol and its transport."""

    async def run():
        protocol, transport = protocol_of(kind)
        for piece in pieces:
            protocol.data_received(piece)
            for _ in range(3):
                await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        for task in [*protocol.tasks]:
            task.cancel()
        return protocol, transport

    return asyncio.run(run())


def answers(transport, count):
    """The answers as a client reads them: status, body."""
    client = h11.Connection(h11.CLIENT)
    read, data = [], b"".join(transport.written)
    client.receive_data(data)
    for _ in range(count):
        client.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
        client.send(h11.EndOfMessage())
        status, body = None, b""
        while True:
            event = client.next_event()
            if isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return read, event
        read.append((status, body))
        if client.their_state is h11.DONE and client.our_state is h11.DONE:
            client.start_next_cycle()
    return read, client.trailing_data[0]


@pytest.mark.parametrize("query", ["a=1", "chunks", "none", "slow", "last", "early"])
def test_an_answer_is_that_of_h11(query):
    asked = POST.replace(b"a=1", query.encode())
    ours, theirs = exchange(Bounded, [asked]), exchange(H11Protocol, [asked])
    assert isinstance(ours[0].cycle, Answer)
    assert not isinstance(theirs[0].cycle, Answer)
    assert answers(ours[1], 1) == answers(theirs[1], 1)
    assert ours[1].closed is theirs[1].closed is (query == "last")


@pytest.mark.parametrize(
    "pieces",
    [
        [POST, GET, POST],
        [POST + GET + POST],
        [POST[:-5], POST[-5:] + GET],
        [POST[:-2], POST[-2:-1], POST[-1:], GET],
        [GET[:10], GET[10:], POST],
        [POST.replace(b"a=1", b"slow"), GET + POST, GET],
        [POST.replace(b"a=1", b"early")[:-3], b"es!" + GET],
        [GET.replace(b"GET", b"PUT"), GET, POST],
    ],
    ids=range(8),
)
def test_requests_that_follow_each_other_are_answered_in_order(pieces):
    count = b"".join(pieces).count(b"HTTP/1.1")
    ours, theirs = exchange(Bounded, pieces), exchange(H11Protocol, pieces)
    read, rest = answers(ours[1], count)
    assert (read, rest) == answers(theirs[1], count)
    assert len(read) == count
    assert rest == b""
    assert not ours[1].paused
    assert ours[0].silent is False
    assert not ours[0].is_answering


@pytest.mark.parametrize(
    "odd",
    [
        b"GET /decide HTTP/1.0\r\nHost: a\r\n\r\n",
        b"GET http://a/decide HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /decide HTTP/1.1\r\n\r\n",
        b"GET /decide HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /decide HTTP/1.1\nHost: a\n\n",
        b"GET /de\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
        b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
    ],
)
def test_a_request_that_is_odd_in_any_way_is_left_to_h11(odd):
    assert ordinary(odd) is None
    ours, theirs = exchange(Bounded, [odd]), exchange(H11Protocol, [odd])
    assert ours[1].written == theirs[1].written
    assert ours[1].closed == theirs[1].closed


@pytest.mark.parametrize("query", [b"split", b"long"])
def test_an_answer_that_would_break_what_follows_ends_the_connection(query):
    _, transport = exchange(Bounded, [POST.replace(b"a=1", query), GET])
    assert transport.closed
    assert b"b: c" not in b"".join(transport.written)


def test_what_h11_is_reading_is_no_request_of_its_own():
    head = b"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(GET)
    _, transport = exchange(Bounded, [head, GET, POST])
    (first, second), rest = answers(transport, 2)
    assert repr(GET).encode() in first[1]
    assert b"POST" in second[1]
    assert rest == b""


def test_who_is_being_answered_is_not_silent():
    async def run():
        protocol, _ = protocol_of(Bounded)
        protocol.data_received(POST[:-1])
        protocol.since -= 100
        assert protocol.is_answering
        assert not protocol.silent
        protocol.data_received(POST[-1:])
        await asyncio.sleep(0.01)
        assert not protocol.is_answering
        assert protocol.silent

    asyncio.run(run())
