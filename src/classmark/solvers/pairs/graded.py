"""GradedPairs: within each query, every higher grade above every lower one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints


class Priced(NamedTuple):
    """What scores cost: Σ hinge, Σ smoothed hinge and Σ slope over all pairs.

    coefficients : for each row Σ slope of the pairs it should win, less of those it
    should lose: the derivative of the smoothed loss by its score, with the sign turned.
    """

    hinge: float
    smooth: float
    slopes: float
    coefficients: Floats


class Sample(NamedTuple):
    """Some pairs, and what all pairs count together."""

    winners: Ints
    losers: Ints
    total: float


class Runs(NamedTuple):
    """Rows by query and rising grade.

    bounds : (runs + 1,), a run being the rows of one query and grade;  queries : of
    each run;  levels : of each run, the number of its grade among all grades.
    """

    bounds: Ints
    queries: Ints
    levels: Ints


class GradedPairs:
    """The pairs of runs, as joins of whole runs: their number never matters.

    Where all pairs of a query count alike, neighbouring runs are joined, then the
    joined ones, so a row is in log R joins for R grades; a table of weights needs a
    join for each two grades.

    counts : (rows,), what a pair counts that the row should win;  shares : (queries,),
    what the pairs of a query count;  table : τ, (grades, grades), of the higher and of
    the lower grade, or None.
    """

    def __init__(
        self, runs: Runs, counts: Floats, shares: Floats, table: Floats | None = None
    ) -> None:
        listed = list(_joined(runs) if table is None else _each(runs))
        listed.sort(key=lambda join: join[0])
        self.joins = np.array(listed, np.int64).reshape(-1, 6)[:, :5]
        places = np.array(listed, np.int64).reshape(-1, 6)[:, 5]
        self.prices = shares[places] if listed else np.empty(0)
        if table is not None and listed:
            level = runs.levels[np.searchsorted(runs.bounds, self.joins[:, [3, 1]])]
            self.prices = self.prices * table[level[:, 0], level[:, 1]]
        self.runs, self.counts = runs, np.ascontiguousarray(counts, np.float64)
        depths = 1 + max((join[0] for join in listed), default=0)
        self.orders = np.tile(np.arange(len(counts), dtype=np.uint32), (depths, 1))

    def __len__(self) -> int:
        below = self.joins[:, 2] - self.joins[:, 1]
        return int((below * (self.joins[:, 4] - self.joins[:, 3])).sum())

    def sample(self, size: int, random: np.random.Generator) -> Sample:
        """So many pairs at random, each as probable as its price, and Σ price."""
        sides = np.diff(self.joins[:, 1:], axis=1)[:, ::2]
        weights = self.prices * sides.prod(axis=1)
        which = random.choice(len(weights), size, p=weights / weights.sum())
        place = (random.random((size, 2)) * sides[which]).astype(np.int64)
        losers, winners = (self.joins[which][:, [1, 3]] + place).T
        return Sample(winners, losers, float(weights.sum()))

    def price(self, scores: Floats, width: float) -> Priced:
        """What these scores cost, hinges being smooth over ``width``."""
        from classmark.solvers.pairs.kernels import arrange, price

        out = np.empty(len(scores))
        arrange(scores, self.runs.bounds, self.joins, self.orders)
        held = self.orders, self.joins, self.prices, self.counts
        hinge, smooth, slopes = price(scores, *held, width, out)
        return Priced(hinge, smooth, slopes, out)

    def bend(self, scores: Floats, width: float) -> Callable[[Floats], Floats]:
        """The second derivative by the scores, as a product."""
        from classmark.solvers.pairs.kernels import arrange, bend

        arrange(scores, self.runs.bounds, self.joins, self.orders)
        orders, out = self.orders.copy(), np.empty(len(scores))

        def product(x: Floats) -> Floats:
            held = orders, self.joins, self.prices, self.counts
            bend(scores, *held, width, x, out)
            return out

        return product


def _joined(runs: Runs) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Joins of neighbours, then of what was joined; the query last."""
    for query, first, last in _of_queries(runs):
        depth, step = 0, 1
        while step < last - first:
            for at in range(first, last - step, 2 * step):
                end = min(at + 2 * step, last)
                low, middle, high = runs.bounds[[at, at + step, end]].tolist()
                yield depth, low, middle, middle, high, query
            depth, step = depth + 1, 2 * step


def _each(runs: Runs) -> Iterator[tuple[int, int, int, int, int, int]]:
    """A join for each two runs of a query."""
    bounds = runs.bounds.tolist()
    for query, first, last in _of_queries(runs):
        for up in range(first, last):
            for low in range(first, up):
                sides = (bounds[low], bounds[low + 1], bounds[up], bounds[up + 1])
                yield 0, *sides, query


def _of_queries(runs: Runs) -> Iterator[tuple[int, int, int]]:
    """Each query with its first run and the one after its last."""
    numbers, first = np.unique(runs.queries, return_index=True)
    ends = np.append(first[1:], len(runs.queries))
    yield from zip(numbers.tolist(), first.tolist(), ends.tolist(), strict=True)
