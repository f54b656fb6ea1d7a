"""Multinomial naive Bayes: how often does a daughter's text use this word?"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.sparse import Rows


def log_odds(rows: Rows, owners: Rows, alpha: float = 1.0) -> tuple[Floats, Floats]:
    """Count: ln p(f|j), shape (features, d), and ln p(j), (d,) [McCallumNigam98].

    p(f|j) = (α + Σ_i x_if) / (α·features + Σ_i Σ_g x_ig) over the documents i of
    daughter j; p(j) = its documents / those of all. A document of several daughters
    counts in each. Every daughter is to have a document.

    >>> from classmark.sparse import rows_from
    >>> rows, owners = rows_from([[3.0, 0.0], [1.0, 1.0]]), rows_from(np.eye(2))
    >>> np.exp(log_odds(rows, owners)[0]).round(2).tolist()
    [[0.8, 0.5], [0.2, 0.5]]
    """
    _require_counts(rows, alpha)
    belongs: Any = owners.to_scipy().copy()
    belongs.data = np.ones(owners.nnz)
    counts = (belongs.T @ rows.to_scipy()).toarray().T.astype(np.float64) + alpha
    sizes = np.bincount(owners.columns, minlength=owners.width)
    whole = counts.sum(axis=0) if len(counts) else np.ones(owners.width)
    weights = np.log(counts) - np.log(whole)
    return weights, np.log(sizes) - np.log(sizes.sum())


def _require_counts(rows: Rows, alpha: float) -> None:
    if not 0 < alpha < np.inf:
        raise Mistake(f"alpha is {alpha}: give a number greater than 0")
    if rows.nnz and rows.values.min() < 0:
        at = int(np.argmax(rows.values < 0))
        row = int(np.searchsorted(rows.starts, at, side="right")) - 1
        raise Mistake(
            f"X, row {row}: a value is below 0, and naive Bayes counts: use weights of "
            "words that are 0 or more, or base='svm'"
        )
