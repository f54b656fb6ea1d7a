"""Which terms are worth keeping: by how often they occur, and by Rocchio's weights."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Array, Floats, Ints, Rows, rows_from, take, transpose
from classmark.corpus.counting import Statistics
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.progress import track


def rocchio_weights(
    inside: Array,
    total: Array,
    n_inside: ArrayLike,
    n: float,
    beta: float = 16.0,
    gamma: float = 4.0,
) -> Floats:
    """max(0, β · mean over a label's documents − γ · mean over the others) [Rocchio71].

    inside, total : sums over the label's documents and over all n, of one shape;
    n_inside : how many documents have the label. A mean over none is 0; β = 16 and
    γ = 4 are those of [CrammerSinger03].

    >>> rocchio_weights(np.array([3.0, 0.0]), np.array([3.0, 2.0]), 1, 3).tolist()
    [48.0, 0.0]
    """
    size = np.asarray(n_inside)
    favour = beta * inside / np.maximum(size, 1)
    against = gamma * (total - inside) / np.maximum(n - size, 1)
    return np.asarray(np.maximum(0.0, favour - against))


def frequent_terms(
    statistics: Statistics,
    *,
    at_least: float = 1,
    at_most: float = np.inf,
    max_features: int | None = None,
) -> Ints:
    """Select terms by their document frequency; returns sorted column numbers.

    ``max_features`` keeps those that occur most often in the collection; of two that
    occur as often, the alphabetically first.
    """
    df = statistics.document_frequency
    selected = np.flatnonzero((df >= at_least) & (df <= at_most))
    if max_features is None:
        return selected
    if max_features < 1:
        raise Mistake(f"max_features is {max_features}: give 1 or more, or None")
    order = np.argsort(-statistics.collection_frequency[selected], kind="stable")
    return np.sort(selected[order[:max_features]])


def select_features(
    X: Any,
    Y: Any,
    per_label: int = 100,
    fraction: float = 0.025,
    *,
    of: Literal["all", "positive"] = "all",
) -> Ints:
    """Select the terms with the largest Rocchio weights for some label.

    For each label the terms are sorted by max(0, 16 · mean over its documents −
    4 · mean over the others) and max(per_label, fraction · terms) of them are kept,
    those with a positive weight; the union is returned, as sorted column numbers
    [CrammerSinger03].

    X : weighted documents, shape (n, d);  Y : as for the rankers, shape (n, k);  of :
    the terms that ``fraction`` is of, "all" d, or the "positive" ones of the label,
    which selects about as many terms as the paper has.

    >>> X = [[1.0, 0.0, 0.2], [0.9, 0.1, 0.2], [0.0, 1.0, 0.2]]
    >>> select_features(X, [[0], [0], [1]], per_label=1, fraction=0.0).tolist()
    [0, 1]
    """
    rows = rows_from(X)
    if per_label < 0 or not 0.0 <= fraction <= 1.0:
        raise Mistake(
            f"per_label is {per_label}, fraction {fraction}: "
            "give a number of terms and a part of 1"
        )
    if of not in {"all", "positive"}:
        raise Mistake(f"of is {of!r}: use 'all' or 'positive'")
    chosen = np.zeros(rows.width, np.bool_)
    total = _column_sums(rows, np.arange(len(rows)))
    labels = transpose(labels_from(Y, len(rows)))
    for label in track(range(len(labels)), "selecting terms", len(labels)):
        documents, grades = labels.row(label)
        members = documents[grades > 0]
        inside = _column_sums(rows, members)
        weights = rocchio_weights(inside, total, len(members), len(rows))
        terms = rows.width if of == "all" else np.count_nonzero(weights > 0.0)
        most = max(per_label, int(np.ceil(fraction * terms)))
        best = np.argsort(-weights, kind="stable")[:most]
        chosen[best[weights[best] > 0.0]] = True
    return np.flatnonzero(chosen)


def _column_sums(rows: Rows, which: Array) -> Floats:
    """Sum some of the rows, column by column."""
    part = take(rows, which)
    values = part.values.astype(np.float64, copy=False)
    return np.bincount(part.columns, values, minlength=rows.width).astype(np.float64)
