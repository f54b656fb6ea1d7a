"""Progress on a terminal: a bar for each piece of work that takes a while."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")
PATIENCE = 1.0  # seconds before a bar appears
OFTEN = 0.1  # seconds from one look at the work to the next


@dataclass(slots=True, eq=False)
class Loop:
    """One loop: how far it is, and its bar once it has one."""

    title: str
    total: int | None
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    bar: Any = None

    @property
    def count(self) -> str:
        """How far it is, in numbers; nothing where there is only one thing to do."""
        if self.total == 1:
            return ""
        return f"{self.done:,}" + ("" if self.total is None else f" of {self.total:,}")


class Bars:
    """Bars on standard error, one below the other where loops are nested.

    A thread looks at the work, so that a bar appears even while the first item takes
    long; the loops themselves only count. No bar is on the screen after the last loop.
    """

    def __init__(self) -> None:
        self._loops: list[Loop] = []
        self._lock = Lock()
        self._screen: Any = None
        self._idle = Event()

    def track(self, items: Iterable[T], title: str, total: int | None) -> Iterator[T]:
        """Yield the items; after a second show how far we are."""
        if total is None and isinstance(items, Sized):
            total = len(items)
        loop = Loop(title, total)
        self._begin(loop)
        try:
            for item in items:
                yield item
                loop.done += 1
        finally:
            self._end(loop)

    def _begin(self, loop: Loop) -> None:
        with self._lock:
            self._loops.append(loop)
            if len(self._loops) == 1:
                self._idle = Event()
                looking = Thread(target=self._look, args=(self._idle,), daemon=True)
                looking.start()

    def _end(self, loop: Loop) -> None:
        with self._lock:
            self._loops.remove(loop)
            if loop.bar is not None:
                self._screen.remove_task(loop.bar)
            if self._loops:
                return
            self._idle.set()
            if self._screen is not None:
                self._screen.stop()
                self._screen = None

    def _look(self, idle: Event) -> None:
        """Show bars of loops that take long, until all loops have ended."""
        while not idle.wait(OFTEN):
            with self._lock:
                if not idle.is_set():
                    self._show()

    def _show(self) -> None:
        for loop in self._loops:
            if loop.bar is None and time.monotonic() - loop.started > PATIENCE:
                self._screen = self._screen or _screen()
                total = None if loop.total == 1 else loop.total
                loop.bar = self._screen.add_task(loop.title, total=total, count="")
            if loop.bar is not None:
                self._screen.update(loop.bar, completed=loop.done, count=loop.count)


def _console() -> Any:
    from rich.console import Console

    return Console(stderr=True)


def _screen() -> Any:
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    screen = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        console=_console(),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    screen.start()
    return screen
