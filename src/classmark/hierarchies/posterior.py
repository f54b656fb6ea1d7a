"""How likely is each class, given all scores of a document?"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake
from classmark.sparse import Rows

REACH = 1e3  # how far a scale may be from one over the spread of the scores
CELLS = 1 << 22  # scores that a scale is fitted on


def posterior(scores: Any, scale: float = 1.0) -> Floats:
    """Softmax, one over the temperature being the scale: p_y ∝ exp(scale · s_y).

    scores : (n, k);  −inf is a class that cannot be. [Guo17]

    >>> posterior([[1.0, 1.0, 0.0]], scale=1000.0).tolist()
    [[0.5, 0.5, 0.0]]
    """
    table = _checked(scores)
    raised = np.exp(scale * (table - table.max(axis=1, keepdims=True)))
    found: Floats = raised / raised.sum(axis=1, keepdims=True)
    return found


def fitted_scale(scores: Any, labels: Rows) -> float:
    """The scale under which held-out documents are least surprising.

    It minimises the mean of −log Σ over the document's classes y of p_y: with one class
    a document the log-loss of [Guo17], with several the surprise that a class drawn by
    p is a right one. Documents without a class, or whose classes all have a score of
    −inf, say nothing.

    scores : (n, k), of documents that were not learned from;  labels : Rows (n, k).

    >>> from classmark.sparse import rows_from
    >>> right = rows_from([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> round(fitted_scale([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], right), 3)
    0.693
    """
    from scipy.optimize import minimize_scalar

    table = _checked(scores)
    if labels.shape != table.shape:
        raise Mistake(
            f"scores has shape {table.shape}, labels {labels.shape}: give a score for "
            "each document and class"
        )
    table, documents, true = _telling(table, labels)
    if not len(table):
        raise Mistake(
            "scores: no document has a class with a finite score: give held-out "
            "documents of classes that were learned"
        )
    spread = float(np.median(-true[true < 0.0])) if (true < 0.0).any() else 0.0
    middle = -np.log(spread if spread > 0.0 else _width(table))

    def surprise(log_scale: float) -> float:
        scale = np.exp(log_scale)
        right = np.bincount(documents, np.exp(scale * true), len(table))
        every = np.exp(scale * table).sum(axis=1)
        return float(np.mean(np.log(every) - np.log(np.maximum(right, 1e-300))))

    limits = (middle - np.log(REACH), middle + np.log(REACH))
    found = minimize_scalar(surprise, bounds=limits, method="bounded")
    return float(np.exp(found.x))


def _telling(table: Floats, labels: Rows) -> tuple[Floats, Ints, Floats]:
    """Scores below the best of each document; whose each right class is; its score."""
    step = max(1, -(-table.size // CELLS))
    table = table - table.max(axis=1, keepdims=True)
    document = np.repeat(np.arange(len(labels)), np.diff(labels.starts))
    true = table[document, labels.columns.astype(np.int64)]
    kept = np.isfinite(true) & (document % step == 0)
    which, renumbered = np.unique(document[kept], return_inverse=True)
    return table[which], renumbered.ravel(), true[kept]


def _width(table: Floats) -> float:
    """A typical distance of scores, 1 where there is none."""
    finite = table[np.isfinite(table)]
    width = float(finite.std()) if finite.size else 0.0
    return width if width > 0.0 else 1.0


def _checked(scores: Any) -> Floats:
    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or not table.shape[1]:
        raise Mistake("scores is to be a matrix (documents, classes)")
    bad = ~np.isfinite(table.max(axis=1, initial=-np.inf)) | np.isnan(table).any(axis=1)
    if bad.any():
        raise Mistake(
            f"scores, row {int(np.argmax(bad))}: the best score is to be a finite "
            "number, the others numbers or −inf"
        )
    return table
