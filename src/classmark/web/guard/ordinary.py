"""Ordinary requests are read and answered in a few steps; all others are left to h11.

h11 looks at every header of a request and of its answer several times, which takes
longer than a suggestion. A request that one expression understands as a whole, and that
asks for nothing special of the connection, comes here; what differs in any way, is
wrong, or arrives in pieces before its headers end, is h11's as ever.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, NamedTuple
from urllib.parse import unquote

import h11
from uvicorn.protocols.http.flow_control import CLOSE_HEADER, HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import (
    STATUS_PHRASES,
    H11Protocol,
    RequestResponseCycle,
)

HEAD = re.compile(
    rb"(GET|POST) (/[!-~]*+) HTTP/1\.1\r\n"
    rb"((?:[-!#$%&'*+.^_`|~\w]++:[\t -~\x80-\xff]*+\r\n)++)\r\n"
)
HEADER = re.compile(rb"([^:]++):([^\r]*+)\r\n")
LONGEST = 16_384  # bytes of such a head
SPECIAL = {b"expect", b"transfer-encoding", b"upgrade"}
ONCE = (b"host", b"connection", b"content-length")
KEEP = b"keep-alive"
BODILESS = {204, 304}
WHOLE = "classmark.whole"  # in the scope of a request whose body is here
Pairs = list[tuple[bytes, bytes]]


class OrdinaryRequest(NamedTuple):
    """A request as it came; length : of its body, of which a part may still come."""

    method: str
    target: bytes
    headers: Pairs
    length: int
    body: bytes


def ordinary(data: bytes) -> OrdinaryRequest | None:
    r"""Read a request; None: it is not an ordinary one.

    >>> head = b"GET /decide HTTP/1.1\r\nHost: shelf\r\n"
    >>> ordinary(head + b"\r\n").headers
    [(b'host', b'shelf')]
    >>> ordinary(head + b"Connection: close\r\n\r\n")
    """
    match = HEAD.match(data, 0, LONGEST)
    if match is None:
        return None
    pairs = [(n.lower(), v.strip(b" \t")) for n, v in HEADER.findall(match[3])]
    names, named = [name for name, _ in pairs], dict(pairs)
    if not SPECIAL.isdisjoint(names) or any(names.count(name) > 1 for name in ONCE):
        return None
    length = named.get(b"content-length", b"0")
    if b"host" not in named or named.get(b"connection", KEEP).lower() != KEEP:
        return None
    if not length.isdigit() or len(length) > 19:
        return None
    body = data[match.end() :]
    return OrdinaryRequest(match[1].decode(), match[2], pairs, int(length), body)


class Ordinary(H11Protocol):
    """HTTP whose ordinary requests take the short way; h11 waits meanwhile."""

    _missing = 0  # bytes of a body that have not come
    _later = b""  # what came behind it

    @property
    def is_answering(self) -> bool:
        """Whether an ordinary request is not answered yet."""
        return isinstance(self.cycle, Answer) and not self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Read an ordinary request, or the rest of one; else let h11 read."""
        if self._missing:
            data = self._go_on(data)
        if self.is_answering:
            self._later += data
            if data:
                self.flow.pause_reading()
            return
        idle = self.conn.our_state is h11.IDLE is self.conn.their_state
        fresh = idle and not self.conn.trailing_data[0]
        if data and fresh and (request := ordinary(data)) is not None:
            self._unset_keepalive_if_required()
            self._begin(request)
        elif data:
            super().data_received(data)

    def on_response_complete(self) -> None:
        """Begin with what came meanwhile."""
        super().on_response_complete()
        data, self._later = self._later, b""
        if data and not self.transport.is_closing():
            self.data_received(data)

    def _begin(self, request: OrdinaryRequest) -> None:
        raw_path, _, query_string = request.target.partition(b"?")
        self._missing, self._later = request.length, b""
        self.headers = request.headers
        scope: Any = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "method": request.method,
            "root_path": self.root_path,
            "path": self.root_path + unquote(raw_path.decode("ascii")),
            "raw_path": self.root_path.encode("ascii") + raw_path,
            "query_string": query_string,
            "headers": request.headers,
            "state": self.app_state.copy(),
            WHOLE: len(request.body) >= request.length,
        }
        self.scope = scope
        self.cycle = Answer(
            scope, self.conn, self.transport, self.flow, self.logger,
            self.access_logger, self.access_log, self.server_state.default_headers,
            asyncio.Event(), self.on_response_complete,
        )  # fmt: skip
        self._later = self._go_on(request.body)
        task = self.loop.create_task(self.cycle.run_asgi(self.app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def _go_on(self, data: bytes) -> bytes:
        """Take what belongs to the body; what nobody waits for is dropped."""
        part, rest = data[: self._missing], data[self._missing :]
        self._missing -= len(part)
        if not self.cycle.response_complete:
            self.cycle.body += part
            self.cycle.more_body = self._missing > 0
            if len(self.cycle.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            self.cycle.message_event.set()
        return rest


class Answer(RequestResponseCycle):
    """An ordinary request and its answer, which is written in one piece if it is one.

    Without a length it is sent in chunks. Its head waits for the body until the loop
    has nothing else to do.
    """

    _head = b""
    _left: int | None = None  # bytes that are still to be sent; None: in chunks

    async def send(self, message: Any) -> None:
        """Send a part of the answer."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        expected = "body" if self.response_started else "start"
        if self.response_complete or message["type"] != f"http.response.{expected}":
            raise RuntimeError(f"message {message['type']!r} in the place of another")
        if not self.response_started:
            self.response_started = True
            self._head = self._head_of(message["status"], message.get("headers", ()))
            asyncio.get_running_loop().call_soon(self._send_head)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        head, self._head = self._head, b""
        self.transport.write(head + self._framed(body, more=more))
        if not more:
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.conn.send(h11.ConnectionClosed())
                self.transport.close()
            self.on_response()

    def _send_head(self) -> None:
        if self._head and not self.transport.is_closing():
            head, self._head = self._head, b""
            self.transport.write(head)

    def _head_of(self, status: int, headers: Any) -> bytes:
        """The head, with what it says of the length and of the connection."""
        pairs = [*self.default_headers, *headers]
        lengths = [v for name, v in pairs if name.lower() == b"content-length"]
        if lengths or status in BODILESS:
            self._left = int(lengths[0]) if lengths and status not in BODILESS else 0
        else:
            pairs.append((b"transfer-encoding", b"chunked"))
        self.keep_alive &= CLOSE_HEADER not in [(n.lower(), v) for n, v in pairs]
        lines = b"".join([b"%b: %b\r\n" % pair for pair in pairs])
        if not lines.count(b"\n") == lines.count(b"\r") == len(pairs) or b"\0" in lines:
            raise RuntimeError("a header of the answer has a line break in it")
        first = b"HTTP/1.1 %d %b\r\n" % (status, STATUS_PHRASES[status])
        return b"%b%b\r\n" % (first, lines)

    def _framed(self, body: bytes, *, more: bool) -> bytes:
        """A part of the body as it is sent."""
        if self._left is None:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return chunk if more else chunk + b"0\r\n\r\n"
        self._left -= len(body)
        if self._left < 0 or (self._left and not more):
            raise RuntimeError("the body is not as long as the answer's head says")
        return body
