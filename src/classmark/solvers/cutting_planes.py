"""Cutting planes with one slack, for any loss that has a separation oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake
from classmark.progress import track
from classmark.sparse import Rows


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

    >>> from classmark.sparse import rows_from
    >>> X = linear([rows_from([[1.0, 2.0]]), rows_from([[0.0, 3.0]])])
    >>> X.product(np.array([1.0, 1.0])).tolist(), X.back(np.ones(2)).tolist()
    ([3.0, 3.0], [1.0, 5.0])
    """
    from classmark.solvers.kernels_cutting import combine, multiply

    if not parts:
        raise Mistake("parts: none given: give at least one matrix")
    ends = np.cumsum([0, *map(len, parts)])
    width = max(part.width for part in parts)

    def product(weights: Floats) -> Floats:
        scores = np.empty(ends[-1])
        for part, begin, end in zip(parts, ends, ends[1:], strict=False):
            out = scores[begin:end]
            multiply(part.starts, part.columns, part.values, weights, out)
        return scores

    def back(coefficients: Floats) -> Floats:
        weights = np.zeros(width)
        for part, begin, end in zip(parts, ends, ends[1:], strict=False):
            mine = coefficients[begin:end]
            rows = np.flatnonzero(mine)
            combine(part.starts, part.columns, part.values, rows, mine[rows], weights)
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
        if self.size == len(self.losses):
            self._grow()
        k, places = self.size, np.flatnonzero(coefficients)
        values = coefficients[places]
        self.scores[k], self.losses[k], self.alpha[k], self.idle[k] = scores, loss, 0, 0
        row = self.scores[: k + 1, places] @ values
        self.G[k, : k + 1] = row
        self.G[: k + 1, k] = row
        self.planes.append((places, values))
        self.size += 1

    def solve(self, tol: float) -> None:
        """Move the duals to the optimum; drop what has been of no use for long."""
        from classmark.solvers.kernels_cutting import maximise_dual

        k = self.size
        maximise_dual(self.G[:k, :k], self.losses[:k], self.alpha[:k], tol, STEPS)
        self.idle[:k] = np.where(self.alpha[:k] > 0.0, 0, self.idle[:k] + 1)
        self.idle[0] = 0
        if (self.idle[:k] > IDLE).any():
            self._keep(np.flatnonzero(self.idle[:k] <= IDLE))

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

    def _grow(self) -> None:
        more = self.size
        self.G = np.pad(self.G, (0, more))
        self.scores = np.pad(self.scores, ((0, more), (0, 0)))
        self.losses, self.alpha = (
            np.pad(self.losses, (0, more)),
            np.pad(self.alpha, (0, more)),
        )
        self.idle = np.pad(self.idle, (0, more))

    def _keep(self, which: Ints) -> None:
        m = len(which)
        self.G[:m, :m] = self.G[np.ix_(which, which)]
        for array in (self.scores, self.losses, self.alpha, self.idle):
            array[:m] = array[which]
        self.planes = [self.planes[place] for place in which]
        self.size = m


TINY = 1e-12  # an objective below counts as this much
MIX = 0.1  # where to cut: so far from the best point toward the envelope's lowest
EXACT = 0.01  # of the tolerance: how exactly the envelope's lowest point is found
TRIES = 12  # oracle calls on one segment


class Plane(NamedTuple):
    """The constraint ⟨w, Xᵀc⟩ ≥ loss − ξ; coefficients: c, one for each row."""

    coefficients: Floats
    loss: float


class Solution(NamedTuple):
    """Weights, and how near they are to the optimum.

    weights : (features,);  objective : ½‖w‖² + C ξ;  gap : objective − dual value;
    planes : how many were cut;  coefficients : (rows,), weights = Xᵀ · coefficients.
    """

    weights: Floats
    objective: float
    gap: float
    planes: int
    coefficients: Floats


Oracle = Callable[[Floats], Plane]


def cutting_planes(
    X: Linear,
    oracle: Oracle,
    C: float,
    *,
    tol: float = 1e-3,
    planes: int = 1000,
    start: Plane | None = None,
) -> Solution:
    """Minimise ½‖w‖² + C · max(0, max over planes of loss − ⟨w, Xᵀc⟩).

    The best point so far is kept; each plane is cut between it and the lowest point of
    the envelope of all planes, to which an exact line search then leads
    [FrancSonnenburg08]. It ends when the objective is at most ``tol`` (relative) above
    the envelope's lowest, the dual value. [Joachims05]

    X : its two products, X · w and Xᵀ · c, are all that is used of it;  oracle : scores
    → the plane that is violated most;  planes : the most to cut; where they do not
    suffice, ``gap`` says so;  start : a plane that holds, as an average of planes does,
    to begin with.

    >>> from classmark.solvers.cutting_planes import linear
    >>> from classmark.solvers.precision_recall import oracle_of
    >>> from classmark.sparse import rows_from
    >>> X = linear([rows_from([[2.0, 0.0]]), rows_from([[0.0, 0.5], [0.0, 1.0]])])
    >>> found = cutting_planes(X, oracle_of("balanced", 1, 2), 6.0)
    >>> found.weights.round(3).tolist(), round(found.objective, 4)
    ([0.125, -0.25], 0.0391)
    """
    if not C > 0.0:
        raise Mistake(f"C is {C}: give a number over 0")
    zero = X.product(np.zeros(X.width))
    search = _Search(X, oracle, float(C), Point(np.zeros(len(zero)), zero, 0.0))
    if start is not None:
        search.cut(start, tol)
    for _ in track(range(planes), "planes", planes):
        if search.gap <= tol * max(TINY, search.value):
            break
        search.cut(oracle(search.next), tol)
    return search.solution()


