"""CategoryPerceptron: one independent perceptron per category."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from classmark.judgments.labels import labels_from
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.linear import DENSE_LIMIT, LinearRanker
from classmark.sparse import Rows, rows_from


class CategoryPerceptron(LinearRanker):
    """Binary perceptrons, one per category, over the same stream of documents.

    When y_r ⟨w_r, x⟩ ≤ 0: w_r ← w_r + y_r x, with y_r = ±1 [Rosenblatt58]; the baseline
    of [CrammerSinger03].

    passes : how often ``fit`` goes through the documents, in the order given.
    average : rank with the mean of all prototypes along the way, not the last.
    """

    def __init__(self, passes: int = 1, average: bool = False) -> None:
        self.passes = passes
        self.average = average

    def fit(self, X: Any, Y: Any) -> Self:
        """Start from zero and go ``passes`` times through the documents."""
        if self.passes < 1:
            raise Mistake(f"passes is {self.passes}: go through the data at least once")
        rows = rows_from(X)
        labels = labels_from(Y, len(rows))
        self._start(rows.width, labels.width)
        for _ in track(range(self.passes), "perceptron passes", self.passes):
            self._learn(rows, labels)
        self._settle()
        return self

    def partial_fit(self, X: Any, Y: Any, n_labels: int | None = None) -> Self:
        """Learn from these documents, once, going on from what is known.

        n_labels : how many categories there are; taken from Y at the first call.
        """
        rows = rows_from(X)
        if not self.__sklearn_is_fitted__():
            labels = labels_from(Y, len(rows), n_labels)
            self._start(rows.width, labels.width)
        else:
            known = int(self._last.shape[1])
            labels = labels_from(Y, len(rows), n_labels or known)
            if labels.width != known or rows.width != self._last.shape[0]:
                raise Mistake(
                    f"X and Y have {rows.width} features and {labels.width} labels, "
                    f"the ranker knows {self._last.shape[0]} and {known}: "
                    "keep both as in the first call"
                )
        self._learn(rows, labels)
        self._settle()
        return self

    def _start(self, features: int, categories: int) -> None:
        if features * categories > DENSE_LIMIT:
            raise Mistake(
                f"{features} features × {categories} categories need "
                f"{8 * features * categories / 2**30:.0f} GiB: select features first "
                "(select_features), or use Rocchio, whose weights are sparse"
            )
        self._last: NDArray[np.float64] = np.zeros((features, categories))
        self._weighted: NDArray[np.float64] = np.zeros((features, categories))
        self._seen = 0

    def _learn(self, rows: Rows, labels: Rows) -> None:
        from classmark.solvers.online.kernels import perceptron_pass

        perceptron_pass(
            rows.starts, rows.columns, rows.values, labels.starts, labels.columns,
            self._last, self._weighted, self._seen,
        )  # fmt: skip
        self._seen += len(rows)

    def _settle(self) -> None:
        mean = self._last - self._weighted / max(self._seen, 1)
        self.weights_ = mean if self.average else self._last.copy()
