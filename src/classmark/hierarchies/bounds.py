"""How much can a strategy err, what does it cost, and how do sizes fall with rank?"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.hierarchies.places import Places
from classmark.problems import Mistake
from classmark.sparse import Rows


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
    parent, branching = places.parent, branching_of(places)
    node = places.leaves.copy()
    cost = np.zeros(len(node), np.int64)
    while (node >= 0).any():
        node = np.where(node >= 0, parent[node], -1)
        cost += np.where(node >= 0, branching[node], 0)
    return cost


FEWEST = 3  # ranks that a fit needs


class PowerLaw(NamedTuple):
    """``head · rank^−exponent``; fit : r² of the line through the logarithms."""

    head: float
    exponent: float
    fit: float
    ranks: int

    def at(self, ranks: ArrayLike) -> Floats:
        """What the law foretells at these ranks, counted from 1."""
        return np.asarray(
            self.head * np.asarray(ranks, np.float64) ** -self.exponent, np.float64
        )


def power_law(values: ArrayLike) -> PowerLaw | None:
    """Fit a power law to values by rank; None for fewer than three above 0.

    Least squares on (ln rank, ln value), the largest value at rank 1 [BabbarMetzig14].

    >>> law = power_law([100.0, 25.0, 100 / 9, 6.25])
    >>> round(law.head, 6), round(law.exponent, 6), round(law.fit, 6)
    (100.0, 2.0, 1.0)
    """
    sizes = np.sort(np.asarray(values, np.float64))[::-1]
    sizes = sizes[sizes > 0]
    if len(sizes) < FEWEST:
        return None
    x, y = np.log(np.arange(1, len(sizes) + 1)), np.log(sizes)
    slope, shift = np.polyfit(x, y, 1)
    spread = float(((y - y.mean()) ** 2).sum())
    left = float(((y - shift - slope * x) ** 2).sum())
    fit = 1.0 - left / spread if spread > 1e-12 else 1.0
    return PowerLaw(float(np.exp(shift)), float(-slope), fit, len(sizes))


class Condition(NamedTuple):
    """What the theory asks for a smaller top-down model, and whether it is met.

    inequality : the condition with its numbers.
    """

    holds: bool
    inequality: str


def nabla(leaves: int, branching: int, levels: int) -> float:
    """K / (K − b(L − 1)); infinite where b(L − 1) reaches K [BabbarMetzig14].

    levels : L, edges from the root down to the deepest leaf.

    >>> round(nabla(12_294, 344, 5), 3)
    1.126
    """
    rest = leaves - branching * (levels - 1)
    return leaves / rest if rest > 0 else inf


def condition(exponent: float, leaves: int, branching: int, levels: int) -> Condition:
    """Whether Size_hier < Size_flat is proven for this β, K, b and L [BabbarMetzig14].

    β > 1: β > K / (K − b(L − 1));
    0 < β < 1: (b^((L−1)(1−β)) − 1) / (b^(1−β) − 1) < K (1 − β) / b.

    >>> condition(1.62, 12_294, 344, 5).holds, condition(0.5, 451, 34, 3).holds
    (True, False)
    """
    K, b, L, beta = leaves, branching, levels, exponent
    if beta > 1:
        limit = nabla(K, b, L)
        return Condition(beta > limit, f"β = {beta:.2f} > K/(K − b(L−1)) = {limit:.2f}")
    if not 0 < beta < 1 or b < 2:
        return Condition(
            False, f"β = {beta:.2f}, b = {b}: β in (0, 1) or above 1, b ≥ 2"
        )
    rest = 1 - beta
    left = (b ** ((L - 1) * rest) - 1) / (b**rest - 1)
    right = rest / b * K
    inequality = (
        f"(b^((L−1)(1−β)) − 1)/(b^(1−β) − 1) = {left:.1f} < (1−β)K/b = {right:.1f}"
    )
    return Condition(left < right, f"β = {beta:.2f}: {inequality}")


@dataclass(frozen=True, eq=False)
class Shape:
    """A taxonomy with its documents, as the sizes of models see it.

    features : how many each node's documents have, shape (size,);
    branching : |D(v)|;  depth : of each node along the backbone, the root's is 0;
    width : features in use altogether;  leaves : K.
    """

    features: Ints
    branching: Ints
    depth: Ints
    width: int
    leaves: int

    @property
    def levels(self) -> int:
        """L: edges down to the deepest leaf."""
        return int(self.depth.max(initial=0))

    def inner_at(self, level: int) -> Ints:
        """The inner nodes of a level, the one with most features first."""
        nodes = np.flatnonzero((self.depth == level) & (self.branching > 0))
        return nodes[np.argsort(-self.features[nodes], kind="stable")]

    @property
    def laws(self) -> dict[int, PowerLaw]:
        """d_r ≈ d_1 r^−β, the features of a level's inner nodes, where enough are."""
        levels = range(self.levels)
        laws = {at: power_law(self.features[self.inner_at(at)]) for at in levels}
        return {level: law for level, law in laws.items() if law is not None}

    @property
    def exponent(self) -> float | None:
        """β: the least exponent of a level; None where no level has enough nodes."""
        return min((law.exponent for law in self.laws.values()), default=None)

    @property
    def top_down_size(self) -> int:
        """Σ over inner nodes of daughters × features: weights of the top-down model."""
        return int((self.branching * self.features).sum())

    @property
    def flat_size(self) -> int:
        """K × features: weights of the flat model."""
        return self.leaves * self.width

    def foretold_size(self) -> float:
        """Σ_l Σ_r b_{l,r} d_{l,1} r^−β_l; levels without a law count as they are."""
        laws, total = self.laws, 0.0
        for level in range(self.levels):
            nodes = self.inner_at(level)
            features: ArrayLike = self.features[nodes]
            if level in laws:
                features = laws[level].at(np.arange(1, len(nodes) + 1))
            total += float((self.branching[nodes] * np.asarray(features)).sum())
        return total


def shape_of(places: Places, rows: Rows) -> Shape:
    """Count the features of each node's documents; each document counts at all above.

    rows : the documents, one row each, features as columns.
    """
    present = rows.to_scipy().astype(bool)
    nodes = places.nodes_of().T.tocsr()
    features = np.zeros(places.size, np.int64)
    for v in range(places.size):
        documents = nodes.indices[nodes.indptr[v] : nodes.indptr[v + 1]]
        if len(documents):
            features[v] = len(np.unique(present[documents].indices))
    depth = places.tree.lineage.depths
    if places.root == len(places.tree):
        depth = np.append(depth + 1, 0)
    width = len(np.unique(rows.columns))
    return Shape(features, branching_of(places), depth, width, len(places.leaves))
