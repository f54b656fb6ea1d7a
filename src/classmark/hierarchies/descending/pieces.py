"""Piece: what one node has learned, in few bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Floats

BLOCK = 1 << 20  # weights looked at together
MOST = 1 << 16  # daughters that 16 bits can tell apart


class Piece(NamedTuple):
    """A node's weights by feature.

    features : uint32 (m,), increasing;  offsets : uint32 (m + 1,): feature ``p`` has
    the entries offsets[p]:offsets[p + 1];  daughter : uint16 or uint32 (entries,);
    weight : float32 (entries,);  bias, slope : float64 (d,): slope_j is added to all
    weights of daughter j;  lost, whole : Σ w² of what was dropped, and of all.
    """

    features: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    daughter: Array
    weight: NDArray[np.float32]
    bias: Floats
    slope: Floats
    lost: float
    whole: float


def piece_of(
    features: NDArray[np.uint32],
    weights: Any,
    bias: Array,
    base: str,
    drop: float,
) -> Piece:
    """Keep the weights that are more than ``drop`` times the node's largest.

    weights : shape (m, d), dense or csr. In naive Bayes a daughter has the same weight
    for every feature it has never seen: this is its slope, and only what differs from
    it is kept.

    >>> weights = np.array([[1.0, 0.0], [0.1, -2.0]])
    >>> found = piece_of(np.array([3, 5], np.uint32), weights, np.zeros(2), "svm", 0.1)
    >>> found.offsets.tolist(), found.daughter.tolist(), found.weight.tolist()
    ([0, 1, 2], [0, 1], [1.0, -2.0])
    """
    m, d = weights.shape
    slope = np.zeros(d)
    if base == "naive-bayes" and m:
        slope = weights.min(axis=0).astype(np.float64)
    largest = max(
        (np.abs(w).max(initial=0.0) for _, _, w in _blocks(weights, slope)), default=0.0
    )
    small: Any = np.uint16 if d <= MOST else np.uint32
    kept = [(np.empty(0, small), np.empty(0, np.float32))]
    counts = np.zeros(m, np.int64)
    lost = whole = 0.0
    for rows, columns, values in _blocks(weights, slope):
        size = np.abs(values)
        chosen = size > drop * largest
        squares = size * size
        whole += float(squares.sum())
        lost += float(squares[~chosen].sum())
        counts += np.bincount(rows[chosen], minlength=m)
        kept.append((columns[chosen].astype(small), values[chosen].astype(np.float32)))
    daughter, weight = (np.concatenate([part[i] for part in kept]) for i in range(2))
    used = np.arange(m) if base == "naive-bayes" else np.flatnonzero(counts)
    offsets = np.zeros(len(used) + 1, np.uint32)
    np.cumsum(counts[used], out=offsets[1:])
    return Piece(
        features[used], offsets, daughter, weight,
        np.asarray(bias, np.float64), slope, lost, whole,
    )  # fmt: skip


def _blocks(weights: Any, slope: Floats) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, columns and values that are not 0, some rows at a time."""
    step = max(1, BLOCK // max(1, weights.shape[1]))
    for start in range(0, weights.shape[0], step):
        part = weights[start : start + step]
        if hasattr(part, "tocoo"):
            part = part.tocoo()
            yield part.row + start, part.col, part.data.astype(np.float64)
            continue
        part = part - slope if slope.any() else part
        rows, columns = np.nonzero(part)
        yield rows + start, columns, part[rows, columns].astype(np.float64)
