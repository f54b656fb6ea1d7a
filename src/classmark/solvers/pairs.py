"""Hinges over all pairs of a query's documents with different grades, none listed.

docs/mathematics.md, section 12, says why a sort is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints, Rows, take
from classmark.language import N_
from classmark.problems import Mistake
from classmark.solvers.ascent import Ascent, Solution
from classmark.solvers.cutting_planes import Oracle, Plane, dot, linear
from classmark.solvers.kernels_pairs import arrange, bend, price, worst_orders
from classmark.validation import generator

Product = Callable[[Floats], Floats]


class Priced(NamedTuple):
    """The cost of scores: Σ hinge, and Σ slope of the smoothed hinge, over all pairs.

    coefficients : for each row Σ slope of the pairs it should win, less of those it
    should lose: the derivative of the smoothed loss by its score, with the sign turned.
    """

    hinge: float
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
        listed = sorted(
            _joined(runs) if table is None else _each(runs), key=lambda join: join[0]
        )
        joins = np.array(listed, np.int64).reshape(-1, 6)
        self.joins = np.ascontiguousarray(joins[:, :5])
        self.prices = shares[joins[:, 5]] if listed else np.empty(0)
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
        """The cost of these scores, hinges being smooth over ``width``."""
        out = np.empty(len(scores))
        arrange(scores, self.runs.bounds, self.joins, self.orders)
        arrays = self.orders, self.joins, self.prices, self.counts
        hinge, slopes = price(scores, *arrays, width, out)
        return Priced(hinge, slopes, out)

    def bend(self, scores: Floats, width: float) -> Product:
        """The second derivative by the scores, as a product."""
        arrange(scores, self.runs.bounds, self.joins, self.orders)
        orders, out = self.orders.copy(), np.empty(len(scores))

        def product(x: Floats) -> Floats:
            arrays = orders, self.joins, self.prices, self.counts
            bend(scores, *arrays, width, x, out)
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


class ListedPairs(NamedTuple):
    """winners, losers : row numbers, (pairs,);  counts : of each pair, (pairs,)."""

    winners: Ints
    losers: Ints
    counts: Floats

    def sample(self, size: int, random: np.random.Generator) -> Sample:
        """So many pairs at random, each as probable as its count, and Σ count."""
        total = float(self.counts.sum())
        which = random.choice(len(self.counts), size, p=self.counts / total)
        return Sample(self.winners[which], self.losers[which], total)

    def price(self, scores: Floats, width: float) -> Priced:
        """The cost of these scores, hinges being smooth over ``width``."""
        z = 1.0 - scores[self.winners] + scores[self.losers]
        hinge = float(self.counts @ np.maximum(z, 0.0))
        pulls = self.counts * np.clip(z / width, 0.0, 1.0)
        return Priced(hinge, float(pulls.sum()), self._spread(pulls, len(scores)))

    def bend(self, scores: Floats, width: float) -> Product:
        """The second derivative by the scores, as a product."""
        z = 1.0 - scores[self.winners] + scores[self.losers]
        bent = np.flatnonzero((z > 0.0) & (z <= width))
        few = ListedPairs(self.winners[bent], self.losers[bent], self.counts[bent])
        return lambda x: few._spread(
            few.counts / width * (x[few.winners] - x[few.losers]), len(scores)
        )

    def _spread(self, values: Floats, n: int) -> Floats:
        """Σ over pairs of the value at the winner's row, less at the loser's."""
        won = np.bincount(self.winners, values, minlength=n)
        lost = np.bincount(self.losers, values, minlength=n)
        return np.asarray(won - lost, np.float64)


Pairs = GradedPairs | ListedPairs
WIDEST, NARROWER, NARROWEST = 1.5, 0.1, 1e-6  # ε: at first, each time, at last
PART = 0.3  # of the gap: what is left of the smoother problem's own
LOOSE, MOST = 0.1, 60  # a direction's residual, and the products it may take
FLAT, PAST, TRIES = 0.3, 0.03, 20  # of the slope at the start: left before, and behind
SAMPLE, WIDE = 3000, 400  # pairs that tell the shape of the curvature; features, most


def hinges_of_pairs(
    rows: Rows, pairs: Pairs, C: float, *, tol: float = 1e-3, max_iter: int = 500
) -> Solution:
    """Minimise ½‖w‖² + C Σ count · max(0, 1 − ⟨w, x_i − x_j⟩) over pairs.

    A hinge is the largest α z over 0 ≤ α ≤ 1; the largest α z − ½ ε α² is smooth, and
    Newton's steps, by conjugate gradients, find its optimum [KeerthiDeCoste05]. Its
    slopes α are duals of the hinges themselves: the gap between both values, which is
    exact, says when ε is small enough. Where ε, not the steps, makes up most of the
    gap, ε becomes smaller.

    tol : of the gap, relative to the objective;  max_iter : the most steps to be made;
    where they do not suffice, ``gap`` says so.
    """
    if not 0.0 < C < np.inf:
        raise Mistake(f"C is {C}: give a number over 0")
    return _PairAscent(rows, pairs, C).solve(tol, max_iter)


class _PairAscent(Ascent):
    """The state of the search: weights, scores, prices, the best value and bound."""

    title = N_("optimisation steps")

    def __init__(self, rows: Rows, pairs: Pairs, C: float) -> None:
        super().__init__()
        self.X, self.pairs, self.C, self.width = linear([rows]), pairs, C, WIDEST
        self.w = self.weights = np.zeros(rows.width)
        self.objective, self.bound = np.inf, 0.0
        self.scores = self.X.product(self.w)
        self.shape = _Shape(rows, pairs) if rows.width <= WIDE else None
        self._look()

    def step(self, tol: float) -> None:  # noqa: ARG002 (ε follows the gap)
        """One step of Newton, then a narrower ε where that is what is missing.

        The smoother problem's own gap is ½‖w − C Xᵀc‖².
        """
        self.n_iter += 1
        self.stuck = not self._move()
        self._look()
        smooth_gap = 0.5 * dot(self.slope, self.slope)
        if (smooth_gap <= PART * self.gap or self.stuck) and self.width > NARROWEST:
            self.width, self.stuck = self.width * NARROWER, False
            self._look()

    def _look(self) -> None:
        """The slope, and both values of the hinges themselves."""
        priced = self.pairs.price(self.scores, self.width)
        pull = self.C * self.X.back(priced.coefficients)
        self.slope = self.w - pull
        value = 0.5 * dot(self.w, self.w) + self.C * priced.hinge
        if value < self.objective:
            self.objective, self.weights = value, self.w
        self.bound = max(self.bound, self.C * priced.slopes - 0.5 * dot(pull, pull))
        gap = max(0.0, self.objective - self.bound)
        self.record(self.objective, self.bound, gap)

    def _move(self) -> bool:
        """Go along Newton's direction to where it is flat; False where it rises."""
        curve = self.pairs.bend(self.scores, self.width)
        near: Product = np.copy
        if self.shape is not None:
            near = self.shape.solver(self.scores, self.width, self.C)
        direction = _solve(
            lambda v: v + self.C * self.X.back(curve(self.X.product(v))),
            -self.slope,
            near,
        )
        along = self.X.product(direction)
        length = self._length(direction, along)
        self.w = self.w + length * direction
        self.scores = self.scores + length * along
        return length > 0.0

    def _length(self, direction: Floats, along: Floats) -> float:
        """The step length at which the slope is a small part of what it is at 0.

        The slope rises with the length, piecewise linearly: between a place before the
        flat one and a place behind it, the line through both is tried, and the middle.
        Every place before the flat one lies lower than the start; one far behind it
        need not, and steps that end there can go round in a circle.
        """
        straight, curved = dot(self.w, direction), dot(direction, direction)
        low, high, length = 0.0, np.inf, 1.0
        start = below = dot(self.slope, direction)
        above = np.inf
        if not start < 0.0:
            return 0.0
        for tried in range(TRIES):
            priced = self.pairs.price(self.scores + length * along, self.width)
            pulled = self.C * dot(priced.coefficients, along)
            slope = straight + length * curved - pulled
            if FLAT * start <= slope <= -PAST * start:
                return length
            if slope < 0.0:
                low, below = length, slope
            else:
                high, above = length, slope
            if high == np.inf:
                length = 2.0 * low
            elif low == 0.0:
                length = 0.1 * high
            elif tried % 2:
                length = 0.5 * (low + high)
            else:
                length = low - below * (high - low) / (above - below)
        return low


