"""Taxonomy: categories in a tree, or in a graph with a tree as its backbone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Ints
from classmark.problems import Mistake
from classmark.taxonomy.distances import nearest_distances, path_distances
from classmark.taxonomy.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from classmark.taxonomy.lineage import Lineage


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
        self._graph = Graph(edges, nodes)

    def _named(self, numbers: Iterable[Any]) -> list[Any]:
        return [self._graph.nodes[v] for v in numbers]

    def __len__(self) -> int:
        return len(self._graph.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self._graph.number

    def __iter__(self) -> Iterator[Any]:
        return iter(self._graph.nodes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Taxonomy):
            return NotImplemented
        return self._graph == other._graph

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        leaves = len(self.leaf_numbers)
        return f"Taxonomy({len(self)} nodes, {leaves} leaves, depth {self.depth})"

    def number(self, node: Hashable) -> int:
        """The number of a node: its row in the arrays of ``lineage``."""
        try:
            return self._graph.number[node]
        except KeyError:
            raise Mistake(
                f"{node!r} is not a category of this taxonomy: check its spelling, or "
                "add it with classmark.taxonomy.edits.add"
            ) from None

    def numbers(self, nodes: Iterable[Hashable]) -> Ints:
        """The numbers of several nodes."""
        return np.array([self.number(node) for node in nodes], np.int64)

    @property
    def lineage(self) -> Lineage:
        """The tree as arrays: ``parent`` (−1 at a root), ``depths``, ``levels``."""
        return self._graph.lineage

    @property
    def nodes(self) -> list[Any]:
        """Every category, in the order of first appearance."""
        return list(self._graph.nodes)

    @property
    def edges(self) -> list[tuple[Any, Any]]:
        """Every (parent, child) pair, once, in the order given."""
        upper, lower = self._graph.upper, self._graph.lower
        return list(zip(self._named(upper), self._named(lower), strict=True))

    @property
    def roots(self) -> list[Any]:
        """The categories without a parent."""
        return self._named(np.flatnonzero(self.lineage.parent < 0))

    @property
    def leaf_numbers(self) -> Ints:
        """The numbers of the leaves, increasing."""
        return self._graph.leaves

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
        return self._graph.below(number)

    def above(self, number: int) -> Ints:
        """The numbers of the parents of node ``number``, that of the tree first."""
        return self._graph.above(number)

    def is_leaf(self, node: Hashable) -> bool:
        """Whether nothing is below the node."""
        return not len(self._graph.below(self.number(node)))

    def depth_of(self, node: Hashable) -> int:
        """Edges between the node and its root."""
        return int(self.lineage.depths[self.number(node)])

    def children(self, node: Hashable) -> list[Any]:
        """The categories right below the node, in the order of first appearance."""
        return self._named(self._graph.below(self.number(node)))

    def parents(self, node: Hashable) -> list[Any]:
        """The categories right above the node, the one of the tree first."""
        return self._named(self._graph.above(self.number(node)))

    def siblings(self, node: Hashable) -> list[Any]:
        """The other children of its parents; of a root, the other roots."""
        v = self.number(node)
        above = self._graph.above(v)
        if not len(above):
            return [root for root in self.roots if root != node]
        near = np.unique(np.concatenate([self._graph.below(u) for u in above]))
        return self._named(near[near != v])

    def path(self, node: Hashable) -> list[Any]:
        """The way from the root to the node, along first parents.

        >>> Taxonomy([("all", "life"), ("life", "bees")]).path("bees")
        ['all', 'life', 'bees']
        """
        way, v = [], self.number(node)
        while v >= 0:
            way.append(self._graph.nodes[v])
            v = int(self.lineage.parent[v])
        return way[::-1]

    def ancestors(self, node: Hashable) -> list[Any]:
        """Every category above the node, over all parents, nearest first."""
        return self._reach(node, self._graph.above)

    def descendants(self, node: Hashable) -> list[Any]:
        """Every category below the node, nearest first."""
        return self._reach(node, self._graph.below)

    def _reach(self, node: Hashable, step: Callable[[int], Ints]) -> list[Any]:
        ring = step(self.number(node)).tolist()
        found: dict[int, None] = {}
        while ring:
            found.update(dict.fromkeys(ring))
            ring = [u for v in ring for u in step(v).tolist() if u not in found]
            ring = list(dict.fromkeys(ring))
        return self._named(found)

    def lowest_common_ancestor(self, u: Hashable, v: Hashable) -> Any:
        """The deepest category on both paths, or None under different roots.

        >>> Taxonomy([(1, 2), (1, 3), (2, 4)]).lowest_common_ancestor(4, 3)
        1
        """
        common = int(self.lineage.common(self.number(u), self.number(v)))
        return self._graph.nodes[common] if common >= 0 else None

    def distance(self, u: Hashable, v: Hashable) -> int:
        """Edges on the way from ``u`` to ``v`` in the tree."""
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

    def preference_layers(
        self, correct: Iterable[Hashable], layers: int = 3
    ) -> list[list[Any]]:
        """Sort the leaves into layers, each to be ranked above the next.

        The first layer holds the correct leaves, the second their siblings, the next
        ones the leaves at each further tree distance from the nearest correct leaf;
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
        answers, tree = self._diverted(list(correct))
        leaves = tree.leaf_numbers
        near = nearest_distances(tree.lineage, tree.numbers(answers))[leaves]
        layer = _layer_of(near, layers)
        if not answers:
            layer[:] = layers - 1
        count = int(layer.max(initial=0)) + 1
        return [tree._named(leaves[layer == at]) for at in range(count)]  # noqa: SLF001 (the same class)

    def _diverted(self, correct: list[Hashable]) -> tuple[list[Any], Taxonomy]:
        for node in correct:
            self.number(node)
        inner = [node for node in correct if not self.is_leaf(node)]
        if not inner:
            return correct, self
        covered = {above for node in correct for above in self.ancestors(node)}
        ends = [node for node in inner if node not in covered]
        leaves = [node for node in correct if self.is_leaf(node)]
        return [*leaves, *map(Dummy, ends)], self.with_dummy_leaves(ends)


def _layer_of(near: Ints, layers: int) -> Ints:
    """Number the layers: 0 at distance 0, 1 at distance 2, then each greater one."""
    further = np.unique(near[near > 2])
    layer = np.searchsorted(further, near) + 2
    layer[near <= 2] = 1
    layer[near == 0] = 0
    return np.minimum(layer, layers - 1)
