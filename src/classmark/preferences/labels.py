"""Labels in any shape people have them, as Rows of grades.

A label is a judgment on (document, category); its grade is positive: 1 for "belongs",
2 for "primary", whatever a graded source says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from classmark.arrays import Ints
from classmark.problems import Mistake
from classmark.sparse import Rows, keep_values, rows_from


def labels_from(
    Y: Any, n_documents: int | None = None, n_labels: int | None = None
) -> Rows:
    """Read ``Y`` as Rows of grades, shape (documents, labels).

    Y : an indicator or grade matrix (array or scipy sparse, n × k); a *list* of
        label-index lists; a 1-d integer array (one label each); or Rows.
    n_documents, n_labels : what the shape must be, where known.

    >>> labels_from([[2], [0, 1], []]).shape
    (3, 3)
    """
    rows = Y if isinstance(Y, Rows) else _read(Y, n_labels)
    if n_documents is not None and len(rows) != n_documents:
        raise Mistake(
            f"Y has {len(rows)} rows, X has {n_documents}: give one row per document"
        )
    if n_labels is not None and rows.width > n_labels:
        raise Mistake(
            f"Y has {rows.width} labels, {n_labels} were expected: "
            "raise n_labels or drop the extra columns"
        )
    wide = rows.width if n_labels is None else n_labels
    rows = Rows(rows.starts, rows.columns, rows.values, wide)
    return keep_values(rows, rows.values != 0)  # a grade of 0 says nothing


def _read(Y: Any, n_labels: int | None) -> Rows:
    if isinstance(Y, Sequence) and not isinstance(Y, str | bytes):
        return _from_lists(Y, n_labels)
    if isinstance(Y, np.ndarray) and Y.dtype == object:
        return _from_lists(list(Y), n_labels)
    if isinstance(Y, np.ndarray) and Y.ndim == 1:
        return _from_lists([[label] for label in Y], n_labels)
    rows = rows_from(Y, name="Y")
    if (rows.values < 0).any():
        at = int(np.argmax(rows.values < 0))
        row = int(np.searchsorted(rows.starts, at, side="right")) - 1
        raise Mistake(f"Y, row {row}: a grade is negative: grades are 0 or more")
    return rows


def _from_lists(lists: Sequence[Any], n_labels: int | None) -> Rows:
    """Label-index lists; a bare integer stands for a list of one."""
    cleaned = [_indices(entry, row, n_labels) for row, entry in enumerate(lists)]
    lengths = np.array([len(entry) for entry in cleaned], np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    columns = np.concatenate([np.empty(0, np.uint32), *cleaned]).astype(np.uint32)
    width = int(columns.max()) + 1 if len(columns) else 0
    return Rows(starts, columns, np.ones(len(columns)), max(width, n_labels or 0))


def _indices(entry: Any, row: int, n_labels: int | None) -> Ints:
    many = entry if isinstance(entry, Iterable) else (entry,)
    if isinstance(many, str | bytes):
        raise Mistake(
            f"Y, row {row}: {many!r} is text: give label indices "
            "(number the label names first)"
        )
    indices = np.unique(np.asarray(list(many)))
    if not len(indices):
        return np.empty(0, np.int64)
    if indices.dtype.kind not in "iu":
        raise Mistake(
            f"Y, row {row}: {indices[0]!r} is not a label index: give whole numbers"
        )
    if indices[0] < 0 or (n_labels is not None and indices[-1] >= n_labels):
        wrong = int(indices[0] if indices[0] < 0 else indices[-1])
        limit = "0 or more" if n_labels is None else f"0 to {n_labels - 1}"
        raise Mistake(f"Y, row {row}: label {wrong} is out of range: use {limit}")
    return indices.astype(np.int64)


def number_labels(
    lists: Iterable[Iterable[str]], names: Sequence[str]
) -> list[list[int]]:
    """Names to indices; names not in ``names`` are an error.

    >>> number_labels([["b"], ["a", "b"]], ["a", "b"])
    [[1], [0, 1]]
    """
    number = {name: index for index, name in enumerate(names)}
    numbered = []
    for row, labels in enumerate(lists):
        unknown = [label for label in labels if label not in number]
        if unknown:
            raise Mistake(
                f"labels, row {row}: {unknown[0]!r} is not among the label names"
            )
        numbered.append(sorted({number[label] for label in labels}))
    return numbered
