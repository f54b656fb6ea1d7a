"""A classifier of nodes: is a top-down classifier better off without this one?

The shipped one is in ``meta.json``, made by ``benchmarks/train_meta_pruner.py``; the
file says on which collections, of how many nodes, and how well each collection is
foretold by the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints, distinct, rows_from, take
from classmark.hierarchies.held_out import NodeLearner, Removals
from classmark.hierarchies.places import listed, places_of, require_one_each
from classmark.hierarchies.taxonomy_ranker import unit_rows
from classmark.problems import Mistake, UnreadableFile, worded
from classmark.progress import track
from classmark.rankers.calibration import logistic_weights, sigmoid
from classmark.storage import write_whole
from classmark.taxonomy.tree import Taxonomy
from classmark.validation import generator

BOLD, CONSERVATIVE = 0.5, 0.7  # probabilities from which the classifier removes nodes
SETS = ("sisters", "daughters", "across")
NAMES = (
    "log daughters of the parent",
    "log daughters",
    "log documents of the parent",
    "log documents",
    "log features of the parent",
    "log features",
    *(f"{kind} of cosines, {where}" for where in SETS for kind in ("mean", "max")),
    *(f"{kind} of divergences, {where}" for where in SETS for kind in ("mean", "max")),
)
MANY = 300  # daughters that are compared pair by pair: those with most documents
SMOOTHING = 0.1  # share of the parent's distribution in that of a daughter


@dataclass(frozen=True, eq=False)
class MetaClassifier:
    """Probability that removing a node helps: σ(bias + Σ weights (x − mean)/scale).

    mean, scale, weights : of the features in ``NAMES``, shape (features,);  nodes : how
    many nodes of each taxonomy it was learned on.
    """

    mean: Floats
    scale: Floats
    weights: Floats
    bias: float
    nodes: Mapping[str, int] = field(default_factory=dict)

    def probability(self, features: ArrayLike) -> Floats:
        """Shape (nodes,) for features of shape (nodes, number of features)."""
        x = (np.asarray(features, np.float64) - self.mean) / self.scale
        return sigmoid(x @ self.weights + self.bias)

    def facts(self) -> dict[str, Any]:
        """Each number beside the name of its feature, for JSON."""
        parts = {name: getattr(self, name).tolist() for name in PARTS}
        named = {n: dict(zip(NAMES, part, strict=True)) for n, part in parts.items()}
        return {**named, "bias": self.bias}

    def save(self, path: Path | str) -> None:
        """Write a JSON file; it is there whole or not at all."""
        facts = {"format": FORMAT, "learned on": dict(self.nodes), **self.facts()}
        text = json.dumps(facts, indent=1, ensure_ascii=False)
        write_whole(Path(path), text + "\n")

    @staticmethod
    def open(path: Path | str) -> MetaClassifier:
        """Read a file that ``save`` wrote."""
        remedy = worded("make one with classmark taxonomy train-meta FILE")
        problem = f"no meta-classifier of {len(NAMES)} features: {remedy}"
        try:
            facts = json.loads(Path(path).read_text(encoding="utf-8"))
            learned = _from_facts(facts, facts["learned on"])
        except OSError as error:
            raise UnreadableFile(path, None, f"{error.strerror}: {remedy}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnreadableFile(path, None, problem) from error
        numbers = [*learned.weights, *learned.mean, *learned.scale, learned.bias]
        able = np.isfinite(numbers).all() and (learned.scale > 0).all()
        if facts.get("format") != FORMAT or not able:
            raise UnreadableFile(path, None, problem)
        return learned


PARTS = ("mean", "scale", "weights")
FORMAT = "classmark-meta-classifier 1"


def _from_facts(facts: Mapping[str, Any], nodes: Mapping[str, int]) -> MetaClassifier:
    mean, scale, weights = (
        np.array([float(facts[part][name]) for name in NAMES]) for part in PARTS
    )
    counts = {str(name): int(count) for name, count in nodes.items()}
    return MetaClassifier(mean, scale, weights, float(facts["bias"]), counts)


def shipped(without: str | None = None) -> MetaClassifier:
    """The classifier in the package, or the one that was learned without one set."""
    text = (files("classmark.hierarchies") / "meta.json").read_text(encoding="utf-8")
    facts = json.loads(text)
    if without not in {None, *facts["without"]}:
        collections = ", ".join(sorted(facts["without"]))
        raise Mistake(f"without {without!r}: it was learned on {collections}")
    learned = facts["all"] if without is None else facts["without"][without]
    nodes = {n: k for n, k in facts["learned on"].items() if n != without}
    return _from_facts(learned, nodes)


class Described:
    """What the classifier sees of nodes: sizes, and how alike the classes are.

    Classes are sums of their documents' rows, compared among the sisters (the daughters
    of the parent), among the node's own daughters, and across: daughters with sisters,
    which is where a classifier over both would have to decide. What sisters share is
    computed once where they are asked for one after the other.
    """

    def __init__(self, trials: Removals) -> None:
        self.trials = trials
        self._parent = -1

    def features(self, node: int, parent: int) -> Floats:
        """The numbers of ``NAMES`` for a node and its parent."""
        tree, both = self.trials.daughters, (parent, node)
        if parent != self._parent:
            self._parent = parent
            self._sisters, self._numbers = self._sums(tree[parent])
            self._background, _ = self._sums(np.array([parent]))
            self._among_sisters = self._likeness(self._sisters, self._sisters)
            self._parent_features = self._features(parent)
        down, _ = self._sums(tree[node])
        up = self._sisters[np.flatnonzero(self._numbers != node)]
        sizes = [len(tree[v]) for v in both]
        sizes += [len(self.trials.at(v)) for v in both]
        sizes += [self._parent_features, self._features(node)]
        likeness = [
            self._among_sisters, self._likeness(down, down), self._likeness(down, up)
        ]  # fmt: skip
        similarities = [
            number
            for kind in zip(*likeness, strict=True)
            for summary in kind
            for number in summary
        ]
        return np.concatenate([np.log1p(np.array(sizes, np.float64)), similarities])

    def _likeness(self, a: Any, b: Any) -> tuple[tuple[float, float], ...]:
        """Mean and largest of the cosines of two sets of rows, and of divergences.

        Of rows with themselves the diagonal is left out.
        """
        summaries = []
        cosines = np.asarray((unit_rows(a) @ unit_rows(b).T).toarray(), np.float64)
        for pairs in (cosines, _divergences(a, b, self._background)):
            apart = ~np.eye(len(pairs), dtype=np.bool_) if a is b else ...
            values = np.ravel(pairs[apart])
            mean, most = (values.mean(), values.max()) if values.size else (0.0, 0.0)
            summaries.append((float(mean), float(most)))
        return tuple(summaries)

    def _features(self, node: int) -> int:
        rows = take(self.trials.rows, self.trials.at(node))
        return len(distinct(rows.columns))

    def _sums(self, nodes: Ints) -> tuple[Any, Ints]:
        """Sums of the absolute rows of nodes that have documents, and which they are.

        Of more than 300 nodes only those with most documents.
        """
        lists = [self.trials.at(int(u)) for u in nodes]
        largest = np.argsort([-len(members) for members in lists], kind="stable")[:MANY]
        chosen = np.sort(nodes[largest])
        everyone = np.unique(
            np.concatenate([np.empty(0, np.int64), *(lists[at] for at in largest)])
        )
        owners = self.trials.owners(everyone, chosen).to_scipy()
        rows = abs(take(self.trials.rows, everyone).to_scipy())
        sums = (owners.T @ rows).tocsr()
        full = np.flatnonzero(np.diff(sums.indptr))
        return sums[full], chosen[full]


def _shares(rows: Any) -> Any:
    """Each row divided by its sum."""
    sums = np.asarray(rows.sum(axis=1)).ravel()
    scaled = rows.copy()
    scaled.data *= np.repeat(1.0 / np.where(sums > 0, sums, 1.0), np.diff(rows.indptr))
    return scaled


def _divergences(a: Any, b: Any, background: Any) -> Floats:
    """KL(P ‖ (1 − s) Q + s U) for rows P of a and Q of b, U the parent's, in nats."""
    p, q, u = map(_shares, (a, b, background))
    if not u.nnz:
        return np.zeros((a.shape[0], b.shape[0]))
    common = np.zeros(u.shape[1])
    common[u.indices] = u.data
    entropy = p.copy()
    entropy.data = p.data * (np.log(p.data) - np.log(SMOOTHING * common[p.indices]))
    more = q.copy()
    more.data = np.log1p((1 - SMOOTHING) * q.data / (SMOOTHING * common[q.indices]))
    first = np.asarray(entropy.sum(axis=1)).reshape(-1, 1)
    return np.asarray(first - (p @ more.T).toarray(), np.float64)


