"""Where documents stand in a taxonomy, and what each inner node learns from."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import (
    Array,
    Bools,
    Csr,
    Ints,
    Rows,
    bounds_of,
    distinct,
    ranges,
    rows_in,
    take,
)
from classmark.preferences.labels import NO_LABELS, label_column
from classmark.problems import Mistake
from classmark.storage import open_folder, save
from classmark.taxonomy.tree import Dummy, Taxonomy

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
    def parent(self) -> Ints:
        """The parent of each node in the tree backbone, −1 at the root, (size,)."""
        parent = np.full(self.size, -1, np.int64)
        parent[: len(self.tree)] = self.tree.lineage.parent
        if self.root == len(self.tree):
            parent[self.roots] = self.root
        return parent

    @cached_property
    def branching(self) -> Ints:
        """|D(v)| of each node, over all parents, 0 at leaves, shape (size,).

        A leaf below two nodes is scored at both, and counts at both.
        """
        return np.array([len(self.daughters(v)) for v in range(self.size)], np.int64)

    @cached_property
    def inner(self) -> Ints:
        """Nodes with daughters, the root first, all parents before their daughters."""
        waiting = np.zeros(self.size, np.int64)
        for v in range(self.size):
            waiting[self.daughters(v)] += 1
        order = [self.root] if self.size else []
        for v in order:
            below = self.daughters(v)
            waiting[below] -= 1
            order.extend(int(u) for u in below if not waiting[u])
        return np.array([v for v in order if self.branching[v]], np.int64)

    @cached_property
    def above(self) -> Rows:
        """1 where node v is leaf ``at`` or above it, over all parents.

        Shape (leaves, size).
        """
        parents = [self.tree.above(v) for v in range(len(self.tree))]
        if self.root == len(self.tree):
            root = np.array([self.root])
            parents = [line if len(line) else root for line in parents] + [root[:0]]
        many = np.array([len(line) for line in parents], np.int64)
        begins, flat = bounds_of(many), np.concatenate([*parents, self.leaves[:0]])
        leaves, nodes, cells = np.arange(len(self.leaves)), self.leaves, self.leaves[:0]
        while len(leaves):
            cells = distinct(np.append(cells, leaves * self.size + nodes))
            leaves = np.repeat(leaves, many[nodes])
            nodes = flat[ranges(begins[nodes], many[nodes])]
        starts = np.searchsorted(cells, np.arange(len(self.leaves) + 1) * self.size)
        columns = (cells % self.size).astype(np.uint32)
        return Rows(starts, columns, np.ones(len(columns)), self.size)

    @cached_property
    def sizes(self) -> Ints:
        """How many documents each leaf has, shape (leaves,)."""
        return np.bincount(self.documents.columns, minlength=len(self.leaves))

    def nodes_of(self) -> Csr:
        """1 where a document belongs to a node or below it, shape (n, size)."""
        membership: Csr = (self.documents.to_scipy() @ self.above.to_scipy()).tocsr()
        membership.data[:] = 1.0
        return membership


def ones_at(columns: Iterable[int], width: int) -> Any:
    """A row for each column, csr (columns, width), with a 1 there; none at −1."""
    lists = [[column] if column >= 0 else [] for column in columns]
    return rows_of_ones(lists, width).to_scipy()


def ancestors(nodes: Iterable[int], parents: Sequence[Ints]) -> Iterator[Csr]:
    """Nodes 1, 2, … edges above each of some nodes, by the nearest way.

    nodes : −1 has none;  parents : of each node, over all of which ways lead. Yields a
    matrix (nodes, all) for each distance.
    """
    one_up = rows_of_ones(parents, len(parents)).to_scipy()
    reached = ring = ones_at(nodes, len(parents))
    while ring.nnz:
        ring = ring @ one_up
        ring.data[:] = 1.0
        ring = ring - ring.multiply(reached)
        ring.eliminate_zeros()
        reached = reached + ring
        yield ring


def places_of(taxonomy: Taxonomy, y: Iterable[Any]) -> Places:
    """Read ``y``: for each document a category, or a list or set of categories.

    A tuple is a category where the taxonomy has it, else several categories. A document
    in an inner category gets that category's dummy leaf; one in nothing has no leaf.

    >>> tree = Taxonomy([("r", "a"), ("r", "b")])
    >>> places_of(tree, ["a", ["a", "b"], []]).documents.starts.tolist()
    [0, 1, 3, 3]
    """
    entries = listed(y)
    categories: list[Sequence[Any]] = [
        entry if isinstance(entry, tuple) and entry not in taxonomy else several
        for entry, several in zip(entries, categories_in(entries), strict=True)
    ]
    for row, several in enumerate(categories):
        for node in several:
            if node not in taxonomy:
                raise Mistake(
                    f"y, row {row}: {node!r} is not a category of the taxonomy: "
                    "check its spelling, or add it to the taxonomy"
                )
    used = dict.fromkeys(node for several in categories for node in several)
    inner = [node for node in used if not taxonomy.is_leaf(node)]
    tree = taxonomy.with_dummy_leaves(inner) if inner else taxonomy
    position = {node: at for at, node in enumerate(tree.leaves)}
    for node in inner:
        position[node] = position[Dummy(node)]
    columns = [sorted({position[node] for node in several}) for several in categories]
    return Places(tree, rows_of_ones(columns, len(tree.leaf_numbers)))


def among_labels(labels: Rows, predicted: Ints) -> Bools:
    """Whether the number predicted for each document is one of its labels, (n,).

    >>> from classmark.arrays import rows_from
    >>> among_labels(rows_from(np.eye(2)), np.array([1, 1])).tolist()
    [False, True]
    """
    document = np.repeat(np.arange(len(labels)), np.diff(labels.starts))
    hits = labels.columns == predicted[document]
    return np.bincount(document, hits, minlength=len(labels)) > 0


def categories_in(y: Iterable[Any]) -> list[list[Any]]:
    """The categories of each document; only lists, sets and arrays hold several.

    >>> categories_in(["a", ["a", "b"], ("x", 1)])
    [['a'], ['a', 'b'], [('x', 1)]]
    """
    return [list(entry) if isinstance(entry, MANY) else [entry] for entry in listed(y)]


def listed(y: Iterable[Any]) -> list[Any]:
    """The entry of ``y`` for each document, as a list."""
    if y is None:
        raise Mistake(f"y is None: give a list of categories. {NO_LABELS}")
    if hasattr(y, "__array__"):
        column = np.asarray(y)
        column = label_column(column) if column.dtype.kind == "f" else column
        return list(column.tolist())
    if isinstance(y, str) or not isinstance(y, Iterable):
        raise Mistake(f"y is {y!r}: give a list, for each document its categories")
    return list(y)


def as_given(names: list[Any], y: Any) -> Any:
    """Names of categories as an array where ``y`` came as one of names, else a list.

    >>> as_given(["a"], np.array(["a", "a"])), as_given(["a"], ["a", "a"])
    (array(['a'], dtype='<U1'), ['a'])
    """
    column = np.asarray(y) if hasattr(y, "__array__") else np.empty((0, 0))
    if column.ndim != 1 or any(isinstance(entry, MANY) for entry in column):
        return names
    array = np.array(names)
    return array if array.ndim == 1 else names


def flat_taxonomy(names: Iterable[Hashable]) -> Taxonomy:
    """All names below one root: the tree that stands for no tree.

    >>> flat_taxonomy(["a", "b"]).leaves
    ['a', 'b']
    """
    return Taxonomy([(Dummy("root"), name) for name in names])


def require_one_each(rows: int, entries: int) -> None:
    """Refuse documents and categories of different numbers."""
    if rows != entries:
        raise Mistake(f"X has {rows} rows, y {entries} entries: give one each")


def rows_of_ones(lists: Sequence[Any], width: int) -> Rows:
    """Rows with a 1 in each listed column; the columns of a row increase."""
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    columns = np.array([column for line in lists for column in line], np.uint32)
    return Rows(starts, columns, np.ones(len(columns)), width)


@dataclass(frozen=True, eq=False)
class Shape:
    """Inner nodes, all parents before their daughters, the root first.

    order : the node number (of ``Places``) of each inner node, shape (inner,);
    starts : inner node ``at`` has the daughters starts[at]:starts[at + 1];
    codes : where each leads, shape (edges,): to the leaf of that number, or, below 0,
        to inner node code + inner;  below : the node number of each, shape (edges,).
    """

    order: Ints
    starts: Ints
    codes: Ints
    below: Ints

    def __len__(self) -> int:
        return len(self.order)

    @property
    def widest(self) -> int:
        """The most daughters a node has."""
        return int(np.diff(self.starts).max())


def shape_of(places: Places) -> Shape:
    """Put the inner nodes in order.

    >>> tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    >>> shape_of(places_of(tree, [1])).codes.tolist()
    [-1, 0, 1, 2]
    """
    order = places.inner
    if not len(order):
        raise Mistake("the taxonomy has no inner category: there is nothing to choose")
    code = np.zeros(places.size, np.int64)
    code[places.leaves] = np.arange(len(places.leaves))
    code[order] = np.arange(len(order)) - len(order)
    starts = np.cumsum([0, *places.branching[order]]).astype(np.int64)
    below = np.concatenate([places.daughters(int(v)) for v in order])
    return Shape(order, starts, code[below], below)


def flat_shape(places: Places) -> Shape:
    """A root whose daughters are all leaves: the flat strategy."""
    count = len(places.leaves)
    root, starts = np.array([places.root]), np.array([0, count])
    return Shape(root, starts, np.arange(count), places.leaves)


FORMAT, VERSION = "classmark-lessons", 1
#: What one dense weight takes while a node learns, beside itself.
BESIDE = {"svm": 8, "logistic": 8 * 26, "naive-bayes": 8 * 4}
PER_DOCUMENT, PER_VALUE, PER_SPARSE_VALUE = 150, 40, 200


@dataclass(eq=False)
class Lessons:
    """The problem of each inner node, as arrays alone, in memory or mapped.

    rows : the documents (n, features);  first, member : the documents of node v or
    below it are member[first[v]:first[v + 1]], increasing;  order : the number of each
    inner node;  starts, below : inner node ``at`` has the daughters
    below[starts[at]:starts[at + 1]].
    """

    rows: Rows
    first: Array
    member: Array
    order: Array
    starts: Array
    below: Array

    def save(self, folder: Path) -> None:
        """Write a new folder; it appears whole or not at all."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        width = {"width": self.rows.width}
        save(folder, FORMAT, VERSION, arrays | self.rows.arrays("rows"), width)

    @staticmethod
    def open(folder: Path) -> Lessons:
        """Open a folder, once its checksums are compared; arrays are mapped."""
        saved = open_folder(folder, FORMAT, VERSION)
        plain = {name: each.view(np.ndarray) for name, each in saved.arrays.items()}
        rows = rows_in(plain, "rows", saved.settings["width"])
        return Lessons(rows, *(plain[name] for name in ARRAYS))

    @property
    def size_bytes(self) -> int:
        """What the arrays take."""
        arrays = [getattr(self, name) for name in ARRAYS]
        rows = self.rows.arrays("rows").values()
        return sum(array.nbytes for array in (*arrays, *rows))

    def members(self, node: int) -> Ints:
        """The documents of a node or below it, increasing."""
        return np.asarray(self.member[self.first[node] : self.first[node + 1]])

    @cached_property
    def values(self) -> Ints:
        """How many values the documents of each inner node have, shape (inner,)."""
        lengths = np.diff(self.rows.starts)
        sums = [int(lengths[self.members(int(v))].sum()) for v in self.order]
        return np.array(sums, np.int64)

    @cached_property
    def daughters(self) -> Ints:
        """How many daughters each inner node has, shape (inner,)."""
        return np.diff(self.starts)

    def documents(self, at: int) -> Rows:
        """The rows of an inner node's documents; of all documents: no copy."""
        chosen = self.members(int(self.order[at]))
        return self.rows if len(chosen) == len(self.rows) else take(self.rows, chosen)

    def owners(self, at: int) -> Rows:
        """1 where a document of the node belongs to its daughter j, shape (n, d)."""
        chosen = self.members(int(self.order[at]))
        daughters = self.below[self.starts[at] : self.starts[at + 1]]
        lists = [self.members(int(u)) for u in daughters]
        place = np.searchsorted(chosen, np.concatenate(lists))
        owner = np.repeat(np.arange(len(lists)), [len(members) for members in lists])
        starts = bounds_of(np.bincount(place, minlength=len(chosen)))
        columns = owner[np.argsort(place, kind="stable")].astype(np.uint32)
        return Rows(starts, columns, np.ones(len(columns), np.float32), len(lists))

    def need(
        self, at: int, base: str, *, m: int | None = None, sparse: bool = False
    ) -> float:
        """Bytes that learning takes beside the documents, by a cautious estimate.

        m : how many features are used; without it, as many as there can be.
        """
        values, size = int(self.values[at]), self.rows.values.itemsize
        count = len(self.members(int(self.order[at])))
        if sparse:
            return float(count * PER_DOCUMENT + values * PER_SPARSE_VALUE)
        m, d = min(self.rows.width, values) if m is None else m, self.daughters[at]
        fixed = count * PER_DOCUMENT + values * PER_VALUE
        return float(fixed + m * d * (size + BESIDE[base]))

    def features(self, at: int) -> int:
        """How many features the documents of an inner node use."""
        used = np.zeros(self.rows.width, bool)
        used[self.documents(at).columns] = True
        return int(np.count_nonzero(used))


