"""Decoded lists laid out for dot products: two bytes a posting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Ints
from classmark.index.reading import Lists

_LARGEST = (1 << 16) - 1
_PER_POSTING, _PER_TERM = 6, 40  # bytes: at most, about


class Runs(NamedTuple):
    """Lists as ``lay_runs`` writes them."""

    slots: NDArray[np.uint16]
    runs: NDArray[np.uint16]
    edges: Ints


def runs_of(lists: Lists, order: Ints, room: int) -> Runs | None:
    """Lay lists out, in some order of terms, for ``find_in_runs``.

    None where they might not fit ``room`` bytes, or where a count has over 16 bits.

    >>> items, counts = np.arange(3, dtype=np.uint32), np.array([2, 9, 2], np.uint32)
    >>> lists = Lists(items, counts, np.array([0]), np.array([3]))
    >>> runs = runs_of(lists, np.array([0]), 1 << 20)
    >>> runs.slots.tolist(), runs.runs.tolist()
    ([0, 2, 1, 9], [[0, 2, 1], [0, 0, 0]])
    """
    from classmark.index.vectors.kernels import lay_runs

    n, n_terms = int((lists.ends - lists.begins).sum()), len(order)
    if _PER_POSTING * n + _PER_TERM * n_terms > room:
        return None
    if n and int(lists.counts.max()) > _LARGEST:
        return None
    slots, runs = np.empty(2 * n, np.uint16), np.empty((n, 3), np.uint16)
    edges = np.empty((n_terms + 1, 2), np.int64)
    used, n_runs = lay_runs(order, *lists, slots, runs, edges)
    slots.resize(used, refcheck=False)
    runs.resize((n_runs, 3), refcheck=False)
    return Runs(slots, runs, edges)
