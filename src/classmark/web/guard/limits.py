"""Limits of a request: sizes, times, and failed log-ins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from classmark.language import N_, _, whole
from classmark.web.guard.errors import RefusedRequest, refuse_scope
from classmark.workbench.store.presence import Presence
from classmark.workbench.team.people import digest_of

USUAL = 2 << 20
UPLOAD = 2 << 30
UPLOADS = (  # to a file, streamed
    "/files/upload", "/api/v1/import", "/api/v1/uploads", "/projects/restore",
    "/api/v1/projects/restore",
)  # fmt: skip
LONGEST_HEADERS = 32_768
ADDRESS = 8_192
SILENCE = 30.0  # seconds in which nothing comes
SLOWEST = 16_384.0  # bytes a second, over the whole of a body


class RequestLimits:
    """Refuse what is too long or too slow before anything is made of it."""

    def __init__(self, app: ASGIApp, *, silence: float = SILENCE) -> None:
        self.app, self.silence = app, silence

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, counted and timed."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            counted = _counting(receive, _check_sizes(scope), self.silence)
            await self.app(scope, counted, sending)
        except RefusedRequest as refused:
            if started:
                raise
            await refuse_scope(scope, refused)(scope, receive, send)


def _check_sizes(scope: Scope) -> int:
    if sum(len(k) + len(v) for k, v in scope["headers"]) > LONGEST_HEADERS:
        raise RefusedRequest(
            431,
            _(
                "The headers are longer than %(longest_headers)s bytes.",
                longest_headers=whole(LONGEST_HEADERS),
            ),
        )
    if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > ADDRESS:
        raise RefusedRequest(
            414,
            _("The address is longer than %(address)s bytes.", address=whole(ADDRESS)),
        )
    most = UPLOAD if scope["path"].startswith(UPLOADS) else USUAL
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    if lengths and any(name == b"transfer-encoding" for name, _ in scope["headers"]):
        raise RefusedRequest(400, _("The body has two lengths: send one."))
    if lengths and (not lengths[0].isdigit() or int(lengths[0]) > most):
        raise _too_large(most)
    return most


def _too_large(most: int) -> RefusedRequest:
    return RefusedRequest(
        413,
        _(
            "More than %(n)s MiB cannot be sent at once: send it in parts.",
            n=whole(most >> 20),
        ),
    )


def _counting(receive: Receive, most: int, silence: float) -> Receive:
    size, ended, began = 0, False, time.monotonic()

    async def receiving() -> Message:
        nonlocal size, ended
        if ended:
            return await receive()
        left = began + 2 * silence + size / SLOWEST - time.monotonic()
        try:
            async with asyncio.timeout(min(silence, left)):
                message = await receive()
        except TimeoutError:
            raise RefusedRequest(
                408, N_("The request arrives too slowly: send it again.")
            ) from None
        size += len(message.get("body", b""))
        ended = not message.get("more_body")
        if size > most:
            raise _too_large(most)
        return message

    return receiving


WITHIN = 300.0
PER_ADDRESS = 10
PER_NAME = 30
MOST_TRIES = 10_000
FAILURE = """
SELECT at FROM failures WHERE source = ? AND at > ?
ORDER BY at DESC LIMIT 1 OFFSET ?
"""  # the one after which there was one too many
NOTE_FAILURE = "INSERT INTO failures (source, at) VALUES (?, ?), (?, ?)"
FORGET_OLD = """
DELETE FROM failures WHERE at <= ? OR at > ? OR at <=
  (SELECT at FROM failures ORDER BY at DESC LIMIT 1 OFFSET ?)
"""


class Tries:
    """Failures of the last five minutes, by address and by name, at all servers.

    presence : where they are, by digests; None: in memory.

    >>> tries = Tries(now=lambda: 0.0)
    >>> for _ in range(10):
    ...     tries.check("192.0.2.1", "ada")
    ...     tries.failed("192.0.2.1", "ada")
    >>> tries.check("192.0.2.1", "ada")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ...
    classmark.web.guard.errors.RefusedRequest: 429: Too many log-ins failed: wait 300 …
    """

    def __init__(
        self, presence: Presence | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._run, self._now = (presence or Presence()).run, now

    def check(self, address: str, name: str) -> None:
        """Refuse, 429, where too many have failed."""
        by_address, by_name = _sources(address, name)
        now = self._now()
        seconds = max(
            self._wait(by_address, PER_ADDRESS, now), self._wait(by_name, PER_NAME, now)
        )
        if seconds:
            raise RefusedRequest(
                429,
                _("Too many failed log-ins: wait %(n)s seconds", n=seconds),
                {"Retry-After": str(seconds)},
            )

    def failed(self, address: str, name: str) -> None:
        """Note a failure."""
        by_address, by_name = _sources(address, name)
        now = self._now()
        self._run(FORGET_OLD, (now - WITHIN, now + WITHIN, MOST_TRIES))
        self._run(NOTE_FAILURE, (by_address, now, by_name, now))

    def _wait(self, source: str, most: int, now: float) -> int:
        for (at,) in self._run(FAILURE, (source, now - WITHIN, most - 1)):
            return max(1, int(min(WITHIN, at + WITHIN - now)))
        return 0


def _sources(address: str, name: str) -> tuple[str, str]:
    """By what failures are counted; what was typed as a name is not stored."""
    return digest_of(f"address {address}"), digest_of(f"name {name}")


PATIENCE = 15.0  # seconds for the first line and the headers of a request


class Patient(H11Protocol):
    """HTTP whose every request has to say within some seconds what it wants."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on while a request has begun and its headers have not ended."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._wait()
        elif self.conn.their_state is not h11.IDLE:
            self._wait_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(PATIENCE, self._give_up)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()
