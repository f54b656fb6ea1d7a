"""Documents as rows of unit length, over the columns that are in use."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake
from classmark.sparse import Rows, keep_columns, rows_from


class Unit(NamedTuple):
    """Rows x/‖x‖, a row without terms staying so, and the columns of X they have.

    used : sorted, the column of X behind each column of ``rows``.
    """

    rows: Rows
    used: Ints
    width: int


def unit_rows(X: Any) -> Unit:
    """Take in documents, shape (n, features); float32 stays, else float64.

    >>> unit_rows([[0.0, 3.0, 4.0], [0.0, 0.0, 0.0]]).rows.values.round(3).tolist()
    [0.6, 0.8]
    """
    rows = rows_from(X)
    if not len(rows):
        raise Mistake("X has no rows: give at least one document")
    lengths = np.sqrt(squares(rows))
    scale = np.divide(1.0, lengths, out=np.zeros(len(rows)), where=lengths > 0)
    values = rows.values * np.repeat(scale, np.diff(rows.starts))
    scaled = Rows(
        rows.starts, rows.columns, values.astype(rows.values.dtype), rows.width
    )
    used = np.flatnonzero(np.bincount(rows.columns, minlength=rows.width))
    return Unit(keep_columns(scaled, used), used, rows.width)


def squares(rows: Rows) -> Floats:
    """‖x‖² of each row."""
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    values = rows.values.astype(np.float64)
    sums: Floats = np.bincount(owner, values * values, len(rows)).astype(np.float64)
    return sums


def sums_of(rows: Rows, labels: Ints, k: int) -> Any:
    """The sum of the rows of each cluster, a sparse matrix (k, width) of float64."""
    from scipy.sparse import csr_matrix

    n = len(rows)
    members = csr_matrix((np.ones(n), (labels, np.arange(n))), shape=(k, n))
    return members @ rows.to_scipy()


def lengths_of(matrix: Any) -> Floats:
    """‖row‖ of a sparse matrix."""
    lengths: Floats = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return lengths


def scaled(matrix: Any, factors: Floats) -> Any:
    """Each row of a sparse matrix times its factor."""
    product = matrix.copy()
    product.data *= np.repeat(factors, np.diff(matrix.indptr))
    return product


def directions(sums: Any) -> Any:
    """The rows of a sparse matrix to unit length, one without values staying so."""
    lengths = lengths_of(sums)
    factors = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    return scaled(sums, factors)


def require_count(name: str, count: int, documents: int) -> None:
    """Refuse to make more clusters than there are documents, or none."""
    whole = isinstance(count, Integral) and not isinstance(count, bool)
    if not whole or not 1 <= count <= documents:
        raise Mistake(
            f"{name} is {count!r} for {documents} documents: give a whole number "
            f"from 1 to {documents}"
        )
