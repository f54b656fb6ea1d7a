"""Cutting planes with one slack, for any loss that has a separation oracle.

The losses are those of docs/mathematics.md, section 11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints, Rows
from classmark.problems import Mistake
from classmark.solvers.ascent import Ascent, Solution
from classmark.solvers.hinge import as_parts
from classmark.solvers.kernels_hinge import combine, maximise_dual, multiply


class Linear(NamedTuple):
    """product : weights → scores;  back : coefficients → weights;  width : features."""

    product: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]
    width: int


def dot(first: Floats, second: Floats) -> float:
    """⟨first, second⟩ in this thread: for vectors like these more threads only wait.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i", first, second))


def linear(parts: Sequence[Rows]) -> Linear:
    """The two products of some matrices; rows of coefficient 0 cost nothing.

    >>> from classmark.arrays import rows_from
    >>> X = linear([rows_from([[1.0, 2.0]]), rows_from([[0.0, 3.0]])])
    >>> X.product(np.array([1.0, 1.0])).tolist(), X.back(np.ones(2)).tolist()
    ([3.0, 3.0], [1.0, 5.0])
    """
    if not parts:
        raise Mistake("parts: none given: give at least one matrix")
    ends = np.cumsum([0, *map(len, parts)])
    spans = [slice(*span) for span in pairwise(ends)]
    each = [(as_parts([part]), span) for part, span in zip(parts, spans, strict=True)]
    width = max(part.width for part in parts)

    def product(weights: Floats) -> Floats:
        scores = np.empty(ends[-1])
        for arrays, span in each:
            multiply(arrays, weights, scores[span])
        return scores

    def back(coefficients: Floats) -> Floats:
        weights = np.zeros(width)
        for arrays, span in each:
            rows = np.flatnonzero(coefficients[span]).astype(np.uint32)
            combine(arrays, rows, coefficients[span][rows], weights)
        return weights

    return Linear(product, back, width)


IDLE = 40  # a plane that has had no dual for so many solutions is dropped
ROOM = 16
STEPS = 100_000


class Point(NamedTuple):
    """Weights w = Xᵀ · coefficients, with X · w and ‖w‖²."""

    coefficients: Floats
    scores: Floats
    norm: float

    def toward(self, other: Point, t: float) -> Point:
        """(1 − t) · self + t · other."""
        return Point(
            (1.0 - t) * self.coefficients + t * other.coefficients,
            (1.0 - t) * self.scores + t * other.scores,
            (1.0 - t) ** 2 * self.norm
            + 2.0 * t * (1.0 - t) * dot(self.coefficients, other.scores)
            + t**2 * other.norm,
        )


class WorkingSet:
    """max Σ α·loss − ½ ‖Σ α·Xᵀc‖² over α ≥ 0, Σα ≤ C, a plane at a time.

    The Gram matrix grows by a row; place 0 is the plane ξ ≥ 0, whose dual is what the
    others leave of C. Memory: 8 bytes for each row of X and plane.
    """

    def __init__(self, rows: int, C: float) -> None:
        self.size, self.rows = 1, rows
        self.G = np.zeros((ROOM, ROOM))
        self.scores = np.zeros((ROOM, rows))
        self.losses, self.alpha = np.zeros(ROOM), np.zeros(ROOM)
        self.alpha[0] = C
        self.idle = np.zeros(ROOM, np.int64)
        self.planes: list[tuple[Ints, Floats]] = [(np.empty(0, np.int64), np.empty(0))]

    def add(self, coefficients: Floats, loss: float, scores: Floats) -> None:
        """One more plane; ``scores`` are X · Xᵀ · coefficients."""
        k, places = self.size, np.flatnonzero(coefficients)
        if k == len(self.losses):  # twice the room
            self.G = np.pad(self.G, (0, k))
            self.scores = np.pad(self.scores, ((0, k), (0, 0)))
            self.losses, self.alpha = np.pad(
                [self.losses, self.alpha], ((0, 0), (0, k))
            )
            self.idle = np.pad(self.idle, (0, k))
        values = coefficients[places]
        self.scores[k], self.losses[k], self.alpha[k], self.idle[k] = scores, loss, 0, 0
        row = self.scores[: k + 1, places] @ values
        self.G[k, : k + 1] = row
        self.G[: k + 1, k] = row
        self.planes.append((places, values))
        self.size += 1

    def solve(self, tol: float) -> None:
        """Move the duals to the optimum; drop what has been of no use for long."""
        k = self.size
        maximise_dual(self.G[:k, :k], self.losses[:k], self.alpha[:k], tol, STEPS)
        self.idle[:k] = np.where(self.alpha[:k] > 0.0, 0, self.idle[:k] + 1)
        self.idle[0] = 0
        used = np.flatnonzero(self.idle[:k] <= IDLE)
        if len(used) < k:
            m = self.size = len(used)
            self.G[:m, :m] = self.G[np.ix_(used, used)]
            for array in (self.scores, self.losses, self.alpha, self.idle):
                array[:m] = array[used]
            self.planes = [self.planes[place] for place in used]

    def lowest(self) -> tuple[Point, float]:
        """The point that the duals stand for, and the dual value."""
        used = np.flatnonzero(self.alpha[: self.size])
        alpha = self.alpha[used]
        coefficients = np.zeros(self.rows)
        for dual, place in zip(alpha, used, strict=True):
            places, values = self.planes[place]
            coefficients[places] += dual * values
        norm = float(alpha @ self.G[np.ix_(used, used)] @ alpha)
        scores = np.einsum("k,kn", self.alpha[: self.size], self.scores[: self.size])
        point = Point(coefficients, scores, norm)
        return point, float(alpha @ self.losses[used]) - 0.5 * norm


