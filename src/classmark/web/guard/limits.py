"""Limits of a request: sizes, times, and failed log-ins."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from classmark.web.guard.errors import RefusedRequest, refuse_scope

USUAL = 2 << 20
UPLOAD = 2 << 30
UPLOADS = ("/files/upload", "/api/v1/import", "/api/v1/uploads")  # to a file, streamed
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
            431, f"The headers are longer than {LONGEST_HEADERS:,} bytes."
        )
    if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > ADDRESS:
        raise RefusedRequest(414, f"The address is longer than {ADDRESS:,} bytes.")
    most = UPLOAD if scope["path"].startswith(UPLOADS) else USUAL
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    if lengths and any(name == b"transfer-encoding" for name, _ in scope["headers"]):
        raise RefusedRequest(400, "The body has two lengths: send one.")
    if lengths and (not lengths[0].isdigit() or int(lengths[0]) > most):
        raise _too_large(most)
    return most


def _too_large(most: int) -> RefusedRequest:
    return RefusedRequest(
        413, f"More than {most >> 20:,} MiB cannot be sent at once: send it in parts."
    )


def _counting(receive: Receive, most: int, silence: float) -> Receive:
    size, ended, began = 0, False, time.monotonic()

    async def receiving() -> Message:
        nonlocal size, ended
        if ended:
            return await receive()
        left = began + 2 * silence + size / SLOWEST - time.monotonic()
        try:
            message = await asyncio.wait_for(receive(), min(silence, left))
        except TimeoutError:
            raise RefusedRequest(
                408, "The body comes too slowly: send it again."
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


class Tries:
    """Failures of the last five minutes, by address and by name.

    >>> tries = Tries(now=lambda: 0.0)
    >>> for _ in range(10):
    ...     tries.check("192.0.2.1", "ada")
    ...     tries.failed("192.0.2.1", "ada")
    >>> tries.check("192.0.2.1", "ada")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ...
    classmark.web.guard.errors.RefusedRequest: 429: Too many log-ins failed: wait 300 …
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = Lock()
        self._failures: dict[tuple[str, str], deque[float]] = {}

    def check(self, address: str, name: str) -> None:
        """Refuse, 429, where too many have failed."""
        now = self._now()
        limits = {("address", address): PER_ADDRESS, ("name", name): PER_NAME}
        with self._lock:
            seconds = int(max(self._wait(*limit, now) for limit in limits.items()))
        if seconds:
            raise RefusedRequest(
                429,
                f"Too many log-ins failed: wait {seconds} seconds",
                {"Retry-After": str(seconds)},
            )

    def failed(self, address: str, name: str) -> None:
        """Note a failure."""
        now = self._now()
        with self._lock:
            if len(self._failures) >= MOST_TRIES:
                self._forget_old(now)
            for key in (("address", address), ("name", name)):
                self._failures.setdefault(key, deque(maxlen=PER_NAME)).append(now)

    def _wait(self, key: tuple[str, str], most: int, now: float) -> float:
        times = self._failures.get(key, deque())
        while times and now - times[0] >= WITHIN:
            times.popleft()
        return max(1.0, times[-most] + WITHIN - now) if len(times) >= most else 0.0

    def _forget_old(self, now: float) -> None:
        self._failures = {
            key: times
            for key, times in self._failures.items()
            if now - times[-1] < WITHIN
        }
        while len(self._failures) >= MOST_TRIES:
            del self._failures[next(iter(self._failures))]


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
