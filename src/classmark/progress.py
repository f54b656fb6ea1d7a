"""Long work: its progress is reported, and independent tasks may be spread.

Library code wraps its long loops in :func:`track`; nothing is shown unless a display is
installed (the command line does so when its output is a terminal). It hands many
independent tasks (folds, settings, nodes) to :func:`spread`. They run here, one after
the other, unless a spreader is installed (``classmark.machines`` has them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Work = Callable[..., T]


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


_remarks: ContextVar[list[str] | None] = ContextVar("remarks", default=None)


def remark(text: str) -> None:
    """Say something of what was done, to whoever collects remarks."""
    collected = _remarks.get()
    if collected is not None:
        collected.append(text)


@contextmanager
def remarks() -> Iterator[list[str]]:
    """Collect the remarks of everything inside.

    >>> with remarks() as collected:
    ...     remark("two pages were damaged")
    >>> collected
    ['two pages were damaged']
    """
    collected: list[str] = []
    with installed(_remarks, collected):
        yield collected


class Spreader(Protocol):
    """Runs many tasks at once on workers.

    memory : the least that a worker may take, in bytes; 0: no limit.
    """

    @property
    def workers(self) -> int:
        """How many there are now."""

    @property
    def memory(self) -> int:
        """What the least of them may take."""

    def require_folder(self, folder: Path) -> None:
        """Refuse a folder that not every worker sees."""

    def spread(
        self, work: Work[T], tasks: Sequence[Any], shared: Sequence[Any]
    ) -> Iterator[tuple[int, T]]:
        """Yield each task's number and ``work(task, *shared)``, as they are done."""


_spreader: ContextVar[Spreader | None] = ContextVar("spreader", default=None)


def spread(
    work: Work[T],
    tasks: Sequence[Any],
    shared: Sequence[Any] = (),
    title: str = "tasks",
) -> list[T]:
    """Do ``work(task, *shared)`` for every task; the results in the tasks' order.

    work : a function of a module, the same for all;  shared : arguments that all tasks
    have in common, sent to each machine once;  title : of the progress bar. The result
    of a task must not depend on where and when it runs.

    >>> spread(pow, [2, 3], [2])
    [4, 9]
    """
    spreader = _spreader.get()
    if spreader is not None and len(tasks) > 1:
        done = spreader.spread(work, tasks, shared)
    else:
        done = ((number, work(task, *shared)) for number, task in enumerate(tasks))
    results = dict(track(done, title, len(tasks)))
    return [results[number] for number in range(len(tasks))]


def spreader() -> Spreader | None:
    """The installed spreader, or None."""
    return _spreader.get()


def spread_by(spreader: Spreader) -> AbstractContextManager[None]:
    """Use ``spreader`` for all tasks spread inside."""
    return installed(_spreader, spreader)
