"""What does Rocchio rank, after every document anew, without starting over?"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.estimator import Estimator
from classmark.judgments.labels import labels_from
from classmark.problems import Mistake
from classmark.sparse import Rows, rows_from


class RunningRocchio(Estimator):
    """Rocchio's prototypes from running sums [Rocchio71].

    w_r = max(0, β · mean of x with r − γ · mean of x without r), divided by its length.
    Only the weights of a document's own terms are computed when it is scored. A
    label's length is that of the last document learned with it; means of the others,
    which every document moves a little, change it slowly.

    >>> ranker = RunningRocchio().partial_fit([[1.0, 0.0], [0.0, 1.0]], [[0], [1]])
    >>> ranker.decision_function([[0.0, 1.0]]).tolist()
    [[0.0, 1.0]]
    """

    def __init__(self, beta: float = 16.0, gamma: float = 4.0) -> None:
        self.beta = beta
        self.gamma = gamma

    def partial_fit(self, X: Any, Y: Any, n_labels: int | None = None) -> Self:
        """Add documents to the sums; features and labels may become more."""
        rows = rows_from(X)
        labels = labels_from(Y, len(rows), n_labels)
        self._grow(rows.width, labels.width)
        for at in range(len(rows)):
            columns, values = rows.row(at)
            own = labels.row(at)[0].astype(np.int64)
            self.total_[columns] += values
            self.sums_[np.ix_(columns, own)] += values[:, np.newaxis]
            self.sizes_[own] += 1
            self.documents_ += 1
        touched = np.unique(labels.columns).astype(np.int64)
        self.lengths_[touched] = self._lengths(touched)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Scores of all labels, shape (documents, labels)."""
        self._require_fitted()
        rows = rows_from(X)
        self._require_width(rows)
        scores = np.empty((len(rows), len(self.sizes_)))
        scale = np.where(self.lengths_ > 0, self.lengths_, 1.0)
        for at in range(len(rows)):
            columns, values = rows.row(at)
            weights = self._weights(self.sums_[columns], self.total_[columns])
            scores[at] = values.astype(np.float64) @ weights / scale
        return scores

    def _weights(
        self, sums: Floats, total: Floats, sizes: Ints | None = None
    ) -> Floats:
        """Weights from sums of shape (features, labels)."""
        size = self.sizes_ if sizes is None else sizes
        inside = self.beta / np.maximum(size, 1)
        outside = self.gamma / np.maximum(self.documents_ - size, 1)
        return np.maximum(
            0.0, sums * (inside + outside) - total[:, np.newaxis] * outside
        )

    def _lengths(self, labels: Ints) -> Floats:
        known = self.width_
        sums, total = self.sums_[:known, labels], self.total_[:known]
        weights = self._weights(sums, total, self.sizes_[labels])
        return np.asarray(np.sqrt((weights**2).sum(axis=0)))

    def _grow(self, features: int, labels: int) -> None:
        """Make room: twice as many features as are needed, the labels there are."""
        if not hasattr(self, "sums_"):
            self.width_, self.documents_ = 0, 0
            self.sums_ = np.zeros((0, 0))
            self.total_, self.lengths_ = np.zeros(0), np.zeros(0)
            self.sizes_ = np.zeros(0, np.int64)
        room, known = self.sums_.shape
        if features > room or labels > known:
            wide = 2 * features if room and features > room else max(features, room)
            more, new = wide - room, max(labels - known, 0)
            self.sums_ = np.pad(self.sums_, ((0, more), (0, new)))
            self.total_ = np.pad(self.total_, (0, more))
            self.lengths_ = np.pad(self.lengths_, (0, new))
            self.sizes_ = np.pad(self.sizes_, (0, new))
        self.width_ = max(self.width_, features)

    def _require_width(self, rows: Rows) -> None:
        if rows.width > self.width_:
            raise Mistake(
                f"X has {rows.width} features, {self.width_} were learned: leave out "
                "the new ones"
            )
