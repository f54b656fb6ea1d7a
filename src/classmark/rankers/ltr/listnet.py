"""ListNet: who should stand first, by the grades, and who would, by the scores?"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.losses.listwise import top_one
from classmark.rankers.ltr.descending import descend
from classmark.rankers.ltr.judged import judged, require_pairs
from classmark.rankers.ltr.scoring import LinearQueryRanker


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