MIX = 0.1  # where to cut: so far from the best point toward the envelope's lowest
EXACT = 0.01  # of the tolerance: how exactly the envelope's lowest point is found
TRIES = 12  # oracle calls on one segment


class Plane(NamedTuple):
    """The constraint ⟨w, Xᵀc⟩ ≥ loss − ξ; coefficients: c, one for each row."""

    coefficients: Floats
    loss: float


Oracle = Callable[[Floats], Plane]


def cutting_planes(
    X: Linear,
    oracle: Oracle,
    C: float,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: Plane | None = None,
) -> Solution:
    """Minimise ½‖w‖² + C · max(0, max over planes of loss − ⟨w, Xᵀc⟩).

    The best point so far is kept; each plane is cut between it and the lowest point of
    the envelope of all planes, to which an exact line search then leads
    [FrancSonnenburg08]. It ends when the objective is at most ``tol`` (relative) above
    the envelope's lowest, the dual value. [Joachims05]

    X : its two products, X · w and Xᵀ · c, are all that is used of it;  oracle : scores
    → the plane that is violated most;  max_iter : the most planes to cut; where they do
    not suffice, ``gap`` says so;  start : a plane that holds, as an average of planes
    does, to begin with.

    >>> from classmark.solvers.precision_recall import oracle_of
    >>> from classmark.arrays import rows_from
    >>> X = linear([rows_from([[2.0, 0.0]]), rows_from([[0.0, 0.5], [0.0, 1.0]])])
    >>> found = cutting_planes(X, oracle_of("balanced", 1, 2), 6.0)
    >>> found.weights.round(3).tolist(), round(found.objective, 4)
    ([0.125, -0.25], 0.0391)
    """
    if not C > 0.0:
        raise Mistake(f"C is {C}: give a number over 0")
    ascent = _Planes(X, oracle, float(C))
    if start is not None:
        ascent.cut(start, tol)
    return ascent.solve(tol, max_iter)


class _Planes(Ascent):
    """The state of the search: the best point, its value, and the planes."""

    title = "planes"

    def __init__(self, X: Linear, oracle: Oracle, C: float) -> None:
        super().__init__()
        zero = X.product(np.zeros(X.width))
        self.X, self.oracle, self.C = X, oracle, C
        self.set = WorkingSet(len(zero), C)
        self.best, self.next = Point(np.zeros(len(zero)), zero, 0.0), zero
        self.objective = self.gap = self._value(self.best)

    def step(self, tol: float) -> None:
        """Cut the plane that is violated most between best and lowest point."""
        self.cut(self.oracle(self.next), tol)

    def cut(self, plane: Plane, tol: float) -> None:
        """Add a plane; go to the lowest point between the best and the envelope's."""
        scores = self.X.product(self.X.back(plane.coefficients))
        self.n_iter += 1
        self.set.add(plane.coefficients, plane.loss, scores)
        self.set.solve(EXACT * tol * self.objective / self.C)
        lowest, dual = self.set.lowest()
        point, value = self._between(lowest, EXACT * tol * self.objective)
        if value < self.objective:
            self.best, self.objective = point, value
        gap = max(0.0, min(self.gap, self.objective - dual))
        self.record(self.objective, self.objective - gap, gap)
        self.next = (1.0 - MIX) * self.best.scores + MIX * lowest.scores

    def solution(self, **parts: Any) -> Solution:
        """The best weights so far, with objective and gap."""
        self.weights = self.X.back(self.best.coefficients)
        return super().solution(coefficients=self.best.coefficients, **parts)

    def _value(self, point: Point) -> float:
        plane = self.oracle(point.scores)
        slack = plane.loss - dot(plane.coefficients, point.scores)
        return 0.5 * point.norm + self.C * max(0.0, slack)

    def _between(self, end: Point, near: float) -> tuple[Point, float]:
        """The lowest point on the segment from the best to ``end``, nearly.

        On it the slack is convex and piecewise linear, and the quadratic part of ½‖w‖²
        + C ξ is known exactly: the slack's lines at both ends of an interval, each its
        value at 0 and its slope, give the next place to look at.
        """
        C, begin, change = self.C, self.best.scores, end.scores - self.best.scores
        cross = dot(self.best.coefficients, end.scores)
        curve = max(end.norm - 2.0 * cross + self.best.norm, 0.0)
        tilt = cross - self.best.norm

        def line_at(t: float) -> tuple[float, float]:
            plane = self.oracle(begin + t * change)
            at_zero = plane.loss - dot(plane.coefficients, begin)
            rise = -dot(plane.coefficients, change)
            return (at_zero, rise) if at_zero + rise * t > 0.0 else (0.0, 0.0)

        def slope(line: tuple[float, float], t: float) -> float:
            return tilt + t * curve + C * line[1]

        low, high = line_at(0.0), line_at(1.0)
        t = 0.0 if slope(low, 0.0) >= 0.0 else 1.0
        tries = TRIES if slope(low, 0.0) < 0.0 < slope(high, 1.0) else 0
        for _ in range(tries):
            bend = high[1] - low[1]
            t = (low[0] - high[0]) / bend if bend > 0.0 else 1.0
            if slope(low, t) >= 0.0:
                t = -(tilt + C * low[1]) / curve
            elif slope(high, t) <= 0.0:
                t = -(tilt + C * high[1]) / curve
            t = min(max(t, 0.0), 1.0)
            line = line_at(t)
            lines = max(low[0] + low[1] * t, high[0] + high[1] * t)
            if (line[0] + line[1] * t - lines) * C <= near:
                break
            low, high = (low, line) if slope(line, t) > 0.0 else (line, high)
        point = self.best.toward(end, t)
        return point, self._value(point)
