"""Incoming: the links of a web, kept by the page they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Array, Floats, Ints
from classmark.problems import Mistake
from classmark.sparse import Rows, require_finite, rows_from

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix


@dataclass(frozen=True, slots=True)
class Incoming:
    """Who links to page j: ``sources[starts[j]:starts[j+1]]``.

    starts : int64, shape (n + 1,);  sources : uint32, shape (links,);
    shares : float64, A_ij / Σ_j A_ij by link, or empty where all weights are equal;
    scale : float64, shape (n,): what a share of page i is multiplied by: 0 without
    links, 1 where there are shares, else 1 / (its number of links).
    """

    starts: Ints
    sources: NDArray[np.uint32]
    shares: Floats
    scale: Floats

    def __len__(self) -> int:
        return len(self.scale)


def incoming_links(A: ArrayLike | csr_array | csr_matrix | Rows) -> Incoming:
    """Turn a matrix of links round, in O(pages + links).

    >>> incoming_links([[0, 1], [1, 1]]).sources.tolist()
    [1, 0, 1]
    """
    from classmark.links.kernels import share_out, turn_round

    rows = _checked(A)
    none = np.empty(0, np.float64)
    if _even(rows.values):
        shares, turned = none, none
        counts = np.diff(rows.starts)
        scale = np.where(counts > 0, 1.0 / np.maximum(counts, 1), 0.0)
    else:
        shares, turned = np.empty(rows.nnz), np.empty(rows.nnz)
        scale = np.empty(len(rows))
        share_out(rows.starts, rows.values, shares, scale)
    starts = np.zeros(len(rows) + 1, np.int64)
    sources = np.empty(rows.nnz, np.uint32)
    turn_round(rows.starts, rows.columns, shares, starts, sources, turned)
    return Incoming(starts, sources, turned, scale)


def _even(values: Array) -> bool:
    """Whether all links weigh the same, and something."""
    return len(values) == 0 or bool(values[0] > 0 and (values == values[0]).all())


def _checked(A: ArrayLike | csr_array | csr_matrix | Rows) -> Rows:
    shape = tuple(getattr(A, "shape", None) or np.shape(A))
    if len(shape) != 2 or shape[0] != shape[1]:
        raise Mistake(
            f"A has the shape {shape}: links are a square matrix, a row and a column "
            "for every page, with A[i, j] = 1 for a link i → j"
        )
    if shape[0] == 0:
        raise Mistake("A has no page: give a link matrix with at least one")
    if isinstance(A, Rows):
        rows = A
        require_finite(rows, name="A")
    else:
        rows = rows_from(A, name="A")
    bad = np.flatnonzero(rows.values < 0)
    if len(bad):
        row = int(np.searchsorted(rows.starts, bad[0], side="right")) - 1
        raise Mistake(
            f"A[{row}, {rows.columns[bad[0]]}] is {rows.values[bad[0]]:g}: the weight "
            "of a link is not negative; leave out links that do not count"
        )
    return rows
