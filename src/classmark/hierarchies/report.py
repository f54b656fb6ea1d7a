"""What is this taxonomy like, and which strategy does the theory favour?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Bools, Ints, Rows, distinct, rows_from, take
from classmark.corpus.documents import train_test
from classmark.corpus.power_laws import PowerLaw, power_law
from classmark.hierarchies.held_out import (
    CENTROIDS,
    Bound,
    NodeBound,
    NodeLearner,
    TrialTree,
    node_bounds,
)
from classmark.hierarchies.places import (
    Nodes,
    Places,
    Shape,
    among_labels,
    complexity_ratio,
    flat_shape,
    places_of,
    require_one_each,
    shape_of,
)
from classmark.language import N_, _, decimal, general, percent, whole
from classmark.measures.significance import Outcome, sign_test
from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy
from classmark.validation import generator


def path_costs(places: Places) -> Ints:
    """How many daughters are scored on the way down to each leaf, shape (leaves,).

    Of several ways the one along the backbone. A flat strategy scores all K leaves.
    """
    parent, branching = places.parent, places.branching
    node = places.leaves.copy()
    cost = np.zeros(len(node), np.int64)
    while (node >= 0).any():
        node = np.where(node >= 0, parent[node], -1)
        cost += np.where(node >= 0, branching[node], 0)
    return cost


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
class FeatureCounts:
    """A taxonomy with its documents, as the sizes of models see it.

    features : how many each node's documents have, shape (size,);  depth : of each node
    along the backbone, the root's is 0;  width : features in use altogether.
    """

    places: Places
    features: Ints
    depth: Ints
    width: int

    @property
    def levels(self) -> int:
        """L: edges down to the deepest leaf."""
        return int(self.depth.max(initial=0))

    def inner_at(self, level: int) -> Ints:
        """The inner nodes of a level, the one with most features first."""
        nodes = np.flatnonzero((self.depth == level) & (self.places.branching > 0))
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
        return int((self.places.branching * self.features).sum())

    @property
    def flat_size(self) -> int:
        """K × features: weights of the flat model."""
        return len(self.places.leaves) * self.width

    def foretold_size(self) -> float:
        """Σ_l Σ_r b_{l,r} d_{l,1} r^−β_l; levels without a law count as they are."""
        laws, total = self.laws, 0.0
        for level in range(self.levels):
            nodes = self.inner_at(level)
            features: ArrayLike = self.features[nodes]
            if level in laws:
                features = laws[level].at(np.arange(1, len(nodes) + 1))
            branching = self.places.branching[nodes]
            total += float((branching * np.asarray(features)).sum())
        return total


def feature_counts(places: Places, rows: Rows) -> FeatureCounts:
    """Count the features of each node's documents; each document counts at all above.

    rows : the documents, one row each, features as columns.
    """
    present = rows.to_scipy().astype(bool)
    nodes = places.nodes_of().T.tocsr()
    features = np.zeros(places.size, np.int64)
    for v in range(places.size):
        documents = nodes.indices[nodes.indptr[v] : nodes.indptr[v + 1]]
        if len(documents):
            features[v] = len(distinct(present[documents].indices))
    depth = places.tree.lineage.depths
    if places.root == len(places.tree):
        depth = np.append(depth + 1, 0)
    width = len(distinct(rows.columns))
    return FeatureCounts(places, features, depth, width)


HELD_OUT = 0.25
MOST = 20_000  # documents looked at
ROOM = 1 << 30  # bytes that flat weights may take; beyond it centroids are compared
MEANT = 3  # documents that are worth a comparison


@dataclass(frozen=True, eq=False)
class Tried:
    """The errors of one strategy, and the bound on them.

    error : share of the training documents that are put wrong, g ≤ 0;  right : whether
    each document held out came to a leaf of its own;  bound : on its error.
    """

    error: float
    right: Bools
    bound: Bound

    @property
    def held_out(self) -> float:
        """Share of the documents held out that came to a leaf not theirs."""
        return float(1.0 - self.right.mean())


@dataclass(frozen=True, eq=False)
class StrategyComparison:
    """Both strategies on the same documents.

    base : what learned at the nodes;  trained, tested : documents.
    """

    flat: Tried
    top_down: Tried
    base: str
    trained: int
    tested: int

    @property
    def ratio(self) -> float:
        """Errors of the top-down strategy over those of flat, on documents held out."""
        return _ratio(self.top_down.held_out, self.flat.held_out)

    @property
    def chance(self) -> Outcome:
        """Sign test over the documents held out: is top-down right more often?"""
        return sign_test(self.top_down.right, self.flat.right)


def _ratio(above: float, below: float) -> float:
    if below == 0:
        return 1.0 if above == 0 else np.inf
    return above / below


def compare(
    places: Places, X: Any, learner: NodeLearner | None = None, seed: int = 0
) -> StrategyComparison:
    """Train both on three quarters of the documents and try them on the others.

    A document with several leaves is right at any of them; at most 20,000 documents,
    drawn at random, are looked at. Where flat weights would take over 1 GB, unit
    centroids take the place of the learner, for both strategies.
    """
    learner, rows = learner or NodeLearner(), rows_from(X)
    placed = np.flatnonzero(np.diff(places.documents.starts))
    if len(placed) < MEANT:
        raise Mistake(
            f"y: {len(placed)} documents have a category: give at least {MEANT}"
        )
    if len(placed) > MOST:
        placed = np.sort(generator(seed).permutation(placed)[:MOST])
    parts = train_test(len(placed), HELD_OUT, seed)
    learn, ask = (take(rows, placed[part]) for part in parts)
    taught, truth = (take(places.documents, placed[part]) for part in parts)
    size = rows.values.itemsize * len(distinct(learn.columns)) * len(places.leaves)
    if size > ROOM:
        learner = NodeLearner(CENTROIDS)

    def tried(shape: Shape) -> Tried:
        tree = TrialTree(Nodes(learn, Places(places.tree, taught), shape), learner)
        g, right = tree.margins(), among_labels(truth, tree.leaves(ask))
        return Tried(float((g <= 0).mean()), right, tree.bound(g))

    flat, top_down = tried(flat_shape(places)), tried(shape_of(places))
    return StrategyComparison(flat, top_down, learner.base, len(learn), len(ask))


WORDS = {
    "nodes": "categories",
    "leaves": "leaves, K",
    "depth": "depth",
    "roots": "roots",
    "mean_branching": "daughters, mean",
    "max_branching": "daughters, most",
    "single_daughters": "nodes with a single daughter",
    "documents": "documents",
    "features": "features",
    "empty_leaves": "leaves without documents",
    "rare_leaves": "share of leaves with at most 10 documents",
    "complexity_ratio": "complexity, top-down / flat",
    "base": "learner at the nodes",
    "error_flat": "held-out error, flat",
    "error_top_down": "held-out error, top-down",
    "error_ratio": "held-out error, top-down / flat",
    "chance": "p of the difference (sign test)",
    "training_error_flat": "training error, flat",
    "training_error_top_down": "training error, top-down",
    "bound_flat": "bound on the error, flat",
    "bound_top_down": "bound on the error, top-down",
    "class_sizes": "documents of a leaf by rank",
    "feature_laws": "features of a node by rank",
    "beta": "β, the least of all levels",
    "b": "b, most daughters",
    "L": "L, levels",
    "condition": "proven smaller if",
    "condition_holds": "condition met",
    "size_flat": "weights, flat",
    "size_top_down": "weights, top-down",
    "size_top_down_foretold": "weights, top-down, foretold",
    "cost_flat": "scores per document, flat",
    "cost_top_down": "scores per document, top-down",
    "strategy": "favoured",
    "why": "why",
}


def _plain_value(name: str, value: Any) -> Any:
    if name.startswith("bound_"):
        return f"{value.meaning}: {value.terms}"
    if name == "class_sizes":
        return f"{value.head:.1f} · rank^−{value.exponent:.2f} (r² {value.fit:.2f})"
    if name == "feature_laws":
        laws = (f"level {at}: β {law.exponent:.2f}" for at, law in value.items())
        return ", ".join(laws) or "too few nodes"
    if name == "size_top_down_foretold":
        return round(value)
    return ("yes" if value else "no") if isinstance(value, bool) else value


RARE = 10
SURE = 0.05
MEMORY = 4e9
BYTES = 8
FEWEST = 8  # documents with a category, below which nothing is held out


@dataclass(frozen=True, eq=False)
class TaxonomyReport:
    """A taxonomy in figures; None stands where documents are needed and missing.

    complexity_ratio : Σ |D(v)|(|D(v)| − 1) over K(K − 1);  error_ratio : errors of the
    top-down strategy over those of flat on documents held out, ``training_error_ratio``
    the same on training documents;  error_flat, error_top_down, chance : the held-out
    errors and the p of a sign test between them;  training_error_flat,
    training_error_top_down : errors on the training documents;
    base : what learned at the nodes;
    bound_flat, bound_top_down : the three terms of the bound;  node_bounds : the second
    theorem at each inner node, at ε = 1;  beta, b, L : exponent of features by rank
    (the least of all levels), largest number of daughters, levels;
    condition, condition_holds : what proves the top-down model to be smaller;
    size_* : weights;  cost_* : scores computed for one document;  class_sizes,
    feature_laws : the power laws fitted;  strategy, why : what is favoured.

    A category with several parents counts as a daughter of each, as the classifiers
    are built; costs and levels follow the tree backbone. One with documents of its own
    above others counts as a leaf more. Every field is also found by ``report["beta"]``.
    """

    nodes: int
    leaves: int
    depth: int
    roots: int
    mean_branching: float
    max_branching: int
    single_daughters: int
    complexity_ratio: float
    cost_flat: int
    cost_top_down: float
    documents: int | None = None
    features: int | None = None
    empty_leaves: int | None = None
    rare_leaves: float | None = None
    class_sizes: PowerLaw | None = None
    feature_laws: dict[int, PowerLaw] | None = None
    beta: float | None = None
    b: int | None = None
    L: int | None = None
    condition: str | None = None
    condition_holds: bool | None = None
    size_flat: int | None = None
    size_top_down: int | None = None
    size_top_down_foretold: float | None = None
    base: str | None = None
    error_flat: float | None = None
    error_top_down: float | None = None
    error_ratio: float | None = None
    training_error_flat: float | None = None
    training_error_top_down: float | None = None
    training_error_ratio: float | None = None
    chance: float | None = None
    bound_flat: Bound | None = None
    bound_top_down: Bound | None = None
    node_bounds: tuple[NodeBound, ...] | None = None
    strategy: str | None = None
    why: str = ""

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]

    def keys(self) -> list[str]:
        """The names of the figures."""
        return list(vars(self))

    def rows(self) -> list[dict[str, Any]]:
        """Each figure that is known, as {what, value}, in words and plain numbers."""
        return [
            {"what": label, "value": _plain_value(name, self[name])}
            for name, label in WORDS.items()
            if self[name] is not None and self[name] != ""
        ]


def taxonomy_report(
    taxonomy: Taxonomy, X: Any = None, y: Iterable[Any] | None = None
) -> TaxonomyReport:
    """Say what a taxonomy is like and which strategy the theory favours.

    X, y : documents and their categories, as for a classifier; without them only the
    tree is described. Two linear SVMs, flat and top-down, are trained on three quarters
    of the documents and tried on the others [Babbar13] [BabbarMetzig14].

    >>> report = taxonomy_report(Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)]))
    >>> report.leaves, round(report["complexity_ratio"], 3), report.cost_top_down
    (3, 0.667, 3.3333333333333335)
    """
    if (X is None) != (y is None):
        raise Mistake("X and y: give both, or neither to see the tree alone")
    places = places_of(taxonomy, [] if y is None else y)
    figures = _of_tree(taxonomy, places)
    if X is None:
        return TaxonomyReport(
            **figures, why=_("documents are needed to choose a strategy")
        )
    rows = rows_from(X)
    require_one_each(len(rows), len(places.documents))
    figures |= _of_documents(places, rows)
    if len(places.leaves) < 2 or len(places.inner) < 2:
        same = ONE_LEAF if len(places.leaves) < 2 else NO_LEVELS
        return TaxonomyReport(**figures, why=_(same))
    if np.diff(places.documents.starts).astype(np.bool_).sum() < FEWEST:
        few = _("fewer than %(n)s documents have a category: too few to test", n=FEWEST)
        return TaxonomyReport(**figures, why=few)
    compared = compare(places, rows)
    flat, top_down = compared.flat, compared.top_down
    for name, tried in (("flat", flat), ("top_down", top_down)):
        figures[f"error_{name}"], figures[f"bound_{name}"] = tried.held_out, tried.bound
        figures[f"training_error_{name}"] = tried.error
    ratios = {
        "error_ratio": compared.ratio,
        "training_error_ratio": _ratio(top_down.error, flat.error),
    }
    figures |= ratios | {"base": compared.base, "chance": compared.chance.p_value}
    sizes = figures["complexity_ratio"], figures["size_flat"]
    strategy, why = favoured(compared, *sizes)
    return TaxonomyReport(**figures, strategy=strategy, why=why)


def _of_tree(taxonomy: Taxonomy, places: Places) -> dict[str, Any]:
    branching = places.branching
    inner = branching[branching > 0]
    costs = path_costs(places)
    weight = places.sizes if places.sizes.any() else np.ones(len(costs))
    down = float(np.average(costs, weights=weight)) if len(costs) else 0.0
    return {
        "nodes": len(taxonomy),
        "leaves": len(places.leaves),
        "depth": taxonomy.depth,
        "roots": len(taxonomy.roots),
        "mean_branching": float(inner.mean()) if len(inner) else 0.0,
        "max_branching": int(inner.max(initial=0)),
        "single_daughters": int((inner == 1).sum()),
        "complexity_ratio": complexity_ratio(inner, len(places.leaves)),
        "cost_flat": len(places.leaves),
        "cost_top_down": down,
    }


def _of_documents(places: Places, rows: Rows) -> dict[str, Any]:
    shape = feature_counts(places, rows)
    b, L, beta = int(places.branching.max(initial=0)), shape.levels, shape.exponent
    met = None if beta is None else condition(beta, len(places.leaves), b, L)
    sizes: Ints = places.sizes
    return {
        "documents": len(rows),
        "features": shape.width,
        "empty_leaves": int((sizes == 0).sum()),
        "rare_leaves": float((sizes <= RARE).mean()) if len(sizes) else 0.0,
        "class_sizes": power_law(sizes),
        "feature_laws": shape.laws,
        "beta": beta,
        "b": b,
        "L": L,
        "condition": None if met is None else met.inequality,
        "condition_holds": None if met is None else met.holds,
        "size_flat": shape.flat_size,
        "size_top_down": shape.top_down_size,
        "size_top_down_foretold": shape.foretold_size(),
        "node_bounds": tuple(node_bounds(places, rows, shape.features)),
    }


ONE_LEAF = N_("there is nothing to compare: the taxonomy has fewer than two leaves")
NO_LEVELS = N_("there is nothing to compare: all leaves are directly below the top")
NO_ERROR = N_(
    "on %(n)s test documents neither makes an error, and the tree has %(share)s of the "
    "complexity"
)
FEWER = N_(
    "on %(n)s test documents, classification down the tree makes no more errors than "
    "without the tree (%(ratio)s times as many), with %(share)s of the complexity"
)
MORE = N_(
    "on %(n)s test documents, classification down the tree makes %(ratio)s times as "
    "many errors as without the tree, which may be chance (p = %(p)s), with %(share)s "
    "of the complexity"
)
TOO_MANY = N_(
    "on %(n)s test documents, classification down the tree makes %(ratio)s times as "
    "many errors as without the tree (p = %(p)s), although with %(share)s of the "
    "complexity"
)
TOO_LARGE = N_(
    "on %(n)s test documents, classification down the tree makes %(ratio)s times as "
    "many errors as without the tree (p = %(p)s), but without the tree the weights "
    "would take %(size)s GB"
)


def favoured(
    compared: StrategyComparison, ratio: float, flat_size: int
) -> tuple[str, str]:
    """Flat, pruned or top-down, and why, in one sentence.

    Top-down unless flat is surely better: the complexity term of the bound always
    speaks for the tree, the errors on the way down against it. Flat where its weights
    fit 4 GB, else pruned: as flat as the bound allows.
    """
    values = {
        "n": whole(compared.tested),
        "ratio": decimal(compared.ratio) if isfinite(compared.ratio) else "∞",
        "p": general(compared.chance.p_value, 2),
        "share": percent(ratio),
        "size": whole(flat_size * BYTES / 1e9),
    }
    if not (compared.top_down.held_out or compared.flat.held_out):
        return "top-down", _(NO_ERROR, **values)
    if compared.ratio <= 1:
        return "top-down", _(FEWER, **values)
    if compared.chance.p_value >= SURE:
        return "top-down", _(MORE, **values)
    if flat_size * BYTES <= MEMORY:
        return "flat", _(TOO_MANY, **values)
    return "pruned", _(TOO_LARGE, **values)
