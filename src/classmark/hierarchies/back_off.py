"""How deep in the tree can a document be placed with confidence?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from classmark.arrays import Array, Bools, Floats, Ints, Rows, take
from classmark.estimator import Estimator, parameters
from classmark.hierarchies.places import (
    Places,
    categories_in,
    flat_taxonomy,
    numbered,
    places_of,
    rows_of_ones,
)
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.calibration import (
    fitted_scale,
    logistic_weights,
    posterior,
    sigmoid,
)
from classmark.ranking import top
from classmark.taxonomy.tree import Dummy, Taxonomy
from classmark.validation import generator, require_numbers

OTHERS = (0.5, 0.25, 2.0)  # scales beside the fitted one, as parts of it
CERTAIN = 1e-6  # probabilities nearer to 0 or 1 are not told apart
NOT_A_LEAF = -20.0  # below the log-odds of every leaf
LEAD = 50.0  # the most that a lead counts


class Placements(NamedTuple):
    """Where documents were put.

    nodes : a category each, None where the expert is to decide;  kinds : "leaf" (a
    category as documents have it), "inner" (one above such) or "left";  probability :
    (n,), of the node; of one that is left, that of the likeliest node of all.
    """

    nodes: list[Any]
    kinds: list[str]
    probability: Floats


class PlacementSummary(NamedTuple):
    """How many documents were placed, how precisely, and the share of each kind."""

    documents: int
    precision: float
    leaf: float
    inner: float
    left: float


class Ways(NamedTuple):
    """One way a document, as arrays (n, steps), from the root down.

    nodes : −1 beyond the leaf;  chances : the probability of each, never rising; inf
    at the nodes above all classes, which say nothing, and −inf beyond the leaf;
    features : (n, steps, signs), what speaks for each node.
    """

    nodes: Ints
    chances: Floats
    features: Floats

    @property
    def informative(self) -> Bools:
        """The steps with a finite probability: neither above all classes nor beyond."""
        return np.isfinite(self.chances)

    def ends(self, threshold: float) -> tuple[Ints, Floats]:
        """Where each way falls below the threshold: node and its probability.

        Where no node says something and is likely enough: −1, and the probability of
        the first node that says something.
        """
        every = np.arange(len(self.nodes))
        last = np.maximum((self.chances >= threshold).sum(axis=1) - 1, 0)
        chances = self.chances[every, last]
        placed = (chances >= threshold) & np.isfinite(chances)
        probabilities = np.where(self.informative, self.chances, 0.0)
        nodes = np.where(placed, self.nodes[every, last], -1)
        return nodes, np.where(placed, chances, probabilities.max(axis=1, initial=0.0))


def _sums_below(below: Rows, of_classes: Array) -> Floats:
    """Σ over the classes below each node, (n, classes) in, (n, nodes) out; no SciPy."""
    class_of = np.repeat(np.arange(len(below)), np.diff(below.starts))
    nodes, width = below.columns, below.width
    sums = [np.bincount(nodes, line[class_of], width) for line in of_classes]
    return np.array(sums, np.float64).reshape(len(of_classes), width)


def ways_down(
    places: Places, below: Rows, sizes: Ints, scores: Floats, scale: float
) -> Ways:
    """Follow the likeliest daughters; of equal ones the first.

    below : (classes, nodes), 1 where the class is the node or below it;  sizes :
    (classes,), how many documents each has;  scores : (n, classes).

    What speaks for a node: the log-odds of its probability, at the fitted temperature
    and at others; whether it is a leaf, how many classes and documents are below it,
    how deep it is; of the document the best score, its lead and the entropy.
    """
    classes = posterior(scores, scale)
    others = [posterior(scores, scale * part) for part in OTHERS]
    views = [_sums_below(below, chances) for chances in (classes, *others)]
    many = np.bincount(below.columns, minlength=below.width)
    documents = _sums_below(below, sizes[np.newaxis])[0]
    best = np.take_along_axis(scores, top(scores, 2), axis=1)
    lead = np.minimum(scale * (best[:, 0] - best[:, -1]), LEAD)
    entropy = -(classes * np.log(np.maximum(classes, 1e-300))).sum(axis=1)
    of_document = np.column_stack((scale * best[:, 0], lead, entropy))
    at = np.full(len(scores), places.root, np.int64)
    every = np.arange(len(at))
    nodes, steps, features = list[Ints](), list[Floats](), list[Floats]()
    for step in range(1, int(np.diff(below.starts).max()) + 1):
        here = np.where(many[at] < len(below), views[0][every, at], np.inf)
        nodes.append(at)
        steps.append(np.where(at >= 0, here, -np.inf))
        daughters = _further(places, views[0], at)
        features.append(
            np.column_stack(
                (
                    *(_log_odds(view[every, at]) for view in views),
                    np.where(daughters < 0, _log_odds(views[0][every, at]), NOT_A_LEAF),
                    np.log1p(many[at]),
                    np.log1p(documents[at]),
                    np.full(len(at), float(step)),
                    of_document,
                )
            )
        )
        at = daughters
    falling = np.minimum.accumulate(np.column_stack(steps), axis=1)
    return Ways(np.column_stack(nodes), falling, np.stack(features, axis=1))


def _log_odds(chances: Floats) -> Floats:
    p = np.clip(chances, CERTAIN, 1 - CERTAIN)
    return np.asarray(np.log(p) - np.log1p(-p))


def _further(places: Places, by_node: Floats, at: Ints) -> Ints:
    """The likeliest daughter of each node, −1 where it has none."""
    further = np.full(len(at), -1, np.int64)
    for node in np.unique(at[at >= 0]):
        daughters = places.daughters(int(node))
        if len(daughters):
            here = np.flatnonzero(at == node)
            best = by_node[np.ix_(here, daughters)].argmax(axis=1)
            further[here] = daughters[best]
    return further


def right_steps(ways: Ways, places: Places, categories: list[list[Any]]) -> Bools:
    """Whether each node of each way is a true category or above one, (n, steps).

    categories : the true categories of each document.
    """
    names = list(dict.fromkeys(name for labels in categories for name in labels))
    above, tree = [], places.tree
    for name in names:
        if name not in tree:
            raise Mistake(f"y: {name!r} is not a category of the taxonomy")
        node = Dummy(name) if Dummy(name) in tree else name
        above.append(sorted(tree.numbers([node, *tree.ancestors(node)]).tolist()))
    nodes = rows_of_ones(above, places.size).to_scipy()
    true = numbered(categories, names).to_scipy() @ nodes
    document, step = np.nonzero(ways.nodes >= 0)
    right = np.zeros(ways.nodes.shape, np.bool_)
    if len(document):
        here = true[document, ways.nodes[document, step]]
        right[document, step] = np.asarray(here).ravel() > 0
    return right


class Trade(NamedTuple):
    """What lower thresholds cost: (m,) arrays, from the highest threshold down.

    thresholds : midway between two probabilities that occur;  sure : how precise the
    nodes where ways end are under each.
    """

    thresholds: Floats
    sure: Floats

    def lowest(self, precision: float) -> float:
        """The lowest threshold that is precise enough, inf where none is."""
        enough = np.flatnonzero(self.sure >= precision)
        return float(self.thresholds[enough[-1]]) if len(enough) else np.inf


def traded(chances: Floats, right: Bools, confidence: float | None = None) -> Trade:
    """How precise the nodes are where ways end, under every threshold.

    chances : (n, steps), as in ``Ways``;  right : (n, steps), whether the node is true,
    never turning true again further down;  confidence : None for the share that is
    right, else its one-sided lower bound [ClopperPearson34].

    >>> chances = np.array([[0.9, 0.8], [0.7, 0.6], [0.5, 0.4]])
    >>> right = np.array([[True, True], [True, False], [False, False]])
    >>> traded(chances, right).sure.round(2).tolist()
    [1.0, 1.0, 1.0, 0.5, 0.33, 0.33]
    >>> round(traded(chances, right).lowest(0.9), 6)
    0.65
    """
    informative = np.isfinite(chances)
    first = informative & ~np.column_stack(
        (np.zeros(len(informative), np.bool_), informative[:, :-1])
    )
    before = np.column_stack((np.zeros(len(right), np.int64), right[:, :-1]))
    gained = right.astype(np.int64) - np.where(first, 0, before)
    order = np.argsort(-chances[informative], kind="stable")
    height = np.append(chances[informative][order], 0.0)
    placed = np.cumsum(first[informative][order])
    true = np.cumsum(gained[informative][order])
    last = np.flatnonzero(height[1:] < height[:-1])
    middle = (height[last] + height[last + 1]) / 2
    true, placed = true[last], placed[last]
    if confidence is None:
        return Trade(middle, true / placed)
    from scipy.special import betaincinv

    bound = betaincinv(np.maximum(true, 1), placed - true + 1, 1.0 - confidence)
    return Trade(middle, np.where(true > 0, bound, 0.0))


KNOTS = 6  # of each feature, at its quantiles
PENALTY = 5.0  # on the squares of the weights
MANY = 5000  # documents are enough to learn from
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Assurance:
    """A logistic model of "this node is right", additive in bent lines.

    logit q = b + Σ_features Σ_pieces w · (how far the feature has come in the piece,
    from 0 to 1), the pieces lying between quantiles: a feature may say much where it is
    small and nothing where it is large. Weights and bias minimise the log-loss plus ½
    ``PENALTY`` ‖w‖².

    knots : (features, KNOTS);  weights : (features · (KNOTS − 1) + 1,), the bias last.

    >>> x, every = np.linspace(0.0, 1.0, 5000), np.ones((5000, 1), bool)
    >>> sure = Assurance.learned(x[:, None, None], x[:, None] > 0.5, every)
    >>> sure.along(np.array([[[0.1]], [[0.9]]]), every[:2]).round(1).tolist()
    [[0.0], [1.0]]
    """

    knots: Floats
    weights: Floats

    @classmethod
    def learned(cls, features: Floats, right: Bools, informative: Bools) -> Assurance:
        """Learn from the informative steps of documents, at most MANY, evenly spaced.

        features : (n, steps, f);  right, informative : (n, steps).
        """
        some = slice(None, None, max(1, -(-len(features) // MANY)))
        steps = features[some][informative[some]]
        y = right[some][informative[some]].astype(np.float64)
        knots = np.quantile(steps, np.linspace(0.0, 1.0, KNOTS), axis=0).T
        design = _come(steps, knots)
        return cls(knots, logistic_weights(design, y, PENALTY, max_iter=100))

    def along(self, features: Floats, informative: Bools) -> Floats:
        """Probabilities (n, steps), made non-increasing: right below is right above."""
        chances = np.zeros(informative.shape)
        design = _come(features[informative], self.knots)
        chances[informative] = sigmoid(design @ self.weights)
        return np.maximum.accumulate(chances[:, ::-1], axis=1)[:, ::-1]


def crossed(features: Floats, right: Bools, informative: Bools) -> Floats:
    """Probabilities (n, steps), each by a model that learned from other documents.

    features : (n, steps, f);  right, informative : (n, steps); the probabilities are
    0 where a step is not informative.
    """
    n = len(features)
    fold = generator(0).permutation(n) % min(FOLDS, n)
    chances = np.zeros(right.shape)
    for at in range(min(FOLDS, n)):
        out = fold == at
        learn = ~out if n > 1 else out
        model = Assurance.learned(features[learn], right[learn], informative[learn])
        chances[out] = model.along(features[out], informative[out])
    return chances


def _come(features: Floats, knots: Floats) -> Floats:
    """How far each feature has come in each piece, and a 1 for the bias."""
    low, high = knots[:, :-1], knots[:, 1:]
    wide = np.maximum(high - low, 1e-12)
    come = np.clip((features[:, :, np.newaxis] - low) / wide, 0.0, 1.0)
    return np.column_stack(
        (come.reshape(len(features), low.size), np.ones(len(features)))
    )


CELLS = 1 << 22  # probabilities held together
SHARES = np.arange(1, 100) / 100  # precisions whose thresholds are kept
PLAIN = (str, int, float, bool, type(None))  # names that JSON can hold


@parameters()
class BackOff(Estimator):
    """Places documents as deep in a taxonomy as can be said with a given precision.

    Scores of the classes become probabilities p by a softmax whose temperature is
    fitted on held-out documents [Guo17]; that of a node is Σ p over the classes below
    it. From the root the way leads to the likeliest daughter, again and again. How sure
    one can be of each node on it is learned from held-out documents as well
    (``Assurance``; such sums are too bold near the leaves and too shy near the root).
    The document is placed at the last node that is sure enough. A node above all
    classes (the root, or a chain below it) says nothing: a document that gets no
    further is left to the expert.

    What is right below is right above, so one threshold decides how deep all documents
    go. It is the lowest under which, of the held-out documents placed, the share that
    is right is at least ``precision``: the node is a true category, or above one. An
    inner category that has documents of its own is a leaf of the tree (see ``Places``):
    placed there, only its own are right.

    Documents of several categories: p is fitted so that Σ p over the true ones is
    likely, which makes the probability of a node the chance that a true one is below
    it, were one guess allowed; a document has one place.

    taxonomy : a ``Taxonomy``; None: all classes are sisters.
    confidence : None for the share as it is; else, for instance 0.9, the lower bound of
    its one-sided Clopper–Pearson interval is to reach ``precision``, which guards
    against few held-out documents.  drift : how many times as often as those held out
    later documents may err: 1 − (1 − precision) / drift is asked of the former.

    Attributes: scale_ (1/temperature), assurance_, threshold_ (inf: nothing is precise
    enough), thresholds_ (for 1 % to 99 %: see ``at``), classes_, sizes_ (held-out
    documents of each), held_out_ (what it came to on the documents it was fitted on).

    >>> tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 3)])
    >>> scores = [[9.0, 1.0, 0.0], [5.0, 5.1, 0.0], [5.1, 5.0, 0.0], [0.0, 1.0, 9.0]]
    >>> placing = BackOff(tree).fit(scores, [1, 1, 2, 3], classes=[1, 2, 3])
    >>> placing.place([[8.0, 1.0, 0.0], [5.0, 5.0, 0.0]]).nodes
    [1, 'a']
    """

    taxonomy: Taxonomy | None = None
    precision: float = 0.95
    confidence: float | None = None
    drift: float = 1.0

    def fit(
        self,
        scores: Any,
        y: Iterable[Any],
        classes: Sequence[Hashable] | None = None,
    ) -> Self:
        """Learn temperature and threshold from held-out scores.

        scores : (n, classes), of documents the classifier did not learn from, −inf for
        a class it knew no document of;  y : the category of each, or a list of several;
        documents without one are not used;  classes : what the columns stand for (a
        classifier's ``classes_``), by default ``places_of(taxonomy, y).named``.
        """
        require_numbers(self, "precision", over=0, under=1)
        require_numbers(self, "confidence", or_none=True, over=0, under=1)
        require_numbers(self, "drift", least=1)
        categories, table = categories_in(y), np.asarray(scores, np.float64)
        if table.ndim != 2 or len(table) != len(categories):
            raise Mistake(
                f"scores has shape {table.shape}, y {len(categories)} entries: give a "
                "row of scores for each document"
            )
        if classes is None:
            used = sorted({name for names in categories for name in names})
            tree = self.taxonomy or flat_taxonomy(used)
            classes = places_of(tree, categories).named
        self._settle(list(classes))
        class_set = set(self.classes_)
        true_classes = [[c for c in names if c in class_set] for names in categories]
        labelled = np.array([bool(names) for names in categories], np.bool_)
        labels = numbered(true_classes, self.classes_)
        self.scale_ = fitted_scale(table, labels)
        self.sizes_ = np.bincount(labels.columns, minlength=labels.width)
        ways, known = self._raw(table[labelled]), list(filter(None, categories))
        right = right_steps(ways, self._places, known)
        informative = ways.informative
        chances = crossed(ways.features, right, informative)
        judged = ways._replace(chances=np.where(informative, chances, ways.chances))
        self.assurance_ = Assurance.learned(ways.features, right, informative)
        trade = traded(judged.chances, right, self.confidence)
        self.threshold_ = trade.lowest(self._held_out_precision(self.precision))
        shares = map(self._held_out_precision, SHARES)
        self.thresholds_ = [trade.lowest(share) for share in shares]
        self.held_out_ = self._summary(judged, right)
        return self

    def place(self, scores: Any) -> Placements:
        """Put documents where they can be put: scores (n, classes), as fitted."""
        nodes, chances = self._ways(scores).ends(self.threshold_)
        tree = [n.of if isinstance(n, Dummy) else n for n in self._places.tree.nodes]
        names = [None if v < 0 else tree[v] for v in nodes]
        return Placements(names, [self._kind_of(int(v)) for v in nodes], chances)

    def at(self, precision: float) -> BackOff:
        """The same for another precision, rounded up to whole percents."""
        self._require_fitted()
        if not 0 < precision <= SHARES[-1]:
            raise Mistake(
                f"precision is {precision}: give more than 0, at most {SHARES[-1]}"
            )
        self._below  # noqa: B018 (found once, for all precisions)
        other = copy(self)
        other.precision = precision
        near = min(int(np.searchsorted(SHARES, precision - 1e-9)), len(SHARES) - 1)
        other.threshold_ = self.thresholds_[near]
        return other

    def measure(self, scores: Any, y: Iterable[Any]) -> PlacementSummary:
        """How precisely documents of known categories are placed, and where."""
        ways, categories = self._ways(scores), categories_in(y)
        if len(categories) != len(ways.nodes):
            raise Mistake(f"scores has {len(ways.nodes)} rows, y {len(categories)}")
        return self._summary(ways, right_steps(ways, self._places, categories))

    def to_arrays(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """What was learned and the taxonomy, as arrays and settings fit for JSON."""
        self._require_fitted()
        tree = self._tree
        odd = [node for node in tree if not isinstance(node, PLAIN)]
        if odd:
            raise Mistake(f"category {odd[0]!r}: only texts and numbers can be kept")
        thresholds = [  # JSON has no infinity
            None if np.isinf(value) else float(value)
            for value in (self.threshold_, *self.thresholds_)
        ]
        edges = np.array([tree.numbers(edge) for edge in tree.edges], np.int64)
        arrays: dict[str, Array] = {
            "edges": edges.reshape(-1, 2),
            "classes": tree.numbers(self.classes_),
        }
        return arrays, {
            "precision": self.precision,
            "confidence": self.confidence,
            "drift": self.drift,
            "scale": self.scale_,
            "threshold": thresholds[0],
            "thresholds": thresholds[1:],
            "knots": self.assurance_.knots.tolist(),
            "weights": self.assurance_.weights.tolist(),
            "held_out": list(self.held_out_),
            "sizes": [self.classes_, self.sizes_.tolist()],
            "nodes": tree.nodes,
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Array], settings: Mapping[str, Any]
    ) -> Self:
        """The estimator that :meth:`to_arrays` described.

        The taxonomy and the classes (``nodes``, ``edges``, ``classes``) may be others
        than it was fitted with: a class it does not know counts as one without
        documents.
        """
        nodes = settings["nodes"]
        edges = [(nodes[u], nodes[v]) for u, v in arrays["edges"].tolist()]
        tree = Taxonomy(edges, nodes=nodes)
        how = (settings["precision"], settings["confidence"])
        back_off = cls(tree, *how, settings.get("drift", 1.0))
        back_off.scale_ = settings["scale"]
        thresholds = [settings["threshold"], *settings["thresholds"]]
        numbers = [np.inf if value is None else value for value in thresholds]
        back_off.threshold_, *back_off.thresholds_ = numbers
        back_off.held_out_ = PlacementSummary(*settings["held_out"])
        back_off._settle([nodes[v] for v in arrays["classes"].tolist()])
        sizes = dict(zip(*settings["sizes"], strict=True))
        back_off.sizes_ = np.array([sizes.get(name, 0) for name in back_off.classes_])
        parts = (np.array(settings[name]) for name in ("knots", "weights"))
        back_off.assurance_ = Assurance(*parts)
        return back_off

    def _held_out_precision(self, promised: float) -> float:
        """What is asked of documents held out, so that later ones keep the promise."""
        return 1.0 - (1.0 - promised) / self.drift

    def _settle(self, classes: list[Any]) -> None:
        """Set the classes and drop the cached properties of earlier ones."""
        for attribute in ("_places", "_below"):
            self.__dict__.pop(attribute, None)
        unknown = [name for name in classes if name not in (self.taxonomy or classes)]
        if unknown or len(set(classes)) < len(classes):
            raise Mistake(
                f"classes: {unknown[0]!r} is not a category of the taxonomy"
                if unknown
                else "classes: a category occurs twice: give each one once"
            )
        self.classes_ = classes

    @property
    def _tree(self) -> Taxonomy:
        """The taxonomy, or one without inner categories."""
        return self.taxonomy or flat_taxonomy(self.classes_)

    @cached_property
    def _places(self) -> Places:
        """Where the classes are in the tree."""
        return places_of(self._tree, [self.classes_])

    @cached_property
    def _below(self) -> Rows:
        """1 where a class is a node or below it, shape (classes, nodes)."""
        place = {name: at for at, name in enumerate(self._places.named)}
        return take(self._places.above, [place[name] for name in self.classes_])

    def _ways(self, scores: Any) -> Ways:
        """The ways down, with how sure each step is."""
        self._require_fitted()
        ways = self._raw(scores)
        informative = ways.informative
        sure = self.assurance_.along(ways.features, informative)
        return ways._replace(chances=np.where(informative, sure, ways.chances))

    def _raw(self, scores: Any) -> Ways:
        table = np.asarray(scores, np.float64)
        if table.ndim != 2 or table.shape[1] != len(self.classes_):
            raise Mistake(
                f"scores has shape {table.shape}: give {len(self.classes_)} columns, "
                "one for each of classes_"
            )
        step = max(1, CELLS // self._places.size)
        starts = range(0, max(1, len(table)), step)
        blocks = (table[start : start + step] for start in starts)
        tree = (self._places, self._below, self.sizes_)
        ways = [
            ways_down(*tree, block, self.scale_)
            for block in track(blocks, "going down", len(starts))
        ]
        return Ways(*map(np.concatenate, zip(*ways, strict=True)))

    def _summary(self, ways: Ways, right: Bools) -> PlacementSummary:
        nodes, _ = ways.ends(self.threshold_)
        kinds = np.array([self._kind_of(int(v)) for v in nodes])
        true = (right & (ways.nodes == nodes[:, np.newaxis])).any(axis=1)
        placed, n = int((nodes >= 0).sum()), max(1, len(nodes))
        return PlacementSummary(
            len(nodes),
            float(true.sum() / placed) if placed else 1.0,
            *(float((kinds == kind).sum() / n) for kind in ("leaf", "inner", "left")),
        )

    def _kind_of(self, node: int) -> str:
        if node < 0:
            return "left"
        return "inner" if len(self._places.daughters(node)) else "leaf"
