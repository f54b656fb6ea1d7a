"""Progress reports of long loops.

Library code wraps its long loops in :func:`track`; nothing is shown unless a display is
installed (the command line does so when its output is a terminal).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")


class Display(Protocol):
    """Wraps an iterable and shows how far it is."""

    def track(self, items: Iterable[T], title: str, total: int | None) -> Iterator[T]:
        """Yield the items, showing progress."""


_display: ContextVar[Display | None] = ContextVar("display", default=None)


def track(items: Iterable[T], title: str, total: int | None = None) -> Iterable[T]:
    """Yield the items; the installed display, if any, shows progress."""
    display = _display.get()
    return items if display is None else display.track(items, title, total)


@contextmanager
def working(title: str) -> Iterator[None]:
    """Report a piece of work that has no parts to count."""
    for _ in track((None,), title):
        yield


@contextmanager
def installed(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Let a variable have a value inside."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def shown_by(display: Display) -> AbstractContextManager[None]:
    """Use ``display`` for everything tracked inside."""
    return installed(_display, display)
