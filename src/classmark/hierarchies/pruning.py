"""Which inner nodes is a top-down classifier better off without?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from classmark.arrays import Bools, Ints
from classmark.corpus.documents import train_test
from classmark.hierarchies.held_out import (
    Bound,
    NodeLearner,
    TrialTree,
    best_daughters,
    complexity,
    complexity_ratio,
)
from classmark.hierarchies.places import (
    Nodes,
    Places,
    among_labels,
    places_of,
    require_one_each,
    shape_of,
)
from classmark.measures.significance import Outcome, micro_sign_test
from classmark.problems import Mistake
from classmark.progress import track
from classmark.sparse import Rows, keep_columns, rows_from, take, transpose
from classmark.taxonomy.edits import prune
from classmark.taxonomy.tree import Dummy, Taxonomy
from classmark.validation import generator

FOLDS = 3
MOST = 2000  # documents of a node that a trial looks at


class Removal(NamedTuple):
    """What the removal of a node does.

    gain : documents brought to the right daughter more than before;  changed : those
    whose fate changed;  tested : documents tried;  terms : the rise in complexity, Σ
    |D(v)|(|D(v)| − 1).
    """

    gain: float
    changed: int
    tested: int
    terms: int

    @property
    def spread(self) -> float:
        """The standard error of the gain, as documents."""
        return float(np.sqrt(self.changed))

    @property
    def why(self) -> str:
        """Gain, standard error and complexity, on the documents chosen by."""
        rise = f"{self.terms:+d}".replace("-", "−")
        return (
            f"{self.gain:+.0f} right of {self.tested} documents it was chosen on "
            f"(standard error {self.spread:.1f}), complexity {rise}"
        )


class _Fate(NamedTuple):
    """Documents of a node, increasing, the daughter chosen, and whether rightly."""

    documents: Ints
    chosen: Ints
    right: Bools


class Removals:
    """A working tree whose inner nodes can be tried without, and taken out.

    Every document is judged by classifiers trained on the folds it is not in. A trial
    of node v with parent p counts, over the documents of p, who comes to a right
    daughter: through p and then v as the tree stands, or by one classifier over the
    daughters of both; only this one is trained anew. Of a node with very many documents
    the same 2,000 are always taken.

    daughters : of each inner node of the working tree, increasing.
    """

    def __init__(
        self,
        places: Places,
        X: Any,
        learner: NodeLearner | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self.places, self.rows = places, rows_from(X)
        self._nodes = rows_from(places.nodes_of())
        self._documents = transpose(self._nodes)
        self.daughters = {int(v): places.daughters(int(v)) for v in places.inner}
        self.learner = learner or NodeLearner()
        self._place = generator(seed).permutation(len(self.rows))
        self.fold_of = self._place % FOLDS
        self._fates: dict[int, _Fate] = {}
        self._tried: dict[int, _Fate] = {}
        self._parents: dict[int, list[int]] = {}
        for v, below in self.daughters.items():
            for u in below.tolist():
                self._parents.setdefault(u, []).append(v)

    def at(self, node: int) -> Ints:
        """The documents that belong to a node or below it, increasing."""
        return self._documents.row(node)[0].astype(np.int64)

    def belong(self, documents: Ints, nodes: Ints) -> Bools:
        """Whether each document belongs to the node given with it."""
        return among_labels(take(self._nodes, documents), nodes)

    def owners(self, documents: Ints, daughters: Ints) -> Rows:
        """An entry where a document belongs to a daughter, shape (n, d)."""
        return keep_columns(take(self._nodes, documents), daughters)

    def removable(self) -> list[int]:
        """Inner nodes below the root with one parent, upper ones first."""
        return [v for v in self.daughters if len(self._parents.get(v, ())) == 1]

    def parent(self, node: int) -> int:
        """The one parent of a removable node."""
        return self._parents[node][0]

    def attempt(self, node: int) -> Removal:
        """Try the tree without a node; the tree stays as it is."""
        tree, p = self.daughters, self.parent(node)
        joined = self._joined(node)
        before, after = (len(tree[p]), len(tree[node])), len(joined)
        rise = complexity([after]) - complexity(before)
        sample = self._sample(p)
        if min(before) == 1:
            self._tried[node] = self._same(node)
            return Removal(0.0, 0, len(sample), rise)
        fate = self._judged(sample, joined)
        # Who is right after the parent and, where it sends them there, the node.
        first, second = self._fate(p), self._fate(node)
        sent = (first.chosen == node) & first.right
        right = first.right.astype(np.int64)
        right[sent] = second.right[
            np.searchsorted(second.documents, first.documents[sent])
        ]
        difference = fate.right.astype(np.int64) - right
        gain, changed = float(difference.sum()), int(np.abs(difference).sum())
        self._tried[node] = fate
        return Removal(gain, changed, len(sample), rise)

    def remove(self, node: int) -> None:
        """Take a node out; its daughters become its parent's."""
        tree, p = self.daughters, self.parent(node)
        joined = self._joined(node)
        for u in tree[node].tolist():
            others = [v for v in self._parents[u] if v not in (node, p)]
            self._parents[u] = [p, *others]
        tree[p] = joined
        del tree[node]
        self._fates.pop(p, None)
        if node in self._tried:
            self._fates[p] = self._tried[node]
        self._tried.clear()

    def _joined(self, node: int) -> Ints:
        tree = self.daughters
        rest = tree[self.parent(node)]
        return np.union1d(rest[rest != node], tree[node])

    def _sample(self, node: int) -> Ints:
        documents = self.at(node)
        if len(documents) > MOST:
            documents = np.sort(documents[np.argsort(self._place[documents])[:MOST]])
        return documents

    def _fate(self, node: int) -> _Fate:
        if node not in self._fates:
            daughters = self.daughters[node]
            self._fates[node] = self._judged(self._sample(node), daughters)
        return self._fates[node]

    def _judged(self, documents: Ints, daughters: Ints) -> _Fate:
        chosen = np.full(len(documents), daughters[0], np.int64)
        fold = self.fold_of[documents]
        for out in range(FOLDS) if len(daughters) > 1 else ():
            learn, ask = documents[fold != out], documents[fold == out]
            if len(learn) and len(ask):
                owners = self.owners(learn, daughters)
                model = self.learner.fit(take(self.rows, learn), owners)
                best = best_daughters(model, take(self.rows, ask))
                chosen[fold == out] = daughters[best]
        return _Fate(documents, chosen, self.belong(documents, chosen))

    def _same(self, node: int) -> _Fate:
        """One of the two decides nothing: the other's choices stand."""
        first, daughters = self._fate(self.parent(node)), self.daughters[node]
        if len(daughters) > 1:
            return self._fate(node)
        return first._replace(
            chosen=np.where(first.chosen == node, daughters[0], first.chosen)
        )


