"""Which documents are nearly the same? Groups by their cosines."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from classmark.arrays import Ints
from classmark.clusters.agglomerative import Agglomerative
from classmark.clusters.rows import unit_rows
from classmark.problems import Mistake
from classmark.sparse import Rows, take, transpose

ROUNDING = 1e-6  # of a cosine of float32 rows


def near_duplicates(X: Any, threshold: float = 0.8, *, linkage: str = "single") -> Ints:
    """The group of each document, (n,): numbers from 0 in order of first appearance.

    linkage "single": two documents with a cosine of ``threshold`` or more are in one
    group, and so is whoever is joined by a chain of such pairs; "average": such a group
    is merged only as long as the mean cosine between the parts is ``threshold`` or
    more, so that long chains fall apart. Exact, not estimated: pairs are found by the
    lists of rare terms. A document without terms is a group of its own.

    >>> near_duplicates([[3.0, 1.0], [0.0, 1.0], [3.0, 1.1]]).tolist()
    [0, 1, 0]
    """
    if not isinstance(threshold, Real) or not 0 < threshold <= 1:
        raise Mistake(f"threshold is {threshold!r}: give a cosine above 0, up to 1")
    if linkage not in {"single", "average"}:
        raise Mistake(f"linkage is {linkage!r}: use single or average")
    rows = unit_rows(X).rows
    same = _same(rows)
    distinct, first, inverse = np.unique(same, return_index=True, return_inverse=True)
    groups = _linked(take(rows, distinct), threshold)[inverse]
    if linkage == "average":
        groups = _merged(rows, groups, 1.0 - threshold + ROUNDING)
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _same(rows: Rows) -> Ints:
    """For each row the first that is the same; one without terms is like no other."""
    first_seen: dict[tuple[bytes, bytes], int] = {}
    representative = np.arange(len(rows))
    for i in range(len(rows)):
        columns, values = rows.row(i)
        if len(columns):
            representative[i] = first_seen.setdefault(
                (columns.tobytes(), values.tobytes()), i
            )
    return representative


def _linked(rows: Rows, threshold: float) -> Ints:
    """The first row of the group of each, by chains of pairs."""
    from classmark.clusters.kernels import link

    ordered = _rare_first(rows)
    parent = np.arange(len(rows), dtype=np.uint32)
    link(
        ordered.starts,
        ordered.columns,
        ordered.values.astype(np.float64),
        ordered.width,
        threshold - ROUNDING,
        parent,
    )
    roots = parent.astype(np.int64)
    for i in range(len(roots)):
        roots[i] = roots[roots[i]]
    return roots


def _rare_first(rows: Rows) -> Rows:
    """The same rows with columns renumbered, those of few documents first."""
    often = np.bincount(rows.columns, minlength=rows.width)
    number = np.empty(rows.width, np.uint32)
    number[np.argsort(often, kind="stable")] = np.arange(rows.width, dtype=np.uint32)
    mixed = Rows(rows.starts, number[rows.columns], rows.values, rows.width)
    return transpose(transpose(mixed))


def _merged(rows: Rows, groups: Ints, height: float) -> Ints:
    """Each group cut where its average linkage is above a height."""
    order = np.argsort(groups, kind="stable")
    cuts = np.flatnonzero(np.diff(groups[order])) + 1
    representative = np.empty(len(groups), np.int64)
    for members in np.split(order, cuts):
        representative[members] = members[0]
        if len(members) > 2:
            model = Agglomerative(threshold=height, linkage="average")
            parts = model.fit(take(rows, members)).labels_
            _, first = np.unique(parts, return_index=True)
            representative[members] = members[first[parts]]
    return representative
