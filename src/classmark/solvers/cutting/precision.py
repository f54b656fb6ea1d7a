"""Precision times recall by coordinate ascent: hinges whose margins follow the table.

For every labelling Δ = 1 − a² / ((a + b) l), and a² / (a + b) = max over p of 2pa −
p²(a + b), reached by p = a / (a + b), the precision. So the slack of SVM_pr, its tables
(a, b) taken as real numbers, is

    min over p of  1 − (2p − p²) + Σ_P max(0, (2p − p²)/l − 2⟨w, x⟩)
                                 + Σ_U max(0, p²/l + 2⟨w, x⟩),

convex in (w, p): a weighted hinge problem for each p, and in the dual one problem with
boxes whose linear term is concave. A pass costs what one of SVM_ba costs.

Whole tables differ from real ones by little, and the gap that is reported is that of
whole ones: the objective is the oracle's, and a fractional table is an average of the
whole ones around it, which bounds the optimum from below. What is left to whole tables,
which matters for a handful of examples, cutting planes do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.randomness import Seed, generator
from classmark.solvers.cutting.linear import dot, linear
from classmark.solvers.cutting.planes import TINY, Plane, cutting_planes
from classmark.solvers.cutting.tables import Scale, literal_scale, oracle_of
from classmark.solvers.hinge.problem import Solution, started
from classmark.sparse import Rows

PASSES = 2000  # after so many the rest is left to cutting planes
SHARE = 0.2  # of the gap: when less is due to the duals, whole tables are the rest


def ascend_precision(
    parts: Sequence[Rows],
    C: float,
    *,
    scale: Scale | None = None,
    duals: ArrayLike | None = None,
    tol: float = 1e-3,
    random_state: Seed = 0,
) -> Solution:
    """Minimise ½‖w‖² + C ξ over the tables of precision · recall: SVM_pr [ZhangLee09].

    parts : examples and others;  scale : OP 4's unless given, see ``tables``;  duals :
    (examples + others,), where to start, else Rocchio's;  tol : of the gap, relative to
    the objective. The weights are Σ_P dual · x − Σ_U dual · x.

    >>> from classmark.sparse import rows_from
    >>> P, U = rows_from([[1.0, 0.0]]), rows_from([[0.6, 0.8], [0.0, 1.0]])
    >>> found = ascend_precision([P, U], 6.0, tol=1e-6)
    >>> found.weights.round(3).tolist(), round(found.objective, 4)
    ([0.5, -0.687], 0.3613)
    """
    if len(parts) != 2 or not all(map(len, parts)):
        raise Mistake("parts: give two matrices, examples and others, neither empty")
    if not C > 0.0:
        raise Mistake(f"C is {C}: give a number over 0")
    counted = scale or literal_scale(*map(len, parts))
    ascent = _Ascent(parts, float(C), counted, duals, generator(random_state))
    target = tol
    while not ascent.near(tol) and ascent.goes_on():
        before = ascent.gap
        gained = ascent.climb(target)
        ascent.look()
        if gained <= 0.0 and ascent.gap >= before:
            break  # rounding allows no more
        target *= 0.5
    return ascent.solution() if ascent.near(tol) else ascent.finished(tol)


class _Ascent:
    """Where an ascent stands; ``fraction`` is the gap of fractional tables."""

    def __init__(
        self, parts: Sequence[Rows], C: float, scale: Scale, duals: Any, random: Any
    ) -> None:
        self.sizes = len(parts[0]), len(parts[1])
        kind = max(parts, key=lambda part: part.nnz).values.dtype
        self.parts = [
            (part.starts, part.columns, part.values.astype(kind, copy=False))
            for part in parts
        ]
        self.X, self.C, self.scale = linear(parts), C, tuple(scale)
        self.oracle = oracle_of("precision-recall", *self.sizes, scale=scale)
        self.boxes = C * np.repeat([scale.example, scale.other], self.sizes)
        self.signs = np.repeat([1.0, -1.0], self.sizes)
        begin = self._rocchio() if duals is None else duals
        self.duals = started(begin, self.boxes)
        self.weights = self.X.back(self.signs * self.duals)
        self.squares = np.full(len(self.duals), -1.0)
        self.limits, self.table = np.array([-np.inf, np.inf]), np.zeros(2)
        self.seed, self.passes = int(random.integers(1, 2**31 - 1)), 0
        self.look()

    def _rocchio(self) -> Floats:
        """All examples at their bound, the others sharing as much."""
        total = self.sizes[0] * self.boxes[0]
        return np.repeat([self.boxes[0], total / self.sizes[1]], self.sizes)

    def near(self, tol: float) -> bool:
        """Is the gap small enough?"""
        return bool(self.gap <= tol * max(TINY, self.objective))

    def goes_on(self) -> bool:
        """Is there more to gain by moving duals than by whole tables?"""
        return self.fraction > SHARE * self.gap and self.passes < PASSES

    def look(self) -> None:
        """The exact objective and gap; which duals may have to move."""
        from classmark.solvers.cutting.kernels import margins_of, product_loss

        n, shares = self.sizes[0], self.duals / self.boxes
        self.table[:] = n - shares[:n].sum(), shares[n:].sum()
        scores = self.X.product(self.weights)
        half = 0.5 * dot(self.weights, self.weights)
        plane = self.oracle(scores)
        slack = max(0.0, plane.loss - dot(plane.coefficients, scores))
        self.objective = float(half + self.C * slack)
        a, b = map(float, self.table)
        self.loss = self.scale[0] * _interpolated(a, b, *self.sizes)
        self.gap = max(0.0, self.objective - float(self.C * self.loss - half))
        self.value = self.C * self.scale[0] * product_loss(a, b, n) - half
        margins = np.repeat(margins_of(self.table, n, self.scale), self.sizes)
        slopes = self.signs * scores - margins
        self.fraction = float(
            (self.boxes * np.maximum(0.0, -slopes) + self.duals * slopes).sum()
        )
        self._choose(slopes)

    def _choose(self, slopes: Floats) -> None:
        """The order: all but those that are sure of their bound."""
        zero, full = self.duals == 0.0, self.duals == self.boxes
        may = ~((zero & (slopes >= 0.0)) | (full & (slopes <= 0.0)))
        reach = np.abs(slopes[may]).max(initial=0.0)
        self.order = np.flatnonzero(
            ~((zero & (slopes > reach)) | (full & (slopes < -reach)))
        )
        self.limits[:] = -reach, reach

    def climb(self, tol: float) -> float:
        """Passes until it is time to look at all; return the dual value's growth."""
        from classmark.solvers.cutting.kernels import climb_product

        made, value, self.seed = climb_product(
            self.parts[0], self.parts[1], self.scale, self.C, self.duals,
            self.weights, self.squares, self.table, self.order, self.limits, tol,
            self.value, self.seed, PASSES - self.passes,
        )  # fmt: skip
        self.passes += made
        return float(value - self.value)

    def solution(self) -> Solution:
        """What has been found."""
        return Solution(self.weights, self.duals, self.objective, self.gap, self.passes)

    def finished(self, tol: float) -> Solution:
        """The rest by cutting planes, from the average plane that the duals are."""
        start = Plane(self.signs * self.duals / self.C, self.loss)
        found = cutting_planes(self.X, self.oracle, self.C, tol=tol, start=start)
        duals = np.clip(self.signs * found.coefficients, 0.0, self.boxes)
        return Solution(
            found.weights, duals, found.objective, found.gap, self.passes + found.planes
        )


def _interpolated(a: float, b: float, examples: int, others: int) -> float:
    """Δ of a fractional table: the highest average of the whole tables around it.

    >>> _interpolated(0.5, 0.5, 1, 1)
    0.75
    """
    from classmark.solvers.cutting.kernels import product_loss

    low = min(int(a), examples - 1), min(int(b), others - 1)
    x, y = min(max(a - low[0], 0.0), 1.0), min(max(b - low[1], 0.0), 1.0)
    none, right, up, both = (
        product_loss(float(low[0] + i), float(low[1] + j), examples)
        for j in (0, 1)
        for i in (0, 1)
    )
    least, most = max(0.0, x + y - 1.0), min(x, y)  # of the weight of ``both``
    weigh = [t * both + (x - t) * right + (y - t) * up + (1 - x - y + t) * none
             for t in (least, most)]  # fmt: skip
    return float(max(weigh))
