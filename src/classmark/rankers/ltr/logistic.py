"""Log-linear pairs: how much more probable is the wrong order than never?"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.rankers.ltr.descending import descend
from classmark.rankers.ltr.judged import judged, require_pairs
from classmark.rankers.ltr.scoring import LinearQueryRanker
from classmark.solvers.pairs.graded import GradedPairs


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
        from classmark.solvers.pairs.kernels import log_linear

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
