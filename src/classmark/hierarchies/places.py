"""Places: where documents stand in a taxonomy, as arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Ints
from classmark.problems import Mistake
from classmark.sparse import Rows
from classmark.taxonomy.tree import Dummy, Taxonomy

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MANY = (list, set, frozenset, np.ndarray)


@dataclass(frozen=True, eq=False)
class Places:
    """Documents and the leaves they belong to.

    tree : the taxonomy; an inner category that has documents of its own has a dummy
        leaf for them.
    documents : Rows (n, leaves), value 1: leaf ``at`` is node ``leaves[at]``.

    The nodes are numbered as in ``tree``; where it has several roots, ``root`` is one
    number more, and its daughters are the roots.

    >>> tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    >>> places = places_of(tree, [1, "b", "a"])
    >>> places.classes
    ['b', 1, 2, Dummy(of='a')]
    >>> places.daughters(places.root).tolist()
    [1, 2]
    """

    tree: Taxonomy
    documents: Rows

    @cached_property
    def leaves(self) -> Ints:
        """Node number of each leaf, increasing, shape (leaves,)."""
        return self.tree.leaf_numbers

    @property
    def classes(self) -> list[Any]:
        """What each leaf is called; a dummy leaf is ``Dummy(category)``."""
        nodes = self.tree.nodes
        return [nodes[v] for v in self.leaves]

    @cached_property
    def named(self) -> list[Any]:
        """What each leaf is called in ``y``: a dummy leaf by its category."""
        return [c.of if isinstance(c, Dummy) else c for c in self.classes]

    @cached_property
    def roots(self) -> Ints:
        """The nodes without a parent."""
        return np.flatnonzero(self.tree.lineage.parent < 0)

    @property
    def root(self) -> int:
        """The number of the one root, or of the virtual one above several."""
        return int(self.roots[0]) if len(self.roots) == 1 else len(self.tree)

    @property
    def size(self) -> int:
        """How many nodes there are, a virtual root counted."""
        return max(len(self.tree), self.root + 1)

    def daughters(self, node: int) -> Ints:
        """The nodes right below one, increasing."""
        return self.roots if node == len(self.tree) else self.tree.below(node)

    @cached_property
    def inner(self) -> Ints:
        """Nodes with daughters, the root first, parents before their daughters."""
        order = [int(self.root)]
        seen = set(order)
        for v in order:
            below = [int(u) for u in self.daughters(v) if int(u) not in seen]
            seen.update(below)
            order.extend(below)
        return np.array([v for v in order if len(self.daughters(v))], np.int64)

    @cached_property
    def above(self) -> Rows:
        """1 where node v is leaf ``at`` or above it, over all parents.

        Shape (leaves, size).
        """
        leaves, nodes, found = np.arange(len(self.leaves)), self.leaves, []
        while len(leaves):
            found.append(leaves * self.size + nodes)
            leaves, nodes = self._one_up(leaves, nodes)
        cells = np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
        starts = np.searchsorted(cells, np.arange(len(self.leaves) + 1) * self.size)
        columns = (cells % self.size).astype(np.uint32)
        return Rows(starts, columns, np.ones(len(columns)), self.size)

    @cached_property
    def sizes(self) -> Ints:
        """How many documents each leaf has, shape (leaves,)."""
        return np.bincount(self.documents.columns, minlength=len(self.leaves))

    def nodes_of(self) -> csr_matrix:
        """1 where a document belongs to a node or below it, shape (n, size)."""
        found: csr_matrix = (self.documents.to_scipy() @ self.above.to_scipy()).tocsr()
        found.data[:] = 1.0
        return found

    def _one_up(self, leaves: Ints, nodes: Ints) -> tuple[Ints, Ints]:
        """Pairs of a leaf and a node above it become pairs with that node's parents."""
        starts, parents = self._parents
        many = starts[nodes + 1] - starts[nodes]
        first = np.repeat(starts[nodes] - np.cumsum(many) + many, many)
        leaves, nodes = np.repeat(leaves, many), parents[first + np.arange(len(first))]
        cells = np.unique(leaves * self.size + nodes)
        return cells // self.size, cells % self.size

    @cached_property
    def _parents(self) -> tuple[Ints, Ints]:
        """Node ``v`` has the parents starts[v]:starts[v + 1]."""
        tree, root = self.tree, np.array([self.root])
        lists = [tree.above(v) for v in range(len(tree))]
        if self.root == len(tree):
            lists = [line if len(line) else root for line in lists]
            lists.append(np.empty(0, np.int64))
        starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
        return starts, np.concatenate(lists).astype(np.int64)


def places_of(taxonomy: Taxonomy, y: Iterable[Any]) -> Places:
    """Read ``y``: for each document a category, or a list or set of categories.

    A tuple is a category where the taxonomy has it, else several categories. A document
    in an inner category gets that category's dummy leaf; one in nothing has no leaf.

    >>> tree = Taxonomy([("r", "a"), ("r", "b")])
    >>> places_of(tree, ["a", ["a", "b"], []]).documents.starts.tolist()
    [0, 1, 3, 3]
    """
    given = [_several(taxonomy, entry) for entry in _listed(y)]
    _require_known(taxonomy, given)
    used = dict.fromkeys(node for several in given for node in several)
    inner = [node for node in used if not taxonomy.is_leaf(node)]
    tree = taxonomy.with_dummy_leaves(inner) if inner else taxonomy
    position = {node: at for at, node in enumerate(tree.leaves)}
    for node in inner:
        position[node] = position[Dummy(node)]
    columns = [sorted({position[node] for node in several}) for several in given]
    starts = np.cumsum([0, *map(len, columns)]).astype(np.int64)
    flat = np.array([c for line in columns for c in line], np.uint32)
    rows = Rows(starts, flat, np.ones(len(flat)), len(tree.leaf_numbers))
    return Places(tree, rows)


def _listed(y: Iterable[Any]) -> list[Any]:
    return y.tolist() if isinstance(y, np.ndarray) else list(y)


def _several(taxonomy: Taxonomy, entry: Any) -> Sequence[Hashable]:
    if isinstance(entry, MANY):
        return list(entry)
    if isinstance(entry, tuple) and entry not in taxonomy:
        return entry
    return (entry,)


def _require_known(taxonomy: Taxonomy, given: list[Sequence[Hashable]]) -> None:
    for row, several in enumerate(given):
        for node in several:
            if node not in taxonomy:
                raise Mistake(
                    f"y, row {row}: {node!r} is not a category of the taxonomy: "
                    "check its spelling, or add it to the taxonomy"
                )
