"""Rocchio: a category is the mean of its documents, less some of the others'."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from classmark.estimator import parameters
from classmark.preferences.labels import labels_from
from classmark.rankers.linear import LinearRanker
from classmark.sparse import rows_from
from classmark.weighting.selection import rocchio_weights


@parameters()
class Rocchio(LinearRanker):
    """Prototypes from means.

    w_r = max(0, β · mean of x with r − γ · mean of x without r), each to unit norm
    [Rocchio71], with β = 16, γ = 4 as in [CrammerSinger03].

    Weights can be positive only where a document of the category has the term, so they
    are kept sparse: the cost is that of one sparse product.

    >>> Rocchio().fit([[1.0, 0.0], [0.0, 1.0]], [[0], [1]]).rank([[0.2, 0.9]]).tolist()
    [[1, 0]]
    """

    beta: float = 16.0
    gamma: float = 4.0

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from documents X, shape (n, features), and labels Y, shape (n, k)."""
        rows = rows_from(X)
        labels = labels_from(Y, len(rows))
        belongs = labels.to_scipy()
        belongs.data = np.ones(len(belongs.data))
        documents = rows.to_scipy().astype(np.float64)
        sums = (documents.T @ belongs).tocsc().T  # (k, features)
        total = np.asarray(documents.sum(axis=0)).ravel()
        size = np.asarray(belongs.sum(axis=0)).ravel()
        owner = np.repeat(np.arange(len(size)), np.diff(sums.indptr))
        counts, how = (size[owner], len(rows)), (self.beta, self.gamma)
        sums.data = rocchio_weights(sums.data, total[sums.indices], *counts, *how)
        length = np.sqrt(np.bincount(owner, sums.data**2, minlength=len(size)))
        sums.data /= np.where(length > 0, length, 1.0)[owner]
        sums.eliminate_zeros()
        self.weights_ = sums.T.tocsr()
        return self