class _Shape:
    """The curvature, estimated from some pairs: V diag(λ) Vᵀ, all hinges bent."""

    def __init__(self, rows: Rows, pairs: Pairs) -> None:
        self.sample = pairs.sample(SAMPLE, generator(0))
        first = take(rows, self.sample.winners).to_scipy()
        apart = (first - take(rows, self.sample.losers).to_scipy()).toarray()
        scatter = np.asarray(apart.T @ apart, np.float64) / SAMPLE
        self.values, self.vectors = np.linalg.eigh(scatter * self.sample.total)
        self.values = np.maximum(self.values, 0.0)

    def solver(self, scores: Floats, width: float, C: float) -> Product:
        """(1 + C/ε · share of the pairs bent here · V diag(λ) Vᵀ)⁻¹, as a product."""
        apart = scores[self.sample.winners] - scores[self.sample.losers]
        share = float(((apart < 1.0) & (apart > 1.0 - width)).mean())
        size = 1.0 + C / width * share * self.values
        return lambda v: self.vectors @ ((v @ self.vectors) / size)


def _solve(product: Product, right: Floats, near: Product) -> Floats:
    """Solve A v = right roughly, by conjugate gradients; near : A⁻¹, nearly."""
    v, residual = np.zeros(len(right)), right.copy()
    nearly = near(residual)
    direction, size = nearly, dot(residual, nearly)
    enough = LOOSE**2 * size
    for _ in range(MOST):
        if size <= enough:
            break
        curved = product(direction)
        length = size / dot(direction, curved)
        v += length * direction
        residual -= length * curved
        nearly = near(residual)
        before, size = size, dot(residual, nearly)
        direction = nearly + size / before * direction
    return v


def average_precision_oracle(queries: Ints, prices: Floats) -> Oracle:
    """The oracle of Σ price · (1 − average precision) over all orders [YueEtAl07].

    A plane is Σ_q of each query's own: ⟨w, Ψ(y*) − Ψ(y)⟩ ≥ Δ(y) − ξ, with Ψ(y) = 1/RN
    Σ ±(x_i − x_j) over its R relevant and N other rows, + where y has x_i above x_j.

    queries : (q, 3), the first row of each, its first relevant one, the end; neither
    side is empty;  prices : (q,).

    >>> oracle = average_precision_oracle(np.array([[0, 1, 2]]), np.ones(1))
    >>> plane = oracle(np.zeros(2))
    >>> plane.coefficients.tolist(), plane.loss
    ([-2.0, 2.0], 0.5)
    """
    orders: Any = None

    def worst(scores: Floats) -> Plane:
        nonlocal orders
        if orders is None:
            orders = np.arange(len(scores), dtype=np.uint32)
        coefficients = np.empty(len(scores))
        loss = worst_orders(scores, queries, prices, orders, coefficients)
        return Plane(coefficients, float(loss))

    return worst