Policy = Literal["bound", "meta", "random"]
RANDOM_SHARE = 0.3
SCALE = 1e-4  # stands for 8BRL, a constant for the worst case, when nodes are tried
SINGLE = "decides nothing: a single daughter"
BOLD, CONSERVATIVE = 0.5, 0.7  # probabilities from which the classifier removes nodes


class Removed(NamedTuple):
    """A node that was taken out, and why, in words."""

    node: Any
    why: str


@dataclass(frozen=True, eq=False)
class Pruned:
    """A taxonomy without some of its inner nodes, and what was removed why.

    tried : how many nodes could have been removed.
    """

    taxonomy: Taxonomy
    removed: tuple[Removed, ...]
    tried: int


def prune_taxonomy(
    taxonomy: Taxonomy,
    X: Any,
    y: Iterable[Any],
    policy: Policy = "bound",
    *,
    base: str = "svm",
    C: float = 1.0,
    random_state: int = 0,
    **options: Any,
) -> Taxonomy:
    """Remove inner nodes that a top-down classifier is better off without [Babbar13].

    The daughters of a removed node are lifted to its parent; one that has documents of
    its own stays as a leaf beside them, so that ``y`` keeps its meaning. Roots that
    stand alone and nodes with several parents stay.

    policy : "bound" (PR-B): from the top down, a node goes when errors on documents
        held out plus complexity fall. "meta" (PR-M): a classifier learned on other
        taxonomies says which; no document is held out, nothing is trained. "random"
        (RN): a random ``share`` of the nodes, 0.3 if none is given.
    base, C : what learns at the nodes ("bound"), as ``fit_node`` explains them.
    options : those of ``PruningOptions``, by name:
    share : the largest share of the removable nodes that go; else as many as deserve
        it.
    bold : remove where it seems to help; otherwise only where the gain is above its
        standard error ("bound") or its probability above 0.7 ("meta").
    without : leave one collection out of what "meta" was learned on.

    A node with a single daughter decides nothing, and always goes ("bound", "meta").

    >>> tree = Taxonomy([("r", "a"), ("a", "b"), ("b", 1), ("b", 2), ("r", 3)])
    >>> X, y = [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]] * 3, [1, 2, 3] * 3
    >>> prune_taxonomy(tree, X, y).edges
    [('r', 'b'), ('b', 1), ('b', 2), ('r', 3)]
    """
    learner = NodeLearner(base, C, seed=random_state)
    chosen = PruningOptions(policy, seed=random_state, **options)
    return pruned(taxonomy, X, y, chosen, learner).taxonomy