class _Search:
    """The state of the search: the best point, its value, and the planes."""

    def __init__(self, X: Linear, oracle: Oracle, C: float, best: Point) -> None:
        self.X, self.oracle, self.C, self.planes = X, oracle, C, 0
        self.set = WorkingSet(len(best.scores), C)
        self.best, self.next = best, best.scores
        self.value = self._value(best)
        self.gap = self.value

    def cut(self, plane: Plane, tol: float) -> None:
        """Add a plane; go to the lowest point between the best and the envelope's."""
        scores = self.X.product(self.X.back(plane.coefficients))
        self.planes += 1
        self.set.add(plane.coefficients, plane.loss, scores)
        self.set.solve(EXACT * tol * self.value / self.C)
        lowest, dual = self.set.lowest()
        point, value = self._between(lowest, EXACT * tol * self.value)
        if value < self.value:
            self.best, self.value = point, value
        self.gap = min(self.gap, self.value - dual)
        self.next = (1.0 - MIX) * self.best.scores + MIX * lowest.scores

    def solution(self) -> Solution:
        """The best weights so far, with objective and gap."""
        c = self.best.coefficients
        gap = max(0.0, self.gap)
        return Solution(self.X.back(c), self.value, gap, self.planes, c)

    def _value(self, point: Point) -> float:
        plane = self.oracle(point.scores)
        slack = plane.loss - dot(plane.coefficients, point.scores)
        return 0.5 * point.norm + self.C * max(0.0, slack)

    def _between(self, end: Point, near: float) -> tuple[Point, float]:
        """The lowest point on the segment from the best to ``end``, nearly.

        On it the slack is convex and piecewise linear: the lines at both ends of an
        interval give the next place to look at.
        """
        along = _Segment(self.oracle, self.C, self.best, end)
        low, high = along.line(0.0), along.line(1.0)
        t = 0.0 if along.slope(low, 0.0) >= 0.0 else 1.0
        if along.slope(low, 0.0) < 0.0 < along.slope(high, 1.0):
            for _ in range(TRIES):
                t = along.lowest_of(low, high)
                line = along.line(t)
                missed = line[0] + line[1] * t - max(
                    low[0] + low[1] * t, high[0] + high[1] * t
                )  # fmt: skip
                if missed * self.C <= near:
                    break
                if along.slope(line, t) > 0.0:
                    high = line
                else:
                    low = line
        point = self.best.toward(end, t)
        return point, self._value(point)


class _Segment:
    """½‖w‖² + C ξ at best + t · (end − best), its quadratic part known exactly."""

    def __init__(self, oracle: Oracle, C: float, best: Point, end: Point) -> None:
        self.oracle, self.C, self.begin = oracle, C, best.scores
        self.change = end.scores - best.scores
        cross = dot(best.coefficients, end.scores)
        self.curve = max(end.norm - 2.0 * cross + best.norm, 0.0)
        self.tilt = cross - best.norm

    def line(self, t: float) -> tuple[float, float]:
        """The slack's line at t: its value at 0, and its slope."""
        plane = self.oracle(self.begin + t * self.change)
        at_zero = plane.loss - dot(plane.coefficients, self.begin)
        rise = -dot(plane.coefficients, self.change)
        return (at_zero, rise) if at_zero + rise * t > 0.0 else (0.0, 0.0)

    def slope(self, line: tuple[float, float], t: float) -> float:
        """The objective's slope at t, where the slack follows ``line``."""
        return self.tilt + t * self.curve + self.C * line[1]

    def lowest_of(self, low: tuple[float, float], high: tuple[float, float]) -> float:
        """Where the objective is lowest if the slack is the higher of two lines."""
        bend = high[1] - low[1]
        meet = (low[0] - high[0]) / bend if bend > 0.0 else 1.0
        if self.slope(low, meet) >= 0.0:
            meet = -(self.tilt + self.C * low[1]) / self.curve
        elif self.slope(high, meet) <= 0.0:
            meet = -(self.tilt + self.C * high[1]) / self.curve
        return min(max(meet, 0.0), 1.0)
