"""Ways down a tree, to the likeliest daughter each time, and where to end on them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Bools, Floats, Ints
from classmark.hierarchies.held_out import numbered
from classmark.hierarchies.nodes import posterior
from classmark.hierarchies.places import Places, rows_of_ones
from classmark.problems import Mistake
from classmark.ranking import top
from classmark.sparse import Rows
from classmark.taxonomy.tree import Dummy, Taxonomy

OTHERS = (0.5, 0.25, 2.0)  # scales beside the fitted one, as parts of it
CERTAIN = 1e-6  # probabilities nearer to 0 or 1 are not told apart
NOT_A_LEAF = -20.0  # below the log-odds of every leaf
LEAD = 50.0  # the most that a lead counts


class Placed(NamedTuple):
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
    membership, classes = below.to_scipy(), posterior(scores, scale)
    others = [posterior(scores, scale * part) for part in OTHERS]
    views = [np.asarray(chances @ membership) for chances in (classes, *others)]
    many = np.bincount(below.columns, minlength=below.width)
    documents = sizes.astype(np.float64) @ membership
    of_document = _of_documents(scores, classes, scale)
    at = np.full(len(scores), places.root, np.int64)
    every = np.arange(len(at))
    nodes: list[Ints] = []
    steps: list[Floats] = []
    features: list[Floats] = []
    while not nodes or (at >= 0).any():
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
                    np.full(len(at), float(len(nodes))),
                    of_document,
                )
            )
        )
        at = daughters
    falling = np.minimum.accumulate(np.column_stack(steps), axis=1)
    return Ways(np.column_stack(nodes), falling, np.stack(features, axis=1))


def _of_documents(scores: Floats, chances: Floats, scale: float) -> Floats:
    best = top(scores, 2)
    first = np.take_along_axis(scores, best[:, :1], axis=1)[:, 0]
    second = np.take_along_axis(scores, best[:, -1:], axis=1)[:, 0]
    lead = np.minimum(scale * (first - second), LEAD)
    entropy = -(chances * np.log(np.maximum(chances, 1e-300))).sum(axis=1)
    return np.column_stack((scale * first, lead, entropy))


def _log_odds(chances: Floats) -> Floats:
    p = np.clip(chances, CERTAIN, 1 - CERTAIN)
    log_odds: Floats = np.log(p) - np.log1p(-p)
    return log_odds


def joined(parts: Sequence[Ways]) -> Ways:
    """The ways of several blocks of documents, the shorter ones lengthened."""
    steps = max(part.nodes.shape[1] for part in parts)
    nodes, chances, features = [], [], []
    for part in parts:
        more = ((0, 0), (0, steps - part.nodes.shape[1]))
        nodes.append(np.pad(part.nodes, more, constant_values=-1))
        chances.append(np.pad(part.chances, more, constant_values=-np.inf))
        features.append(np.pad(part.features, (*more, (0, 0))))
    return Ways(*map(np.concatenate, (nodes, chances, features)))


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
    above = [sorted(_lineage(places.tree, name)) for name in names]
    tree = rows_of_ones(above, places.size).to_scipy()
    true = numbered(categories, names).to_scipy() @ tree
    document, step = np.nonzero(ways.nodes >= 0)
    right = np.zeros(ways.nodes.shape, np.bool_)
    if len(document):
        here = true[document, ways.nodes[document, step]]
        right[document, step] = np.asarray(here).ravel() > 0
    return right


def _lineage(tree: Taxonomy, name: Hashable) -> list[int]:
    """The numbers of a category, or its own leaf, and of those above it."""
    if name not in tree:
        raise Mistake(f"y: {name!r} is not a category of the taxonomy")
    node = Dummy(name) if Dummy(name) in tree else name
    return [int(v) for v in tree.numbers([node, *tree.ancestors(node)])]


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
