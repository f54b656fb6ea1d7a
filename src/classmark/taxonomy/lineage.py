"""Lineage: a forest as a parent array, and what follows from it alone.

Nodes are numbers 0 … n−1. ``parent[v]`` is −1 at a root; where there are several roots
they hang, for distances only, on one virtual root of number −1 and depth −1.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Ints


class Lineage:
    """Depths, levels and common ancestors of a forest given as a parent array.

    parent : int64, shape (n,), the number of each node's parent, −1 at a root.

    >>> line = Lineage(np.array([-1, 0, 0, 1]))
    >>> line.depths.tolist(), line.common(3, 2).tolist()
    ([0, 1, 1, 2], 0)
    """

    def __init__(self, parent: Ints) -> None:
        self.parent = parent
        self.parent.setflags(write=False)

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def jumps(self) -> Ints:
        """Ancestors 1, 2, 4, … steps up, shape (rounds, n); past a root: the root."""
        own = np.arange(len(self), dtype=np.int64)
        jump = np.where(self.parent < 0, own, self.parent)
        table = [jump]
        while not np.array_equal(table[-1], table[-1][table[-1]]):
            table.append(table[-1][table[-1]])
            if len(table) > len(self).bit_length() + 1:
                break
        return np.array(table)

    @cached_property
    def loose(self) -> Ints:
        """Nodes from which no root is reached: those on or below a cycle."""
        if not len(self):
            return np.empty(0, np.int64)
        return np.flatnonzero(self.parent[self.jumps[-1]] >= 0)

    @cached_property
    def depths(self) -> Ints:
        """Edges between each node and its root, shape (n,)."""
        depth = (self.parent >= 0).astype(np.int64)
        for jump in self.jumps if len(self) else ():
            depth = depth + depth[jump]
        return depth

    @cached_property
    def levels(self) -> list[Ints]:
        """The nodes of depth 0, of depth 1, …, each in increasing number."""
        order = np.argsort(self.depths, kind="stable")
        sizes = np.bincount(self.depths)
        return np.split(order, np.cumsum(sizes)[:-1]) if len(self) else []

    def common(self, us: ArrayLike, vs: ArrayLike) -> Ints:
        """Lowest common ancestor of each pair, −1 where the roots differ."""
        first, second = np.broadcast_arrays(
            np.asarray(us, np.int64), np.asarray(vs, np.int64)
        )
        deep = np.where(self.depths[first] >= self.depths[second], first, second)
        high = np.where(self.depths[first] >= self.depths[second], second, first)
        gap = self.depths[deep] - self.depths[high]
        for bit, jump in enumerate(self.jumps):
            deep = np.where(gap >> bit & 1, jump[deep], deep)
        for jump in self.jumps[::-1]:
            apart = jump[deep] != jump[high]
            deep, high = (
                np.where(apart, jump[deep], deep),
                np.where(apart, jump[high], high),
            )
        return np.where(deep == high, deep, self.parent[deep])
