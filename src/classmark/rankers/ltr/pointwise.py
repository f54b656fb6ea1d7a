"""Pointwise: is it relevant? The surer, the higher."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.rankers.ltr.judged import judged
from classmark.rankers.ltr.scoring import LinearQueryRanker
from classmark.solvers.hinge.ascent import ascend
from classmark.solvers.hinge.problem import Hinges
from classmark.sparse import with_constant


class PointwiseSVM(LinearQueryRanker):
    """½‖w‖² + ½b² + C Σ t · max(0, 1 − s (w·x + b)), s = 1 for grades over 0, else −1.

    t is 1, or, ``balanced``, half of all rows divided by those of the same s: few rows
    are relevant, and without it to say "no" always costs so little that little is
    learned.

    intercept_ : b, which changes no order;  gap_ : at most so much is the objective
    above the optimum;  tol : of the gap, relative.

    >>> ranker = PointwiseSVM().fit([[1.0], [-1.0]], [1, 0], ["q", "q"])
    >>> ranker.coef_.round(3).tolist()
    [1.0]
    """

    def __init__(
        self, C: float = 1.0, balanced: bool = True, tol: float = 1e-3
    ) -> None:
        self.C = C
        self.balanced = balanced
        self.tol = tol

    def fit(
        self, X: Any, y: ArrayLike, qid: Any, *, weights: ArrayLike | None = None
    ) -> Self:
        """Learn from rows X, (n, features), grades y, (n,), and their queries, (n,).

        qid : only looked at for its length;  weights : (n,), what a row counts.
        """
        if not 0.0 < self.C < np.inf:
            raise Mistake(f"C is {self.C}: give a number over 0")
        given = judged(X, y, qid, weights)
        good = given.grades > 0.0
        if good.all() or not good.any():
            raise Mistake(
                "y: all rows are relevant, or none is: there is no difference"
            )
        one = np.ones(len(good))
        share = np.where(good, good.mean(), 1.0 - good.mean())
        boxes = 0.5 * given.counts / share if self.balanced else given.counts
        hinges = Hinges(
            np.arange(len(good), dtype=np.uint32),
            np.where(good, 1.0, -1.0),
            self.C * boxes,
            one,
        )
        found = ascend([with_constant(given.rows, 1.0)], hinges, tol=self.tol)
        self.coef_, self.intercept_ = found.weights[:-1], float(found.weights[-1])
        self.objective_, self.gap_ = found.objective, found.gap
        return self

    def decision_function(self, X: Any) -> Floats:
        """w·x + b, (n,)."""
        return super().decision_function(X) + self.intercept_