@dataclass(frozen=True, slots=True)
class PruningOptions:
    """How a taxonomy is to be pruned: see ``prune_taxonomy``."""

    policy: str = "bound"
    share: float | None = None
    bold: bool = False
    without: str | None = None
    seed: int = 0


def pruned(
    taxonomy: Taxonomy,
    X: Any,
    y: Iterable[Any],
    options: PruningOptions,
    learner: NodeLearner,
) -> Pruned:
    """Prune as ``prune_taxonomy`` does, and say what was removed and why."""
    if options.share is not None and not 0 <= options.share <= 1:
        raise Mistake(f"share is {options.share}: give a number between 0 and 1")
    if options.policy not in CHOOSERS:
        policies = ", ".join(map(repr, CHOOSERS))
        raise Mistake(f"policy {options.policy!r} is not known: use {policies}")
    places, rows = places_of(taxonomy, y), rows_from(X)
    require_one_each(len(rows), len(places.documents))
    trials = Removals(places, rows, learner, seed=options.seed)
    able = [v for v in trials.removable() if v < len(places.tree)]
    share = 1.0 if options.share is None else options.share
    removals = CHOOSERS[options.policy](trials, able, options, round(share * len(able)))
    nodes = places.tree.nodes
    removed = tuple(Removed(nodes[v], why) for v, why in removals)
    return Pruned(_lifted(taxonomy, places, removed), removed, len(able))


Chosen = list[tuple[int, str]]


def _by_bound(
    trials: Removals, able: list[int], options: PruningOptions, most: int
) -> Chosen:
    """From the top down; every removal changes what the next ones are tried on."""
    removals: Chosen = []
    placed = np.diff(trials.places.documents.starts) > 0
    price = SCALE * np.sqrt(placed.sum())
    for v in track(able, "trying nodes", len(able)):
        if len(removals) == most:
            break
        removal = trials.attempt(v)
        threshold = price * removal.terms + (0.0 if options.bold else removal.spread)
        free = removal.terms <= 0 <= removal.gain
        if free or removal.gain > threshold:
            trials.remove(v)
            removals.append((v, SINGLE if free else removal.why))
    return removals


def _by_meta(
    trials: Removals, able: list[int], options: PruningOptions, most: int
) -> Chosen:
    """By the shipped classifier, the surest first."""
    from classmark.hierarchies.pruning_rules import Described, shipped

    meta, described = shipped(options.without), Described(trials)
    tree = trials.daughters
    least = BOLD if options.bold else CONSERVATIVE
    ranked: list[tuple[float, int, str]] = []
    for v in track(able, "describing nodes", len(able)):
        p = trials.parent(v)
        if min(len(tree[v]), len(tree[p])) == 1:
            ranked.append((1.0, v, SINGLE))
        elif len(trials.at(v)):
            features = described.features(v, p)
            chance = float(meta.probability(features[np.newaxis])[0])
            if chance > least:
                ranked.append((chance, v, f"better without, probability {chance:.2f}"))
    ranked.sort(key=lambda entry: -entry[0])
    return [(v, why) for _, v, why in ranked[:most]]


def _at_random(
    _: Removals, able: list[int], options: PruningOptions, most: int
) -> Chosen:
    count = most if options.share is not None else round(RANDOM_SHARE * len(able))
    drawn = generator(options.seed).permutation(len(able))[:count]
    return [(able[at], "at random") for at in np.sort(drawn)]


CHOOSERS: dict[str, Callable[[Removals, list[int], PruningOptions, int], Chosen]] = {
    "bound": _by_bound,
    "meta": _by_meta,
    "random": _at_random,
}


def _lifted(
    taxonomy: Taxonomy, places: Places, removed: tuple[Removed, ...]
) -> Taxonomy:
    """The taxonomy without the removed; those with documents stay, as leaves.

    Such a leaf is below the nearest category above it that stays, if there is one.
    """
    gone = {entry.node for entry in removed}
    stay = {node for node in gone if Dummy(node) in places.tree}
    edges = prune(taxonomy, gone).edges
    for node in stay:
        above = [up for up in taxonomy.path(node)[:-1] if up not in gone]
        edges += [(up, node) for up in above[-1:]]
    order = [node for node in taxonomy if node not in gone or node in stay]
    return Taxonomy(edges, nodes=order)


HELD_OUT = 0.25
FEWEST = 8
SURE = 0.05


class PruningState(NamedTuple):
    """How a top-down classifier over one tree stands.

    error : share of the documents held out whose leaf is none of theirs;  complexity :
    Σ |D(v)|(|D(v)| − 1);  ratio : the same over that of flat;  bound : on the error.
    """

    error: float
    complexity: int
    ratio: float
    bound: Bound


