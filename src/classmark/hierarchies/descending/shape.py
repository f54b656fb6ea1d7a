"""Shape: the inner nodes of a tree or graph in order, and where daughters lead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from classmark.arrays import Ints
from classmark.hierarchies.places import Places
from classmark.problems import Mistake


@dataclass(frozen=True, eq=False)
class Shape:
    """Inner nodes, all parents before their daughters, the root first.

    order : the node number (of ``Places``) of each inner node, shape (inner,);
    starts : inner node ``at`` has the daughters starts[at]:starts[at + 1];
    codes : where each leads, shape (edges,): to the leaf of that number, or, below 0,
        to inner node code + inner.
    """

    order: Ints
    starts: Ints
    codes: Ints

    def __len__(self) -> int:
        return len(self.order)

    @property
    def widest(self) -> int:
        """The most daughters a node has."""
        return int(np.diff(self.starts).max())


def shape_of(places: Places) -> Shape:
    """Put the inner nodes in order.

    >>> from classmark.hierarchies.places import places_of
    >>> from classmark.taxonomy.tree import Taxonomy
    >>> tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    >>> shape_of(places_of(tree, [1])).codes.tolist()
    [-1, 0, 1, 2]
    """
    order = _in_order(places)
    if not len(order):
        raise Mistake("the taxonomy has no inner category: there is nothing to choose")
    code = np.zeros(places.size, np.int64)
    code[places.leaves] = np.arange(len(places.leaves))
    code[order] = np.arange(len(order)) - len(order)
    below = [places.daughters(int(v)) for v in order]
    starts = np.cumsum([0, *map(len, below)]).astype(np.int64)
    return Shape(order, starts, code[np.concatenate(below)])


def _in_order(places: Places) -> Ints:
    """Inner nodes; each waits for all its parents."""
    waiting = np.zeros(places.size, np.int64)
    inner = places.inner
    for v in inner:
        waiting[places.daughters(int(v))] += 1
    order: list[int] = [int(places.root)] if len(inner) else []
    for v in order:
        below = places.daughters(v)
        waiting[below] -= 1
        order.extend(int(u) for u in below if not waiting[u])
    is_inner = np.zeros(places.size, bool)
    is_inner[inner] = True
    return np.array([v for v in order if is_inner[v]], np.int64)
