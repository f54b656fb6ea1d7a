"""QueryRanker: a row's score orders it within its query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.estimator import Estimator
from classmark.problems import Mistake
from classmark.sparse import rows_from


class QueryRanker(Estimator, ABC):
    """Learns from graded rows of queries, then scores rows."""

    _needs_y = True

    @abstractmethod
    def fit(
        self, X: Any, y: ArrayLike, qid: Any, *, weights: ArrayLike | None = None
    ) -> Self:
        """Learn from rows X, (n, features), grades y, (n,), and their queries, (n,).

        qid : any hashables, in any order;  weights : (n,), what a row counts where it
        should be above others.
        """

    @abstractmethod
    def decision_function(self, X: Any) -> Floats:
        """Scores of rows, (n,): within a query, the higher the better."""


class LinearQueryRanker(QueryRanker):
    """The score is ⟨w, x⟩.

    coef_ : w, (features,);  objective_ : the value that was minimised.
    """

    coef_: Floats
    objective_: float

    def decision_function(self, X: Any) -> Floats:
        """Scores of rows, (n,): within a query, the higher the better."""
        self._require_fitted()
        rows = rows_from(X)
        require_width(rows.width, len(self.coef_))
        return np.asarray(rows.to_scipy() @ self.coef_, np.float64)


def require_width(given: int, learned: int) -> None:
    """Refuse rows of other features than were learned."""
    if given != learned:
        raise Mistake(f"X has {given} features, {learned} were learned: give the same")