ARRAYS = ("first", "member", "order", "starts", "below")


class Nodes(Lessons):
    """The lessons of a tree's inner nodes, and the tree they are of."""

    def __init__(self, rows: Rows, places: Places, shape: Shape) -> None:
        members: Any = places.nodes_of().tocsc()
        members.sort_indices()
        tree = shape.order, shape.starts, shape.below
        super().__init__(rows, members.indptr, members.indices, *tree)
        self.places, self.shape = places, shape

    def name(self, at: int) -> str:
        """What an inner node is called, in a message."""
        names, node = self.places.tree.nodes, int(self.order[at])
        return repr(names[node]) if node < len(names) else "above all roots"


def numbered(y: Iterable[Any], classes: Sequence[Hashable]) -> Rows:
    """The classes of each document as Rows (n, classes), value 1.

    >>> numbered(["b", ["a", "b"]], ["a", "b"]).columns.tolist()
    [1, 0, 1]
    """
    place = {name: at for at, name in enumerate(classes)}
    columns = []
    for row, names in enumerate(categories_in(y)):
        unknown = [name for name in names if name not in place]
        if unknown:
            raise Mistake(
                f"y, row {row}: {unknown[0]!r} is not one of the classes: check its "
                "spelling; several classes of a document are a list"
            )
        columns.append(sorted({place[name] for name in names}))
    return rows_of_ones(columns, len(classes))


def complexity(branching: ArrayLike) -> int:
    """Σ over inner nodes of |D(v)|(|D(v)| − 1), D(v) the daughters [Babbar13].

    branching : |D(v)| of each inner node. A flat strategy has one, with K daughters.

    >>> complexity([3, 2]), complexity([4])
    (8, 12)
    """
    daughters = np.asarray(branching, np.int64)
    return int((daughters * (daughters - 1)).sum())


def complexity_ratio(branching: ArrayLike, leaves: int) -> float:
    """Complexity of a tree over that of the flat strategy, K(K − 1) [Babbar13].

    >>> round(complexity_ratio([3, 2], 4), 3)
    0.667
    """
    flat = complexity([leaves])
    return complexity(branching) / flat if flat else 1.0
