"""Progress that anyone may report and only a display shows.

Library code wraps its long loops in :func:`track`; nothing happens unless a skin has
installed a display (the command line does, when its output is a terminal).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")


class Display(Protocol):
    """What a skin offers: wrap an iterable and show how far it is."""

    def track(self, items: Iterable[T], what: str, total: int | None) -> Iterator[T]:
        """Yield the items, showing progress."""


_display: ContextVar[Display | None] = ContextVar("display", default=None)


def track(items: Iterable[T], what: str, total: int | None = None) -> Iterable[T]:
    """Yield the items; tell the installed display, if any, how far we are."""
    display = _display.get()
    return items if display is None else display.track(items, what, total)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Report a piece of work that has no parts to count."""
    for _ in track((None,), what):
        yield


@contextmanager
def shown_by(display: Display) -> Iterator[None]:
    """Use ``display`` for everything tracked inside."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)
