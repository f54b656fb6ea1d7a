"""Who ranks best from a few examples? The same draws of P for every method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from classmark.arrays import Floats, Rows
from classmark.progress import track
from reproductions.qbme_tasks import Task, Topic


class Query(Protocol):
    """What is compared: ``ExampleQuery``, and what other packages have."""

    def fit(self, P: Any, U: Any) -> Any:
        """Learn from examples and the collection."""

    def decision_function(self, X: Any) -> Any:
        """Score documents."""


Makers = Mapping[str, Callable[[], Query]]


@dataclass(frozen=True, slots=True)
class Cell:
    """Average precisions of one method at one number of examples.

    size : None for all;  values : (topics,), means over the draws;  error : the
    standard error of their mean, over topics and draws.
    """

    size: int | None
    method: str
    values: Floats
    error: float

    @property
    def mean(self) -> float:
        """MAP."""
        return float(self.values.mean())


@dataclass(frozen=True, slots=True)
class Margin:
    """How far a method is above the best of the others, and how sure that is.

    error : of the difference's mean over topics.
    """

    size: int | None
    other: str
    difference: float
    error: float


def few(
    task: Task, makers: Makers, sizes: Sequence[int | None], draws: int = 1
) -> list[Cell]:
    """Measure every method at every number of examples; None stands for all."""
    return [
        cell
        for size in track(sizes, f"numbers of examples, {task.name}", len(sizes))
        for cell in _at(task, makers, size, draws if size is not None else 1)
    ]


def _at(task: Task, makers: Makers, size: int | None, draws: int) -> list[Cell]:
    found = {name: np.empty((len(task.topics), draws)) for name in makers}
    for at, topic in enumerate(track(task.topics, f"topics, {size} examples")):
        for draw in range(draws):
            P = task.examples(topic, size, draw)
            for name, maker in makers.items():
                found[name][at, draw] = _precision(task, topic, P, maker())
    return [cell_of(size, name, values) for name, values in found.items()]


def cell_of(size: int | None, method: str, values: Floats) -> Cell:
    """Average precisions, shape (topics, draws), as a cell."""
    return Cell(size, method, values.mean(axis=1), _error(values))


def _precision(task: Task, topic: Topic, P: Rows, query: Query) -> float:
    query.fit(P, task.collection)
    return task.measure(topic, query.decision_function(task.collection)).ap


def _error(values: Floats) -> float:
    """Topics are given; what is left to chance is which examples are drawn.

    With one draw there is no saying: NaN.
    """
    topics, draws = values.shape
    if draws == 1:
        return float("nan")
    within = values.var(axis=1, ddof=1) / draws
    return float(np.sqrt(within.sum()) / topics)


def margins(cells: Sequence[Cell], method: str) -> list[Margin]:
    """Compare a method with the best other one at each number of examples."""
    found = []
    for size in dict.fromkeys(cell.size for cell in cells):
        here = {cell.method: cell for cell in cells if cell.size == size}
        own = here.pop(method)
        best = max(here.values(), key=lambda cell: cell.mean)
        gain = own.values - best.values
        error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
        found.append(Margin(size, best.method, float(gain.mean()), error))
    return found
