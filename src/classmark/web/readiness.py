"""Whether the server is warm, and the page that says so until it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from threading import Event
from typing import TypeVar

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from classmark.language import _
from classmark.progress import shown_by
from classmark.web.render import alone

T = TypeVar("T")
PATIENCE = 0.8  # seconds that a page waits before it says so
LOOK = 0.05  # seconds between two looks
RANKING = ("/decide", "/inbox", "/like", "/search", "/progress")


class Stopped(Exception):
    """The server ends before it is ready."""


class Readiness:
    """What the server still prepares; a display of progress while it does.

    doing : in words;  done, total : how far, where that is known;  is_over : whether
    the server ends, so that nothing more is prepared.

    >>> readiness = Readiness()
    >>> with readiness.preparing("loading the ranker"):
    ...     readiness.is_ready
    False
    >>> readiness.is_ready
    True
    """

    def __init__(self) -> None:
        self._ready = Event()
        self._ready.set()
        self.doing, self.done, self.total = "", 0, 0
        self.is_over: Callable[[], bool] = lambda: False

    @property
    def is_ready(self) -> bool:
        """Whether every page can be answered at once."""
        return self._ready.is_set()

    @contextmanager
    def preparing(self, doing: str) -> Iterator[None]:
        """Not ready inside."""
        self._ready.clear()
        self.doing = doing
        try:
            with shown_by(self):
                yield
        finally:
            self._ready.set()

    def track(self, items: Iterable[T], _: str, total: int | None) -> Iterator[T]:
        """Count what is prepared."""
        if total is None and isinstance(items, Sized):
            total = len(items)
        if (total or 0) < 2:
            yield from items
            return
        self.total = total or 0
        for self.done, item in enumerate(items):
            if self.is_over():
                raise Stopped
            yield item


class Ready:
    """Middleware: until the server is warm, pages say what it does instead."""

    def __init__(self, app: ASGIApp, readiness: Readiness) -> None:
        self.app, self.readiness = app, readiness

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or say that the server still starts."""
        ranks = scope.get("path", "").startswith(RANKING)
        if self.readiness.is_ready or not (ranks and asks_for_page(scope)):
            await self.app(scope, receive, send)
            return
        for _look in range(round(PATIENCE / LOOK)):
            if not self.readiness.is_ready:
                await asyncio.sleep(LOOK)
        if self.readiness.is_ready:
            await self.app(scope, receive, send)
            return
        await starting_page(scope, self.readiness)(scope, receive, send)


def starting_page(scope: Scope, readiness: Readiness) -> HTMLResponse:
    """A page that says what is prepared, and opens anew by itself."""
    page = alone(
        Request(scope), "starting.html", title=_("Starting"), status_code=503,
        readiness=readiness,
    )  # fmt: skip
    page.headers["Retry-After"] = "1"
    return page


def asks_for_page(scope: Scope) -> bool:
    """Whether a browser asks for a page."""
    return bool(
        scope["type"] == "http"
        and scope["method"] == "GET"
        and "text/html" in Headers(scope=scope).get("accept", "")
    )
