"""LinearRanker: one prototype per category; the score of category r is ⟨w_r, x⟩."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.estimator import Estimator
from classmark.problems import Mistake
from classmark.ranking import order, top
from classmark.sparse import Rows, rows_from
from classmark.validation import renamed, require_k

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

DENSE_LIMIT = 1 << 29  # weights: 4 GiB in float64


@dataclass(frozen=True, slots=True)
class Evidence:
    """The features for a category and those against it.

    A feature's part is x_j (w_{r,j} − mean_s w_{s,j}): what it adds to the category's
    score beyond what it adds to the average category. The parts sum to the score's
    distance from the mean score.
    """

    features: Ints
    parts: Floats

    def strongest(self, n: int) -> tuple[list[tuple[int, float]], ...]:
        """The ``n`` features most for and the ``n`` most against, strongest first."""
        place = np.argsort(-self.parts, kind="stable")
        ends = (place[:n], place[::-1][:n])
        favour, against = (
            list(zip(self.features[i].tolist(), self.parts[i].tolist(), strict=True))
            for i in ends
        )
        return [p for p in favour if p[1] > 0], [p for p in against if p[1] < 0]


class LinearRanker(Estimator, ABC):
    """Ranks categories by a linear score; subclasses learn ``weights_``.

    weights_ : shape (features, categories), a dense array or a scipy sparse matrix: the
        prototypes as columns, so that a document's scores are a sum of rows.
    thresholds_ : shape (categories,), taken off the scores; None where there are none.
    takes_graphs : whether it learns from preference graphs as well as from labels.
    """

    takes_graphs: ClassVar[bool] = False

    @property
    def takes_thresholds(self) -> bool:
        """Whether the graphs may compare labels with the threshold."""
        return False

    _needs_y = True
    weights_: Floats | csc_matrix
    thresholds_: Floats | None = None

    @property
    def simple(self) -> LinearRanker:
        """What it is once it has learned: itself, or the simpler ranker it holds."""
        return self

    @property
    def kept_as(self) -> tuple[str, dict[str, Any]]:
        """The name of the learner and the parameters by which it is saved and opened.

        "" stands for the name its class is known by. One that is something simpler
        once it has learned says so.
        """
        return "", self.get_params()

    @abstractmethod
    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from documents X, shape (n, features), and labels Y, shape (n, k)."""

    @property
    def coef_(self) -> Floats:
        """The prototypes as rows, dense, shape (categories, features)."""
        self._require_fitted()
        from scipy.sparse import issparse

        if not issparse(self.weights_):
            return np.asarray(self.weights_).T
        features, categories = self.weights_.shape
        if features * categories > DENSE_LIMIT:
            raise Mistake(
                f"coef_ would need {8 * features * categories / 2**30:.0f} GiB: use "
                "weights_, the same numbers as a sparse matrix (features, categories)"
            )
        return np.asarray(self.weights_.toarray()).T

    def decision_function(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories)."""
        scores = self._scores(X)
        return scores if self.thresholds_ is None else scores - self.thresholds_

    def _scores(self, X: Any) -> Floats:
        """Scores before the thresholds are taken off."""
        scores = self._documents(X).to_scipy() @ self.weights_
        dense = scores.toarray() if hasattr(scores, "toarray") else scores
        return np.asarray(dense, dtype=np.float64)

    @renamed(top="k")
    def rank(self, X: Any, k: int | None = None) -> Ints:
        """Category numbers, best first, shape (documents, k or all)."""
        scores = self.decision_function(X)
        if k is None:
            return order(scores)
        require_k(k)
        return top(scores, k)

    def score(self, X: Any, Y: Any) -> float:
        """Mean average precision of the rankings: what scikit-learn's tools compare."""
        from classmark.measures import category_ranking

        return float(
            category_ranking(self.decision_function(X), Y)["average_precision"]
        )

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the score of ``category`` for the one row of ``X``."""
        rows = self._documents(X)
        if len(rows) != 1:
            raise Mistake(f"X has {len(rows)} rows: evidence is shown for one document")
        columns, values = rows.row(0)
        weights: Any = self.weights_[columns.astype(np.int64)]
        column = weights[:, [category]]
        column = column.toarray() if hasattr(column, "toarray") else column
        centred = np.ravel(column) - np.ravel(weights.mean(axis=1))
        return Evidence(columns.astype(np.int64), values.astype(np.float64) * centred)

    def _documents(self, X: Any) -> Rows:
        self._require_fitted()
        return documents_like(X, self.weights_.shape[0], self)


def documents_like(X: Any, width: int, who: object) -> Rows:
    """The documents, once it is known that they have the columns learned from."""
    rows = rows_from(X)
    if rows.width != width:
        raise Mistake(
            f"X has {rows.width} features, {type(who).__name__} was fitted with "
            f"{width}: use the vectorizer it was fitted with"
        )
    return rows
