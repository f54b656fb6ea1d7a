"""Cutting planes with one slack, for any loss that has an oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.progress import track
from classmark.solvers.cutting.linear import Linear, dot
from classmark.solvers.cutting.working import Point, WorkingSet

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

    >>> from classmark.solvers.cutting.linear import linear
    >>> from classmark.solvers.cutting.tables import oracle_of
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
    """Where the search stands: the best point, its value, and the planes."""

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
        """What has been found."""
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
