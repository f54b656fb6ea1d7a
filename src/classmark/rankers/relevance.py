"""RelevanceQuery: documents judged relevant and not, mostly not, make a query."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from classmark.arrays import Floats
from classmark.estimator import Estimator
from classmark.problems import Mistake
from classmark.solvers.newton import squared_hinges
from classmark.sparse import Rows, rows_from, stack


class RelevanceQuery(Estimator):
    """A linear query from judged documents, for labels that are rare and noisy.

    Minimises ½‖w‖² + ½b² + C Σ price · max(0, 1 − y(⟨w, x⟩ + b))², price = ``ratio``
    for a relevant document and 1 for another [KeerthiDeCoste05]. C is small, so that no
    single judgment weighs much; the bias b takes up that most judged documents are not
    relevant, which weights alone could only do at the cost of the order.

    After ``fit``: ``coef_`` (features,), ``intercept_``, ``objective_``.

    >>> query = RelevanceQuery().fit([[1.0, 0.0]], N=[[0.0, 1.0]])
    >>> bool(np.diff(query.decision_function([[0.0, 1.0], [1.0, 0.0]]))[0] > 0)
    True
    """

    coef_: Floats
    intercept_: float
    objective_: float

    def __init__(self, C: float = 0.03, ratio: float = 10.0, tol: float = 0.01) -> None:
        self.C = C
        self.ratio = ratio
        self.tol = tol

    def fit(
        self,
        P: Any,
        U: Any = None,  # noqa: ARG002 - as every query is asked
        N: Any = None,
    ) -> Self:
        """Learn from relevant P and irrelevant N; unjudged documents are not used."""
        if not self.C > 0 or not self.ratio > 0:
            raise Mistake(f"C is {self.C}, ratio {self.ratio}: give numbers above 0")
        yes = rows_from(P, name="P")
        if not len(yes):
            raise Mistake("P is empty: give at least one relevant document")
        self._yes, self._no = yes, _none(yes) if N is None else rows_from(N, name="N")
        return self._learn(None)

    def partial_fit(self, yes: Any = None, no: Any = None) -> Self:
        """Learn again with more of both kinds, starting from what is known."""
        if yes is not None:
            self._yes = stack([self._yes, rows_from(yes, name="yes")])
        if no is not None:
            self._no = stack([self._no, rows_from(no, name="no")])
        return self._learn(np.append(self.coef_, self.intercept_))

    def decision_function(self, X: Any) -> Floats:
        """⟨w, x⟩ + b of each row, shape (n,)."""
        rows = rows_from(X)
        weights = self.coef_.astype(rows.values.dtype)
        return np.asarray(rows.to_scipy() @ weights + self.intercept_, float)

    def _learn(self, start: Floats | None) -> Self:
        rows = stack([self._yes, self._no])
        positive = np.arange(len(rows)) < len(self._yes)
        prices = self.C * np.where(positive, self.ratio, 1.0)
        signs = np.where(positive, 1.0, -1.0)
        found = squared_hinges(rows, signs, prices, start=start, tol=self.tol)
        self.coef_, self.intercept_ = found.weights, found.bias
        self.objective_ = found.objective
        return self


def _none(like: Rows) -> Rows:
    kind = like.values.dtype
    none = np.empty(0, np.uint32)
    return Rows(np.zeros(1, np.int64), none, np.empty(0, kind), like.width)
