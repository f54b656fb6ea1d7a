"""A portion of a collection's rows, in a worker's memory, and what it is asked there.

The first argument of each function is the portion; what travels are weights, scores,
sums and duals, never the portion.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.machines.duals import Packed, packed, unpacked
from classmark.rankers.examples.given import mean_of
from classmark.ranking import top
from classmark.solvers.cutting.linear import linear
from classmark.solvers.hinge.blocks import Aim, Alike, Few, improve
from classmark.sparse import Rows, rows_from, take


class Source(Protocol):
    """What rows can be had from, said by names and numbers."""

    def size_bytes(self) -> int:
        """About what the rows take in memory."""
        ...

    def open(self) -> Rows:
        """Read or make the rows."""
        ...


class Portion:
    """Rows in memory, as arrays of their own."""

    def __init__(self, rows: Rows) -> None:
        self.starts, self.columns, self.values = rows.starts, rows.columns, rows.values
        self.width = rows.width

    @property
    def rows(self) -> Rows:
        """The rows."""
        return Rows(self.starts, self.columns, self.values, self.width)


class Moved(NamedTuple):
    """What came of a step: see ``blocks.Improved``; ``change`` is a single row."""

    cost: float
    gap: float
    duals: Packed | None = None
    change: Rows | None = None
    worth: float = 0.0


def portion(source: Source) -> Portion:
    """Bring a portion into memory."""
    return Portion(source.open())


def extent(mine: Portion) -> tuple[int, int, int]:
    """Rows, columns, values."""
    return len(mine.rows), mine.width, mine.rows.nnz


def total(mine: Portion) -> Floats:
    """The sum of all rows, (features,)."""
    return mean_of(mine.rows) * len(mine.rows)


def score(mine: Portion, weights: Floats) -> Floats:
    """X · w."""
    return linear([mine.rows]).product(weights)


def combine(mine: Portion, coefficients: Floats) -> Floats:
    """Xᵀ · c."""
    return linear([mine.rows]).back(coefficients)


def fetch(mine: Portion, rows: Ints) -> Rows:
    """A few rows, to travel after all."""
    return take(mine.rows, rows)


def best(mine: Portion, hidden: Ints, weights: Floats, k: int) -> tuple[Ints, Floats]:
    """The best rows that are not hidden, ties by number, and their scores."""
    scores = score(mine, weights)
    scores[hidden] = -np.inf
    found = top(scores, min(k, len(scores)))
    found = found[scores[found] > -np.inf]
    return found, scores[found]


def step(
    mine: Portion, own: tuple[Packed, Alike], few: Few, weights: Floats, aim: Aim
) -> Moved:
    """Survey the portion, then climb with it alone."""
    duals, alike = own
    before = unpacked(duals, alike.box)
    found = improve(mine.rows, alike, before, few, weights, aim)
    if found.duals is None or found.change is None:
        return Moved(found.cost, found.gap)
    change = rows_from(found.change[np.newaxis])
    after = packed(found.duals, alike.box)
    return Moved(found.cost, found.gap, after, change, found.worth)
