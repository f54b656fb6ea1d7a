"""Which inner nodes is a top-down classifier better off without?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import rows_from, take
from classmark.corpus.documents import train_test
from classmark.hierarchies.held_out import Bound, NodeLearner, Removals, TrialTree
from classmark.hierarchies.meta import (
    BOLD,
    CONSERVATIVE,
    Described,
    MetaClassifier,
    shipped,
)
from classmark.hierarchies.places import (
    Nodes,
    Places,
    complexity,
    complexity_ratio,
    places_of,
    require_one_each,
    shape_of,
)
from classmark.language import N_, _, decimal, general, percent, whole
from classmark.measures.significance import Outcome, micro_sign_test
from classmark.problems import Mistake
from classmark.progress import track
from classmark.taxonomy.edits import prune
from classmark.taxonomy.tree import Dummy, Taxonomy
from classmark.validation import generator

RANDOM_SHARE = 0.3
SCALE = 1e-4  # stands for 8BRL, a constant for the worst case, when nodes are tried
SINGLE = N_("decides nothing: it has only one subcategory")


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
    policy: str = "bound",
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
        (RN): a random ``share`` of the nodes, 0.3 if none is given. By layers of inner
        nodes [Malik09]: "flatten-top", the first below the top; "flatten-bottom", those
        above leaves alone; "flatten-alternate", the first, the third, …;  "flatten:2",
        the second.
    base, C : what learns at the nodes ("bound"), as ``fit_node`` explains them.
    options : those of ``PruningOptions``, by name:
    share : the largest share of the removable nodes that go; else as many as deserve
        it.
    bold : remove where it seems to help; otherwise only where the gain is above its
        standard error ("bound") or its probability above 0.7 ("meta").
    meta : the classifier of nodes, a ``MetaClassifier`` of your own (``train_meta``);
        else the shipped one. The policy "meta:FILE" opens one.
    without : leave one collection out of what the shipped one was learned on.

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
    meta: MetaClassifier | None = None


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
    name = require_policy(options.policy)
    if options.meta is not None and (name != "meta" or options.policy != name):
        raise Mistake(f"meta goes with the policy 'meta', not with {options.policy!r}")
    places, rows = places_of(taxonomy, y), rows_from(X)
    require_one_each(len(rows), len(places.documents))
    trials = Removals(places, rows, learner, seed=options.seed)
    able = [v for v in trials.removable() if v < len(places.tree)]
    share = 1.0 if options.share is None else options.share
    removals = CHOOSERS[name](trials, able, options, round(share * len(able)))
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
            removals.append((v, _(SINGLE) if free else removal.why))
    return removals


def _by_meta(
    trials: Removals, able: list[int], options: PruningOptions, most: int
) -> Chosen:
    """By a classifier of nodes, the surest first."""
    path = options.policy.partition(":")[2]
    meta = MetaClassifier.open(path) if path else options.meta
    meta = shipped(options.without) if meta is None else meta
    described = Described(trials)
    tree = trials.daughters
    least = BOLD if options.bold else CONSERVATIVE
    ranked: list[tuple[float, int, str]] = []
    for v in track(able, "describing nodes", len(able)):
        p = trials.parent(v)
        if min(len(tree[v]), len(tree[p])) == 1:
            ranked.append((1.0, v, _(SINGLE)))
        elif len(trials.at(v)):
            features = described.features(v, p)
            chance = float(meta.probability(features[np.newaxis])[0])
            if chance > least:
                why = _("better without it, probability %(p)s", p=decimal(chance))
                ranked.append((chance, v, why))
    ranked.sort(key=lambda entry: -entry[0])
    return [(v, why) for _, v, why in ranked[:most]]


def _at_random(
    _trials: Removals, able: list[int], options: PruningOptions, most: int
) -> Chosen:
    count = most if options.share is not None else round(RANDOM_SHARE * len(able))
    drawn = generator(options.seed).permutation(len(able))[:count]
    return [(able[at], _("at random")) for at in np.sort(drawn)]


def _by_layer(
    trials: Removals, able: list[int], options: PruningOptions, most: int
) -> Chosen:
    """Whole layers of inner nodes; number 1 is right below the top."""
    places, tree = trials.places, trials.daughters
    layer = places.tree.lineage.depths + int(places.root == len(places.tree))
    name, _colon, number = options.policy.partition(":")
    deepest = max((int(layer[v]) for v in able), default=0)
    if number and not 1 <= int(number) <= deepest:
        raise Mistake(
            f"policy {options.policy!r}: the layers of inner categories that can go: "
            f"{deepest}: give a number up to that, or another policy"
        )
    chosen: Chosen = []
    for v in able:
        at = int(layer[v])
        if name == "flatten-bottom":
            goes = not any(int(u) in tree for u in tree[v])
        elif name == "flatten-alternate":
            goes = at % 2 == 1
        else:
            goes = at == int(number or 1)
        if goes:
            last = name == "flatten-bottom"
            layer_at = _("layer %(n)s", n=at)
            chosen.append((v, _("only leaves below it") if last else layer_at))
    return chosen[:most]


CHOOSERS: dict[str, Callable[[Removals, list[int], PruningOptions, int], Chosen]] = {
    "bound": _by_bound,
    "meta": _by_meta,
    "random": _at_random,
    "flatten-top": _by_layer,
    "flatten-bottom": _by_layer,
    "flatten-alternate": _by_layer,
    "flatten": _by_layer,
}
POLICIES = (*list(CHOOSERS)[:-1], "flatten:LAYER", "meta:FILE")


def require_policy(policy: str) -> str:
    """The name of a policy without what follows a colon; others are refused.

    >>> require_policy("flatten:2")
    'flatten'
    """
    name, colon, more = policy.partition(":")
    takes = {"flatten": more.isdecimal(), "meta": not colon or bool(more)}
    if name not in CHOOSERS or not takes.get(name, not colon):
        raise Mistake(f"policy {policy!r} is not known: use {', '.join(POLICIES)}")
    return name


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
BOUND_LABEL = N_("theoretical bound on the error (above 1 it says nothing)")


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
            _("removed, of %(n)s inner categories", n=whole(self.tried)): (
                0,
                len(self.removed),
            ),
            _("complexity"): (self.before.complexity, self.after.complexity),
            _("complexity relative to no tree"): (self.before.ratio, self.after.ratio),
            _("held-out error"): (self.before.error, self.after.error),
            _(BOUND_LABEL): (self.before.bound.total, self.after.bound.total),
        }
        return [
            {"what": label, "before": a, "after": b} for label, (a, b) in pairs.items()
        ]

    @property
    def said(self) -> str:
        """In one sentence: better, worse or not to be told apart, and how surely."""
        words = WORSE if self.after.error > self.before.error else BETTER
        return _(
            words if self.chance.p_value < SURE else EQUAL,
            before=percent(self.before.error, 1),
            after=percent(self.after.error, 1),
            n=whole(self.tested),
            p=general(self.chance.p_value, 3),
        )

    @property
    def explained(self) -> str:
        """What decided, and on which documents; nothing where chance did."""
        text = EXPLAINED.get(self.policy.partition(":")[0], "")
        return _(text) % {"price": decimal(SCALE, 4)} if text else ""


BETTER = N_(
    "The simpler tree is significantly better: %(after)s errors instead of %(before)s "
    "on %(n)s test documents (micro sign test, p = %(p)s)"
)
WORSE = N_(
    "The simpler tree is significantly worse: %(after)s errors instead of %(before)s "
    "on %(n)s test documents (micro sign test, p = %(p)s)"
)
EQUAL = N_(
    "There is no significant difference: %(before)s errors before, %(after)s after, on "
    "%(n)s test documents (micro sign test, p = %(p)s)"
)
EXPLAINED = {
    "bound": N_(
        "a category is removed if this gains more documents in cross-validation than a "
        "price for complexity (%(price)s √m Σ|D|(|D| − 1) documents) and, unless bold, "
        "than the standard error; the gains listed are on the documents used for "
        "choosing; the theoretical bound is not used"
    ),
    "meta": N_(
        "a classifier that learned from other categories chose those to remove; the "
        "theoretical bound is not used"
    ),
}


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