@dataclass(frozen=True, eq=False)
class PruningReport(Pruned):
    """What pruning removed, and how a top-down classifier stands before and after.

    chance : micro sign test, is the pruned
    tree right more often [YangLiu99];  trained, tested : documents;  policy : what
    chose the nodes.
    """

    before: PruningState
    after: PruningState
    chance: Outcome
    trained: int
    tested: int
    policy: str = "bound"

    def rows(self) -> list[dict[str, Any]]:
        """The figures as lines of a table: what, before, after."""
        pairs = {
            f"removed, of {self.tried} inner nodes": (0, len(self.removed)),
            "complexity": (self.before.complexity, self.after.complexity),
            "complexity over flat": (self.before.ratio, self.after.ratio),
            "held-out error": (self.before.error, self.after.error),
            "bound of the theorem": (self.before.bound.total, self.after.bound.total),
        }
        return [
            {"what": label, "before": a, "after": b} for label, (a, b) in pairs.items()
        ]

    @property
    def said(self) -> str:
        """In one sentence: better, worse or not to be told apart, and how surely."""
        gain = self.before.error - self.after.error
        sure = self.chance.p_value < SURE
        word = ("better" if gain > 0 else "worse") if sure else "not surely different"
        return (
            f"{word}: error {self.before.error:.3f} before, {self.after.error:.3f} "
            f"after, on {self.tested} documents held out "
            f"(micro sign test, p = {self.chance.p_value:.3g})"
        )

    @property
    def explained(self) -> str:
        """What decided, and on which documents; nothing where chance did."""
        if self.policy == "bound":
            return (
                "a node went where the documents gained by folds exceed a price for "
                f"complexity ({SCALE:.4f} √m Σ|D|(|D| − 1) documents) and, unless "
                "bold, their standard error; gains beside the nodes are on the "
                "documents they were chosen on; the bound of the theorem did not decide"
            )
        if self.policy == "meta":
            return (
                "a classifier learned on other taxonomies said which nodes go; the "
                "bound of the theorem did not decide"
            )
        return ""


def pruning_report(
    taxonomy: Taxonomy,
    X: Any,
    y: Iterable[Any],
    options: PruningOptions | None = None,
    learner: NodeLearner | None = None,
) -> PruningReport:
    """Prune with three quarters of the documents; try both trees on the others.

    options : the policy and its numbers;  learner : what learns at the nodes.
    ``taxonomy`` and ``removed`` of the report are those of the three quarters.
    """
    options, learner = options or PruningOptions(), learner or NodeLearner()
    labels, rows = list(y), rows_from(X)
    places = places_of(taxonomy, labels)
    if len(places.leaves) < 2:
        raise Mistake(
            "the taxonomy has fewer than two leaves, so there is nothing to choose "
            "between and nothing to prune: add categories"
        )
    placed = np.flatnonzero(np.diff(places.documents.starts))
    if len(placed) < FEWEST:
        raise Mistake(
            f"y: {len(placed)} documents have a category: to hold some out, give at "
            f"least {FEWEST}"
        )
    learn, ask = train_test(len(placed), HELD_OUT, options.seed)
    learn, ask = placed[learn], placed[ask]
    taught, train_labels = take(rows, learn), [labels[i] for i in learn]
    result = pruned(taxonomy, taught, train_labels, options, learner)
    number = {node: at for at, node in enumerate(taxonomy)}
    named = [number[name] for name in places.named]
    truth = [[named[leaf] for leaf in places.documents.row(i)[0]] for i in ask]
    predicted, standings = [], []
    for each in (taxonomy, result.taxonomy):
        tree = places_of(each, train_labels)
        trial = TrialTree(Nodes(taught, tree, shape_of(tree)), learner)
        leaves = trial.leaves(take(rows, ask))
        answers = [number[tree.named[leaf]] for leaf in leaves]
        predicted.append([[answer] for answer in answers])
        standings.append(_standing(trial, predicted[-1], truth))
    return PruningReport(
        result.taxonomy,
        result.removed,
        result.tried,
        standings[0],
        standings[1],
        micro_sign_test(truth, predicted[1], predicted[0]),
        len(learn),
        len(ask),
        options.policy,
    )


def _standing(
    trial: TrialTree, predicted: list[list[int]], truth: list[list[int]]
) -> PruningState:
    pairs, places = zip(predicted, truth, strict=True), trial.nodes.places
    error = float(np.mean([answers[0] not in labels for answers, labels in pairs]))
    branching = places.branching
    ratio = complexity_ratio(branching, len(places.leaves))
    limit = trial.bound(trial.margins())
    return PruningState(error, complexity(branching), ratio, limit)
