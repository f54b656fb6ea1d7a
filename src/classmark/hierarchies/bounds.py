"""How much can a strategy err, and what does it cost? Flat, top-down or in between."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Ints
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.hierarchies.places import Places


class Bound(NamedTuple):
    """The three terms of the bound on the error of a strategy, and their sum.

    empirical : (1/m) Σ A(g(x, y));  complexity : (8BRL/√m) Σ |D(v)|(|D(v)| − 1);
    confidence : 3 √(ln(2/δ) / 2m).
    """

    empirical: float
    complexity: float
    confidence: float

    @property
    def total(self) -> float:
        """The sum: the error is below it with probability 1 − δ."""
        return self.empirical + self.complexity + self.confidence


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


def bound(
    empirical: float,
    terms: float,
    documents: int,
    *,
    norm: float = 1.0,
    radius: float = 1.0,
    delta: float = 0.05,
) -> Bound:
    """Bound the error of a strategy, with probability 1 − δ [Babbar13].

    (1/m) Σ A(g(x, y)) + (8BRL/√m) Σ |D(v)|(|D(v)| − 1) + 3 √(ln(2/δ) / 2m)

    empirical : the mean of A over the m training documents, A(g) = min(1, max(0, 1 −
    g)), whose slope L is 1;  terms : the complexity;  norm : B, of all weights
    together;  radius : R, the longest document.

    >>> round(bound(0.2, 12, 100, norm=0.1).total, 3)
    1.567
    """
    if documents < 1 or not 0 < delta < 1:
        raise Mistake(
            f"documents = {documents}, delta = {delta}: give at least one document and "
            "a delta between 0 and 1"
        )
    return Bound(
        empirical,
        8 * norm * radius / sqrt(documents) * terms,
        3 * sqrt(log(2 / delta) / (2 * documents)),
    )


def parents_of(places: Places) -> Ints:
    """The parent of each node in the tree backbone, −1 at the root, shape (size,)."""
    parent = np.full(places.size, -1, np.int64)
    parent[: len(places.tree)] = places.tree.lineage.parent
    if places.root == len(places.tree):
        parent[places.roots] = places.root
    return parent


def branching_of(places: Places) -> Ints:
    """|D(v)| of each node, over all parents, 0 at leaves, shape (size,).

    A leaf below two nodes is scored at both, and counts at both.

    >>> from classmark.hierarchies.places import places_of
    >>> from classmark.taxonomy.tree import Taxonomy
    >>> branching_of(places_of(Taxonomy([("a", 1), ("a", 2), ("b", 2)]), [1])).tolist()
    [2, 0, 0, 1, 2]
    """
    return np.array([len(places.daughters(v)) for v in range(places.size)], np.int64)


def path_costs(places: Places) -> Ints:
    """How many daughters are scored on the way down to each leaf, shape (leaves,).

    Of several ways the one along the backbone. A flat strategy scores all K leaves.
    """
    parent, branching = parents_of(places), branching_of(places)
    node = places.leaves.copy()
    cost = np.zeros(len(node), np.int64)
    while (node >= 0).any():
        above = np.where(node >= 0, parent[node], -1)
        cost += np.where(above >= 0, branching[above], 0)
        node = above
    return cost
