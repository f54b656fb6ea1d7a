"""ListNet and log-linear pairs: smooth losses of the scores of a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.ltr.judged import LinearQueryRanker, judged, require_pairs
from classmark.solvers.ascent import Solution
from classmark.solvers.cutting_planes import linear
from classmark.solvers.pairs import GradedPairs
from classmark.solvers.smooth import Objective, minimise
from classmark.sparse import Rows


def top_one(
    scores: Floats, grades: Floats, starts: Ints, counts: Floats
) -> tuple[float, Floats]:
    """Cross entropy of who stands first, and −∂/∂score, (n,) [Cao07].

    −Σ_i count_i P_i ln Q_i, P and Q being e^grade and e^score of the rows of one list
    divided by their sums; list q holds the rows starts[q] … starts[q + 1] − 1, at least
    one.

    >>> loss, pull = top_one(*np.zeros((2, 2)), np.array([0, 2]), np.ones(2))
    >>> round(loss, 4), pull.tolist()
    (0.6931, [0.0, 0.0])
    """
    targets = np.exp(_log_shares(grades, starts)) * counts
    logs = _log_shares(scores, starts)
    mass = np.repeat(np.add.reduceat(targets, starts[:-1]), np.diff(starts))
    return float(-(targets @ logs)), targets - mass * np.exp(logs)


def _log_shares(values: Floats, starts: Ints) -> Floats:
    sizes = np.diff(starts)
    down = values - np.repeat(np.maximum.reduceat(values, starts[:-1]), sizes)
    sums = np.log(np.add.reduceat(np.exp(down), starts[:-1]))
    return np.asarray(down - np.repeat(sums, sizes), np.float64)


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
        training = judged(X, y, qid, weights)
        require_pairs(int((np.diff(training.runs.queries) == 0).sum()))
        lists = training.grades, training.starts, training.counts
        solution = descend(
            training.rows, lambda scores: top_one(scores, *lists), self.C, self.tol
        )
        self.coef_, self.objective_ = solution.weights[:, 0], solution.objective
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

        training = judged(X, y, qid, weights)
        shares = np.ones(len(training.starts) - 1)
        pairs = GradedPairs(training.runs, training.counts, shares)
        require_pairs(len(pairs))

        def loss(scores: Floats) -> tuple[float, Floats]:
            pull = np.empty(len(scores))
            arrays = pairs.joins, pairs.prices, pairs.counts
            return log_linear(scores, *arrays, pull), pull

        solution = descend(training.rows, loss, self.C, self.tol)
        self.coef_, self.objective_ = solution.weights[:, 0], solution.objective
        return self
