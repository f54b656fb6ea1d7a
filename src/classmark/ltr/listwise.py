"""ListNet and log-linear pairs: smooth losses of the scores of a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.losses.listwise import top_one
from classmark.ltr.judged import LinearQueryRanker, judged, require_pairs
from classmark.solvers.cutting_planes import linear
from classmark.solvers.pairs import GradedPairs
from classmark.solvers.smooth import Objective, Solution, minimise
from classmark.sparse import Rows

Loss = Callable[[Floats], tuple[float, Floats]]


class Scored:
    """Rows, and a loss of their scores X·w; loss : scores → value, −∂/∂score."""

    def __init__(self, rows: Rows, loss: Loss) -> None:
        self.X, self.loss, self.shape = linear([rows]), loss, (rows.width, 1)

    def slope(self, W: Floats) -> tuple[float, Floats]:
        """The loss and its gradient, of the shape of W."""
        value, pull = self.loss(self.X.product(np.ascontiguousarray(W[:, 0])))
        return value, -self.X.back(pull)[:, np.newaxis]

    def curvature(self) -> Floats:
        """No first guess: there is always a penalty."""
        return np.ones(self.shape)


def descend(rows: Rows, loss: Loss, C: float, tol: float) -> Solution:
    """Minimise ½‖w‖² + C · loss(X·w) by L-BFGS."""
    return minimise(Objective(Scored(rows, loss), C, "l2"), tol=tol)


class ListNet(LinearQueryRanker):
    """½‖w‖² + C Σ_q −Σ_i P_i ln Q_i, with P ∝ e^grade and Q ∝ e^(w·x) in a query.

    Linear scores, and only the first place is looked at ("top one") [Cao07]. tol : of
    the slope, relative to that at 0.

    >>> ranker = ListNet(C=10.0).fit([[1.0], [0.0]], [1, 0], ["q", "q"])
    >>> round(float(ranker.coef_[0]), 2)
    0.68
    """

    def __init__(self, C: float = 1.0, tol: float = 1e-4) -> None:
        self.C = C
        self.tol = tol

    def fit(
        self, X: Any, y: ArrayLike, qid: Any, *, weights: ArrayLike | None = None
    ) -> Self:
        """Learn from rows X, (n, features), grades y, (n,), and their queries, (n,).

        qid : any hashables, in any order;  weights : (n,), what a row's P counts.
        """
        given = judged(X, y, qid, weights)
        require_pairs(int((np.diff(given.runs.queries) == 0).sum()))
        held = given.grades, given.starts, given.counts
        found = descend(
            given.rows, lambda scores: top_one(scores, *held), self.C, self.tol
        )
        self.coef_, self.objective_ = found.weights[:, 0], found.objective
        return self


class PairwiseLogistic(LinearQueryRanker):
    """½‖w‖² + C Σ ln(1 + e^(w·(x_j − x_i))), over pairs of a query with y_i > y_j.

    The log-linear price of each preference by itself [Burges05]. No pair is kept, each
    is looked at: O(n²) for a query of n rows.

    tol : of the slope, relative to that at 0.

    >>> ranker = PairwiseLogistic().fit([[1.0], [0.0]], [1, 0], ["q", "q"])
    >>> round(float(ranker.coef_[0]), 3)
    0.401
    """

    def __init__(self, C: float = 1.0, tol: float = 1e-4) -> None:
        self.C = C
        self.tol = tol

    def fit(
        self, X: Any, y: ArrayLike, qid: Any, *, weights: ArrayLike | None = None
    ) -> Self:
        """Learn from rows X, (n, features), grades y, (n,), and their queries, (n,).

        qid : any hashables, in any order;  weights : (n,), what a pair counts that the
        row should win.
        """
        from classmark.solvers.kernels_pairs import log_linear

        given = judged(X, y, qid, weights)
        shares = np.ones(len(given.starts) - 1)
        pairs = GradedPairs(given.runs, given.counts, shares)
        require_pairs(len(pairs))

        def loss(scores: Floats) -> tuple[float, Floats]:
            pull = np.empty(len(scores))
            held = pairs.joins, pairs.prices, pairs.counts
            return log_linear(scores, *held, pull), pull

        found = descend(given.rows, loss, self.C, self.tol)
        self.coef_, self.objective_ = found.weights[:, 0], found.objective
        return self
