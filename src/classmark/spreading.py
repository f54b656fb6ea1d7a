"""Work that anyone may part and only machines spread.

Library code that does the same to many independent things (folds, settings, nodes)
says so with :func:`spread`; it is done here, one after the other, unless somebody has
brought machines (:func:`spread_by`; ``classmark.machines`` has them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol, TypeVar

from classmark.progress import track

T = TypeVar("T")
Work = Callable[..., T]


class Spreader(Protocol):
    """Who does many things at once, with how many workers, in which memory.

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
    what: str = "tasks",
) -> list[T]:
    """Do ``work(task, *shared)`` for every task; the results in the tasks' order.

    work : a function of a module, the same for all;  shared : what every task needs,
    sent to each machine once. On which machine a task is done, and when, must not
    matter to its result.

    >>> spread(pow, [2, 3], [2])
    [4, 9]
    """
    found = dict(track(_done(work, tasks, shared), what, len(tasks)))
    return [found[number] for number in range(len(tasks))]


def _done(
    work: Work[T], tasks: Sequence[Any], shared: Sequence[Any]
) -> Iterator[tuple[int, T]]:
    spreader = _spreader.get()
    if spreader is not None and len(tasks) > 1:
        yield from spreader.spread(work, tasks, shared)
        return
    for number, task in enumerate(tasks):
        yield number, work(task, *shared)


def spreader() -> Spreader | None:
    """Whoever spreads here, for work that has to be cut to measure."""
    return _spreader.get()


@contextmanager
def spread_by(spreader: Spreader) -> Iterator[None]:
    """Let ``spreader`` do everything that is spread inside."""
    token = _spreader.set(spreader)
    try:
        yield
    finally:
        _spreader.reset(token)
