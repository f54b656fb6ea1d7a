"""Limits: how much a request may say, and how long it may take to say it."""

from __future__ import annotations

import asyncio
from time import monotonic

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classmark.web.guard.answering import answer_refused
from classmark.web.guard.refusing import Refused

USUAL = 2 << 20
UPLOAD = 2 << 30
UPLOADS = ("/files/upload", "/api/v1/import", "/api/v1/uploads")  # to a file, streamed
HEADERS = 32_768
ADDRESS = 8_192
SILENCE = 30.0  # seconds in which nothing comes
SLOWEST = 16_384.0  # bytes a second, over the whole of a body


class Limits:
    """Refuse what is too long or too slow before anything is made of it."""

    def __init__(self, app: ASGIApp, *, silence: float = SILENCE) -> None:
        self.app, self.silence = app, silence

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, counted and timed."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            most = _check_sizes(scope)
        except Refused as refused:
            await answer_refused(scope, refused)(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, _counting(receive, most, self.silence), sending)
        except Refused as refused:
            if started:
                raise
            await answer_refused(scope, refused)(scope, receive, send)


def _check_sizes(scope: Scope) -> int:
    if sum(len(k) + len(v) for k, v in scope["headers"]) > HEADERS:
        raise Refused(431, f"The headers are longer than {HEADERS:,} bytes.")
    if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > ADDRESS:
        raise Refused(414, f"The address is longer than {ADDRESS:,} bytes.")
    most = UPLOAD if scope["path"].startswith(UPLOADS) else USUAL
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    if lengths and any(name == b"transfer-encoding" for name, _ in scope["headers"]):
        raise Refused(400, "The body has two lengths: send one.")
    if lengths and (not lengths[0].isdigit() or int(lengths[0]) > most):
        raise _too_large(most)
    return most


def _too_large(most: int) -> Refused:
    return Refused(
        413, f"More than {most >> 20:,} MiB cannot be sent at once: send it in parts."
    )


def _counting(receive: Receive, most: int, silence: float) -> Receive:
    size, ended, began = 0, False, monotonic()

    async def receiving() -> Message:
        nonlocal size, ended
        if ended:
            return await receive()
        left = began + 2 * silence + size / SLOWEST - monotonic()
        try:
            message = await asyncio.wait_for(receive(), min(silence, left))
        except TimeoutError:
            raise Refused(408, "The body comes too slowly: send it again.") from None
        size += len(message.get("body", b""))
        ended = not message.get("more_body")
        if size > most:
            raise _too_large(most)
        return message

    return receiving
