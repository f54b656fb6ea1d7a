"""Taxonomy: categories in a tree, or in a graph with a tree as its backbone.

Nodes are numbers 0 … n−1. ``parent[v]`` is −1 at a root; where there are several roots
they hang, for distances only, on one virtual root of number −1 and depth −1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Ints, bounds_of
from classmark.language import _
from classmark.problems import Mistake
from classmark.taxonomy.cycles import CyclicGraph, require_no_cycle


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
        numbers = np.arange(len(self), dtype=np.int64)
        jump = np.where(self.parent < 0, numbers, self.parent)
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
        gap = self.depths[first] - self.depths[second]
        deep = np.where(gap >= 0, first, second)
        high = np.where(gap >= 0, second, first)
        for bit, jump in enumerate(self.jumps):
            deep = np.where(abs(gap) >> bit & 1, jump[deep], deep)
        for jump in self.jumps[::-1]:
            apart = jump[deep] != jump[high]
            deep = np.where(apart, jump[deep], deep)
            high = np.where(apart, jump[high], high)
        return np.where(deep == high, deep, self.parent[deep])


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


FAR = np.iinfo(np.int64).max // 4


def path_distances(lineage: Lineage, us: ArrayLike, vs: ArrayLike) -> Ints:
    """Count the edges between each pair of nodes: d(u) + d(v) − 2 d(lca(u, v)).

    Nodes under different roots meet in the virtual root, one step above every root.

    >>> path_distances(Lineage(np.array([-1, 0, 0, 1])), [3, 3], [2, 3]).tolist()
    [3, 0]
    """
    common = lineage.common(us, vs)
    depth = lineage.depths
    top = np.where(common >= 0, depth[common], -1)
    distance: Ints = depth[np.asarray(us)] + depth[np.asarray(vs)] - 2 * top
    return distance


def nearest_distances(lineage: Lineage, sources: ArrayLike) -> Ints:
    """Count the edges from every node to the nearest of the sources, shape (n,).

    Two sweeps over the levels, up and then down, so O(n) whatever the sources. Without
    sources every distance is ``FAR``.

    >>> nearest_distances(Lineage(np.array([-1, 0, 0, 1])), [2]).tolist()
    [1, 2, 0, 3]
    """
    near = np.full(len(lineage), FAR, np.int64)
    near[np.asarray(sources, np.int64)] = 0
    parent, levels = lineage.parent, lineage.levels
    for level in levels[:0:-1]:
        np.minimum.at(near, parent[level], near[level] + 1)
    if levels:
        roots = levels[0]
        near[roots] = np.minimum(near[roots], near[roots].min() + 2)
    for level in levels[1:]:
        near[level] = np.minimum(near[level], near[parent[level]] + 1)
    return np.minimum(near, FAR)


@dataclass(frozen=True, slots=True)
class Dummy:
    """The leaf that stands for «in this inner category itself, and none below».

    >>> str(Dummy("Insects"))
    'Insects (general)'
    """

    of: Hashable

    def __str__(self) -> str:
        return f"{self.of} (general)"


class Taxonomy:
    """Categories and the categories above them.

    Nodes are any hashable values, numbered in the order of first appearance (``nodes``
    first, where given; it also holds categories without any edge). A category may have
    several parents; the **first** is its parent in the tree, the backbone that paths,
    depths and distances follow. Several roots are allowed: for distances they hang on
    one virtual root, which is no node and is never returned.

    >>> tree = Taxonomy([("all", "life"), ("all", "arts"), ("life", "bees")])
    >>> tree.leaves, tree.depth, tree.distance("bees", "arts")
    (['arts', 'bees'], 2, 3)
    """

    def __init__(
        self,
        edges: Iterable[tuple[Hashable, Hashable]],
        *,
        nodes: Iterable[Hashable] = (),
    ) -> None:
        number: dict[Any, int] = {}
        for node in nodes:
            number.setdefault(node, len(number))
        pairs: dict[tuple[int, int], None] = {}
        for at, edge in enumerate(edges):
            parent, child = _pair(edge, at)
            u = number.setdefault(parent, len(number))
            pairs[u, number.setdefault(child, len(number))] = None
        upper, lower = np.array(list(pairs), np.int64).reshape(-1, 2).T
        self._set(number, upper, lower)

    @classmethod
    def of_numbers(
        cls, nodes: Iterable[Any] | dict[Any, int], upper: Ints, lower: Ints
    ) -> Self:
        """A taxonomy of different nodes, its edges by number, each once: quickly made.

        nodes : in order of their numbers, or each with its number, in that order.

        >>> Taxonomy.of_numbers("ab", np.array([0]), np.array([1])).edges
        [('a', 'b')]
        """
        made = cls.__new__(cls)
        if not isinstance(nodes, dict):
            nodes = {node: at for at, node in enumerate(nodes)}
        made._set(nodes, upper, lower)  # noqa: SLF001 (its own kind)
        return made

    @property
    def number_of(self) -> Mapping[Any, int]:
        """Node → its number."""
        return self._number

    def _set(self, number: dict[Any, int], upper: Ints, lower: Ints) -> None:
        self._number, self._nodes = number, list(number)
        self._upper, self._lower = upper, lower
        self._child = lower[np.lexsort((lower, upper))]
        self._child_start = bounds_of(np.bincount(upper, minlength=len(self)))
        self._above = upper[np.argsort(lower, kind="stable")]
        self._above_start = bounds_of(np.bincount(lower, minlength=len(self)))
        first = np.full(len(self), -1, np.int64)
        has_parent = np.diff(self._above_start) > 0
        first[has_parent] = self._above[self._above_start[:-1][has_parent]]
        #: The tree as arrays: ``parent`` (−1 at a root), ``depths``, ``levels``.
        self.lineage = Lineage(first)
        self._refuse_cycles()

    def _refuse_cycles(self) -> None:
        loops = self._upper == self._lower
        if loops.any():
            node = self._nodes[self._upper[np.argmax(loops)]]
            raise CyclicGraph(
                _("edges: %(node)r is its own parent: remove this edge", node=node)
            )
        is_forest = len(self._upper) == np.count_nonzero(self.lineage.parent >= 0)
        if is_forest and not len(self.lineage.loose):
            return
        require_no_cycle(self._nodes, self._upper, self._lower)

    def _named(self, numbers: Iterable[Any]) -> list[Any]:
        return [self._nodes[v] for v in numbers]

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node: object) -> bool:
        return node in self._number

    def __iter__(self) -> Iterator[Any]:
        return iter(self._nodes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Taxonomy):
            return NotImplemented
        return (
            self._nodes == other._nodes
            and np.array_equal(self._above, other._above)
            and np.array_equal(self._above_start, other._above_start)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        leaves = len(self.leaf_numbers)
        return f"Taxonomy({len(self)} nodes, {leaves} leaves, depth {self.depth})"

    def number(self, node: Hashable) -> int:
        """The number of a node: its row in the arrays of ``lineage``."""
        try:
            return self._number[node]
        except KeyError:
            raise Mistake(
                f"{node!r} is not a category of this taxonomy: check its spelling, or "
                "add it with classmark.taxonomy.edits.add"
            ) from None

    def numbers(self, nodes: Iterable[Hashable]) -> Ints:
        """The numbers of several nodes."""
        return np.array([self.number(node) for node in nodes], np.int64)

    @property
    def nodes(self) -> list[Any]:
        """Every category, in the order of first appearance."""
        return list(self._nodes)

    @property
    def edges(self) -> list[tuple[Any, Any]]:
        """Every (parent, child) pair, once, in the order given."""
        ends = (self._named(self._upper), self._named(self._lower))
        return list(zip(*ends, strict=True))

    @property
    def edge_numbers(self) -> tuple[Ints, Ints]:
        """The number of the upper and of the lower end of every edge."""
        return self._upper, self._lower

    @property
    def roots(self) -> list[Any]:
        """The categories without a parent."""
        return self._named(np.flatnonzero(self.lineage.parent < 0))

    @property
    def leaf_numbers(self) -> Ints:
        """The numbers of the leaves, increasing."""
        return np.flatnonzero(np.diff(self._child_start) == 0)

    @property
    def leaves(self) -> list[Any]:
        """The categories without a child, in the order of first appearance."""
        return self._named(self.leaf_numbers)

    @property
    def depth(self) -> int:
        """Edges on the longest path from a root down."""
        return int(self.lineage.depths.max(initial=0))

    @property
    def levels(self) -> list[list[Any]]:
        """The categories of depth 0, of depth 1, …."""
        return [self._named(level) for level in self.lineage.levels]

    def below(self, number: int) -> Ints:
        """The numbers of the children of node ``number``, increasing."""
        return self._child[self._child_start[number] : self._child_start[number + 1]]

    def above(self, number: int) -> Ints:
        """The numbers of the parents of node ``number``, that of the tree first."""
        return self._above[self._above_start[number] : self._above_start[number + 1]]

    def is_leaf(self, node: Hashable) -> bool:
        """Whether nothing is below the node."""
        return not len(self.below(self.number(node)))

    def depth_of(self, node: Hashable) -> int:
        """Edges between the node and its root."""
        return int(self.lineage.depths[self.number(node)])

    def children(self, node: Hashable) -> list[Any]:
        """The categories right below the node, in the order of first appearance."""
        return self._named(self.below(self.number(node)))

    def parents(self, node: Hashable) -> list[Any]:
        """The categories right above the node, the one of the tree first."""
        return self._named(self.above(self.number(node)))

    def siblings(self, node: Hashable) -> list[Any]:
        """The other children of its parents; of a root, the other roots."""
        v = self.number(node)
        above = self.above(v)
        if not len(above):
            return [root for root in self.roots if root != node]
        near = np.unique(np.concatenate([self.below(u) for u in above]))
        return self._named(near[near != v])

    def path(self, node: Hashable) -> list[Any]:
        """The path from the root to the node, along first parents.

        >>> Taxonomy([("all", "life"), ("life", "bees")]).path("bees")
        ['all', 'life', 'bees']
        """
        path, v = [], self.number(node)
        while v >= 0:
            path.append(self._nodes[v])
            v = int(self.lineage.parent[v])
        return path[::-1]

    def ancestors(self, node: Hashable) -> list[Any]:
        """Every category above the node, over all parents, nearest first."""
        return self._reach(node, self.above)

    def descendants(self, node: Hashable) -> list[Any]:
        """Every category below the node, nearest first."""
        return self._reach(node, self.below)

    def _reach(self, node: Hashable, step: Callable[[int], Ints]) -> list[Any]:
        ring = step(self.number(node)).tolist()
        reached: dict[int, None] = {}
        while ring:
            reached.update(dict.fromkeys(ring))
            ring = [u for v in ring for u in step(v).tolist() if u not in reached]
            ring = list(dict.fromkeys(ring))
        return self._named(reached)

    def lowest_common_ancestor(self, u: Hashable, v: Hashable) -> Any:
        """The deepest category on both paths, or None under different roots.

        >>> Taxonomy([(1, 2), (1, 3), (2, 4)]).lowest_common_ancestor(4, 3)
        1
        """
        common = int(self.lineage.common(self.number(u), self.number(v)))
        return self._nodes[common] if common >= 0 else None

    def distance(self, u: Hashable, v: Hashable) -> int:
        """Edges on the path from ``u`` to ``v`` in the tree."""
        return int(path_distances(self.lineage, self.number(u), self.number(v)))

    def with_dummy_leaves(self, inner: Iterable[Hashable] | None = None) -> Taxonomy:
        """Give inner categories a leaf of their own, ``Dummy(category)``.

        inner : the categories; by default every inner one. Those that have one already,
        and leaves, stay as they are.

        >>> Taxonomy([("life", "bees")]).with_dummy_leaves().leaves
        ['bees', Dummy(of='life')]
        """
        chosen = self.nodes if inner is None else list(inner)
        fresh = [
            (node, Dummy(node))
            for node in chosen
            if not self.is_leaf(node) and Dummy(node) not in self
        ]
        return Taxonomy([*self.edges, *fresh], nodes=self.nodes)

    @cached_property
    def _edges_by_rank(self) -> list[tuple[Ints, Ints]]:
        """(upper, lower) of the edges, by the longest way from a root to the lower."""
        rank = np.zeros(len(self), np.int64)
        while True:
            further = rank.copy()
            np.maximum.at(further, self._lower, rank[self._upper] + 1)
            if np.array_equal(rank, further):
                break
            rank = further
        edge_rank = rank[self._lower]
        some = [edge_rank == at for at in range(1, int(rank.max(initial=0)) + 1)]
        return [(self._upper[mask], self._lower[mask]) for mask in some]

    def nearest(self, sources: ArrayLike) -> Ints:
        """Count the edges from every node to the nearest source, over all parents.

        A way leads up from one to a common ancestor, by any parents, and down to the
        other; in a tree these are the distances. Roots hang on the virtual root.
        sources : numbers of nodes;  shape (n,).

        >>> dag = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("b", 2), ("b", 1)])
        >>> int(dag.nearest(dag.numbers([1]))[dag.number(2)]), dag.distance(1, 2)
        (2, 4)
        """
        near = np.full(len(self), FAR, np.int64)
        near[np.asarray(sources, np.int64)] = 0
        for upper, lower in reversed(self._edges_by_rank):
            np.minimum.at(near, upper, near[lower] + 1)
        roots = self.lineage.parent < 0
        if roots.any():
            near[roots] = np.minimum(near[roots], near[roots].min() + 2)
        for upper, lower in self._edges_by_rank:
            np.minimum.at(near, lower, near[upper] + 1)
        return np.minimum(near, FAR)

    def preference_layers(
        self, correct: Iterable[Hashable], layers: int = 3
    ) -> list[list[Any]]:
        """Sort the leaves into layers, each to be ranked above the next.

        The first layer holds the correct leaves, the second their siblings, the next
        ones the leaves at each further distance from the nearest correct leaf, over all
        parents: edges up to a common ancestor and down again;
        from layer number ``layers`` on they are one layer, the last. A correct inner
        category that is not above another correct one is diverted to its dummy leaf,
        added where it is missing. A layer without leaves between others is empty, and
        without a correct category all are in the last. [DekelManningSinger03]

        >>> tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 3)])
        >>> tree.preference_layers([1])
        [[1], [2], [3]]
        """
        if layers < 2:
            raise Mistake(f"layers = {layers}: give 2 or more")
        answers, tree = list(correct), self
        self.numbers(answers)
        inner = [node for node in answers if not self.is_leaf(node)]
        if inner:
            covered = {above for node in answers for above in self.ancestors(node)}
            ends = [node for node in inner if node not in covered]
            leaves = [node for node in answers if self.is_leaf(node)]
            answers = [*leaves, *map(Dummy, ends)]
            tree = self.with_dummy_leaves(ends)
        numbers = tree.leaf_numbers
        near = tree.nearest(tree.numbers(answers))[numbers]
        further = np.unique(near[near > 2])
        layer = np.minimum(np.searchsorted(further, near) + 2, layers - 1)
        layer[near <= 2], layer[near == 0] = 1, 0
        if not answers:
            layer[:] = layers - 1
        count = int(layer.max(initial=0)) + 1
        return [tree._named(numbers[layer == at]) for at in range(count)]  # noqa: SLF001 (the same class)