PENALTY = 3.0  # on the squares of how far the weights move
DOUBT = 5.0  # changed documents at which a trial counts half
TOTAL = 100.0  # what all trials of a taxonomy weigh together
FOLDS = 5


@dataclass(frozen=True, eq=False)
class NodeTrials:
    """Nodes of one taxonomy that were tried without.

    features : shape (trials, features);  gain : documents brought to the right daughter
    more than before;  changed : those whose fate changed;  node : the number of each.
    """

    features: Floats
    gain: Floats
    changed: Floats
    node: Ints

    def __len__(self) -> int:
        return len(self.gain)

    def take(self, which: Any) -> NodeTrials:
        """Some of the trials."""
        parts = (self.features, self.gain, self.changed, self.node)
        return NodeTrials(*(part[which] for part in parts))


def try_nodes(
    taxonomy: Taxonomy,
    X: Any,
    y: Any,
    learner: NodeLearner | None = None,
    *,
    seed: int = 0,
    whole: bool = True,
) -> NodeTrials:
    """Try a taxonomy without each inner node that decides something.

    By folds, on the documents of the node's parent (``Removals``); with all documents
    (``whole``) and with each of two random halves.
    """
    rows, labels = rows_from(X), listed(y)
    require_one_each(len(rows), len(labels))
    order = generator(seed).permutation(len(rows))
    parts = (order, order[: len(rows) // 2], order[len(rows) // 2 :])
    trials = [
        trial
        for part in (parts if whole else parts[1:])
        for trial in _tried(
            Removals(
                places_of(taxonomy, [labels[i] for i in np.sort(part)]),
                take(rows, np.sort(part)),
                learner,
            )
        )
    ]
    features, gain, changed, node = list(zip(*trials, strict=True)) or [()] * 4
    return NodeTrials(
        np.array(features, np.float64).reshape(-1, len(NAMES)),
        np.array(gain, np.float64),
        np.array(changed, np.float64),
        np.array(node, np.int64),
    )


def _tried(trials: Removals) -> Iterator[tuple[Floats, float, int, int]]:
    """Features, gain, changed documents and number of nodes that decide something."""
    described, tree, able = Described(trials), trials.daughters, trials.removable()
    for v in track(able, "trying nodes", len(able)):
        p = trials.parent(v)
        if min(len(tree[v]), len(tree[p])) > 1 and len(trials.at(v)):
            removal = trials.attempt(v)
            yield described.features(v, p), removal.gain, removal.changed, v


def learn_meta(
    trials: Mapping[str, NodeTrials],
    start: MetaClassifier | None = None,
    penalty: float = PENALTY,
) -> MetaClassifier:
    """Learn from nodes that were tried: logistic regression on standardised features.

    min Σ c (−t ln p − (1 − t) ln(1 − p)) + ½ penalty ‖w − w₀‖²; the target t = Φ(gain /
    √(changed + 1)) is how sure it is that a removal helped, its weight c ∝ changed /
    (changed + 5). Each taxonomy weighs 100 in sum; with a start, a tenth of its nodes
    at most, since some dozen nodes do not outweigh the thousands of the start.

    trials : by taxonomy;  start : w₀, the classifier that is paid for leaving, whose
    standardisation stays; else 0, and the features of the trials are standardised.
    """
    from scipy.special import ndtr

    parts = list(trials.values())
    x = np.concatenate([np.empty((0, len(NAMES))), *(each.features for each in parts)])
    if not len(x):
        raise Mistake(
            "no node could be tried without: a tree is needed whose inner categories "
            "have sisters, several daughters and documents"
        )
    target = ndtr(np.concatenate([t.gain / np.sqrt(t.changed + 1) for t in parts]))
    trust = [each.changed / (each.changed + DOUBT) for each in parts]
    most = [len(np.unique(each.node)) / 10 if start else TOTAL for each in parts]
    pairs = zip(trust, most, strict=True)
    weight = np.concatenate([min(TOTAL, w) * c / max(1.0, c.sum()) for c, w in pairs])
    if start is None:
        scale = np.where((s := x.std(axis=0)) > 0, s, 1.0)
        start = MetaClassifier(x.mean(axis=0), scale, np.zeros(len(NAMES)), 0.0)
    design = np.column_stack(((x - start.mean) / start.scale, np.ones(len(x))))
    w = logistic_weights(
        design,
        target,
        penalty,
        weight=weight,
        start=[*start.weights, start.bias],
        tol=1e-12,
    )
    nodes = dict(start.nodes) | {name: len(each) for name, each in trials.items()}
    return MetaClassifier(start.mean, start.scale, w[:-1], float(w[-1]), nodes)


def train_meta(
    taxonomies: Mapping[str, tuple[Taxonomy, Any, Any]],
    *,
    start: MetaClassifier | None = None,
    learner: NodeLearner | None = None,
    penalty: float = PENALTY,
    random_state: int = 0,
) -> MetaClassifier:
    """Learn which nodes to prune, by trying the nodes of taxonomies one by one.

    taxonomies : name → (taxonomy, X, y), as for ``prune_taxonomy``, whose ``meta`` the
    result may be;  start : a classifier to go on from, such as ``shipped()``: right
    where few nodes can be tried;  learner : what learns at the nodes. [Babbar13]

    >>> leaves = [(up, up + number) for up in "ab" for number in "12"]
    >>> tree = Taxonomy([("r", "a"), ("r", "b"), *leaves])
    >>> X, y = np.eye(4)[[0, 1, 2, 3] * 5], ["a1", "a2", "b1", "b2"] * 5
    >>> meta = train_meta({"shelf": (tree, X, y)})
    >>> meta.nodes, meta.weights.shape
    ({'shelf': 6}, (18,))
    """
    trials = {
        name: try_nodes(*each, learner, seed=random_state)
        for name, each in taxonomies.items()
    }
    return learn_meta(trials, start, penalty)


def judge_meta(meta: MetaClassifier | Floats, trials: NodeTrials) -> dict[str, Any]:
    """How well nodes are foretold that were tried: accuracy over clear cases, gains.

    meta : a classifier that did not learn from them, or its probabilities. Clear cases
    are those whose gain reaches its standard error.
    """
    p = meta.probability(trials.features) if isinstance(meta, MetaClassifier) else meta
    gain, better = trials.gain, trials.gain > 0
    clear = np.abs(gain) >= np.maximum(1.0, np.sqrt(trials.changed))
    right = ((p > BOLD) == better)[clear]
    return {
        "nodes": len(trials),
        "clear": int(clear.sum()),
        "clearly better without": int((clear & better).sum()),
        "accuracy": round(float(right.mean()), 3) if len(right) else None,
        "area": _area(p[clear], better[clear]),
        "gain, all removed": float(gain.sum()),
        "gain, bold": float(gain[p > BOLD].sum()),
        "gain, conservative": float(gain[p > CONSERVATIVE].sum()),
        "gain, best possible": float(gain[better].sum()),
    }


def crossed(
    trials: Mapping[str, NodeTrials], name: str, start: MetaClassifier | None = None
) -> Floats:
    """Probabilities of one taxonomy's nodes, by classifiers that learned from others.

    From all other taxonomies, and from four fifths of its own trials; those of one
    node, which are much alike, are in one fold. Shape (nodes,).
    """
    own, chances = trials[name], np.zeros(len(trials[name]))
    fold = own.node % FOLDS
    for out in np.unique(fold):
        rest = dict(trials) | {name: own.take(fold != out)}
        learned = [each for each in rest.values() if len(each)]
        here = learn_meta(rest, start) if learned else start
        if here is not None:
            chances[fold == out] = here.probability(own.features[fold == out])
    return chances


def _area(scores: Floats, better: Any) -> float | None:
    """The area under the ROC curve, ties counted half; None of one kind."""
    a, b = scores[better], scores[~better]
    if not len(a) or not len(b):
        return None
    above = (a[:, np.newaxis] > b).mean() + 0.5 * (a[:, np.newaxis] == b).mean()
    return round(float(above), 3)
