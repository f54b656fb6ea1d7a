"""Graph: numbered nodes, who is above and below each, and a refusal of cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Bools, Ints
from classmark.problems import Mistake
from classmark.taxonomy.lineage import Lineage

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable


class Graph:
    """Nodes in the order of first appearance, and their (parent, child) edges.

    upper, lower : int64, shape (edges,), the numbers of each edge's ends, as given;
    lineage : the forest of first parents.
    """

    def __init__(
        self,
        edges: Iterable[tuple[Hashable, Hashable]],
        nodes: Iterable[Hashable],
    ) -> None:
        self.number: dict[Any, int] = {}
        for node in nodes:
            self.number.setdefault(node, len(self.number))
        pairs: dict[tuple[int, int], None] = {}
        for at, edge in enumerate(edges):
            parent, child = _pair(edge, at)
            u = self.number.setdefault(parent, len(self.number))
            pairs[u, self.number.setdefault(child, len(self.number))] = None
        self.nodes: list[Any] = list(self.number)
        kept = np.array(list(pairs), np.int64).reshape(-1, 2)
        self.upper, self.lower = kept[:, 0], kept[:, 1]
        self._child = self.lower[np.lexsort((self.lower, self.upper))]
        self._child_start = _starts(self.upper, len(self.nodes))
        self._above = self.upper[np.argsort(self.lower, kind="stable")]
        self._above_start = _starts(self.lower, len(self.nodes))
        self.lineage = Lineage(self._first_parents())
        self._refuse_cycles()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            self.nodes == other.nodes
            and np.array_equal(self._above, other._above)
            and np.array_equal(self._above_start, other._above_start)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def leaves(self) -> Ints:
        """The numbers of the nodes without a child, increasing."""
        return np.flatnonzero(np.diff(self._child_start) == 0)

    def below(self, v: int) -> Ints:
        """The children of node ``v``, increasing."""
        return self._child[self._child_start[v] : self._child_start[v + 1]]

    def above(self, v: int) -> Ints:
        """The parents of node ``v``, in the order of the edges."""
        return self._above[self._above_start[v] : self._above_start[v + 1]]

    def _first_parents(self) -> Ints:
        parent = np.full(len(self.nodes), -1, np.int64)
        has = np.diff(self._above_start) > 0
        parent[has] = self._above[self._above_start[:-1][has]]
        return parent

    def _refuse_cycles(self) -> None:
        loops = self.upper == self.lower
        if loops.any():
            node = self.nodes[self.upper[np.argmax(loops)]]
            raise Mistake(f"edges: {node!r} is its own parent: remove this edge")
        is_forest = len(self.upper) == np.count_nonzero(self.lineage.parent >= 0)
        if is_forest and not len(self.lineage.loose):
            return
        stuck = self._stuck()
        if stuck.any():
            names = " → ".join(repr(node) for node in self._cycle(stuck))
            raise Mistake(f"edges: they form a cycle, {names}: remove one of them")

    def _stuck(self) -> Bools:
        """Nodes never reached when each waits for all its parents."""
        waiting = np.diff(self._above_start)
        free = np.flatnonzero(waiting == 0).tolist()
        reached = np.zeros(len(self.nodes), bool)
        while free:
            v = free.pop()
            reached[v] = True
            for child in self.below(v).tolist():
                waiting[child] -= 1
                if waiting[child] == 0:
                    free.append(child)
        return ~reached

    def _cycle(self, stuck: Bools) -> list[Any]:
        """Walk upwards among the stuck nodes until one is met again."""
        v = int(np.argmax(stuck))
        walk: list[int] = []
        while v not in walk:
            walk.append(v)
            parents = self.above(v)
            v = int(parents[stuck[parents]][0])
        return [self.nodes[u] for u in [*walk[walk.index(v) :], v][::-1]]


def _pair(edge: object, at: int) -> tuple[Any, Any]:
    if not isinstance(edge, tuple | list) or len(edge) != 2:
        raise Mistake(f"edges, number {at}: {edge!r} is not a (parent, child) pair")
    try:
        hash((edge[0], edge[1]))
    except TypeError:
        raise Mistake(
            f"edges, number {at}: {edge!r} has an end that cannot be hashed: use text, "
            "numbers or tuples as categories"
        ) from None
    return edge[0], edge[1]


def _starts(owner: Ints, count: int) -> Ints:
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=count), out=starts[1:])
    return starts
