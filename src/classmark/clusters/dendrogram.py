"""Dendrogram: which groups were merged, at what height, and the clusters of a cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.clusters.rows import require_count
from classmark.problems import Mistake


@dataclass(frozen=True, slots=True)
class Dendrogram:
    """n groups merged two by two, in order of height, as scipy's linkage says it.

    pairs : (n − 1, 2), the groups joined by each merge: below n the first ones, n + m
    what merge m has made;  heights : (n − 1,), never falling;  sizes : (n,) of the
    first groups.
    """

    pairs: Ints
    heights: Floats
    sizes: Floats

    def __len__(self) -> int:
        return len(self.sizes)

    def cut(self, k: int) -> Ints:
        """The clusters when k are left: numbers from 0 in order of first appearance.

        >>> pairs, heights = np.array([[0, 2], [1, 3]]), np.array([0.1, 0.9])
        >>> tree = Dendrogram(pairs, heights, np.ones(3))
        >>> tree.cut(2).tolist()
        [0, 1, 0]
        """
        require_count("k", k, len(self))
        return self._after(len(self) - k)

    def cut_at(self, height: float) -> Ints:
        """The clusters when all merges up to a height are made."""
        if not height >= 0:
            raise Mistake(f"height is {height}: give a distance from 0 up")
        return self._after(int(np.searchsorted(self.heights, height, side="right")))

    def _after(self, merges: int) -> Ints:
        n = len(self)
        parent = np.arange(n + merges)
        for made in range(merges):
            parent[self.pairs[made]] = n + made
        for node in range(n + merges - 1, -1, -1):
            parent[node] = parent[parent[node]]
        _, first, inverse = np.unique(
            parent[:n], return_index=True, return_inverse=True
        )
        return np.argsort(np.argsort(first))[inverse]


def dendrogram_of(
    left: Ints, right: Ints, heights: Floats, sizes: Floats
) -> Dendrogram:
    """Put merges of slots in order of height; a merge is kept in its right slot."""
    n = len(sizes)
    parent = np.arange(2 * n - 1)
    pairs = np.empty((n - 1, 2), np.int64)
    order = np.argsort(heights, kind="stable")
    for made, m in enumerate(order):
        pair = sorted((_top(parent, int(left[m])), _top(parent, int(right[m]))))
        pairs[made] = pair
        parent[pair] = n + made
    return Dendrogram(pairs, heights[order], sizes)


def _top(parent: Ints, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = int(parent[node])
    return node
