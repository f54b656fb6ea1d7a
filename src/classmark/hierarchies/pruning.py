"""Which inner nodes is a top-down classifier better off without?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from classmark.hierarchies.places import Places, places_of
from classmark.hierarchies.removals import Removal, Removals
from classmark.hierarchies.trials import Documents, Learner
from classmark.problems import Mistake
from classmark.progress import track
from classmark.randomness import generator
from classmark.sparse import rows_from
from classmark.taxonomy.edits import prune
from classmark.taxonomy.tree import Dummy, Taxonomy

Policy = Literal["bound", "meta", "random"]
RANDOM_SHARE = 0.3
SCALE = (
    1e-4  # what stands for 8BRL, a constant for the worst case, when nodes are tried
)
SINGLE = "decides nothing: a single daughter"
BOLD, CONSERVATIVE = (
    0.5,
    0.7,
)  # probabilities from which the classifier of nodes removes


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
    share: float | None = None,
    bold: bool = False,
    base: str = "svm",
    C: float = 1.0,
    random_state: int = 0,
    without: str | None = None,
) -> Taxonomy:
    """Remove inner nodes that a top-down classifier is better off without [Babbar13].

    The daughters of a removed node are lifted to its parent; one that has documents of
    its own stays as a leaf beside them, so that ``y`` keeps its meaning. Roots that
    stand alone and nodes with several parents stay.

    policy : "bound" (PR-B): from the top down, a node goes when errors on documents
        held out plus complexity fall. "meta" (PR-M): a classifier learned on other
        taxonomies says which; no document is held out, nothing is trained. "random"
        (RN): a random ``share`` of the nodes, 0.3 if none is given.
    share : the largest share of the removable nodes that go; else as many as deserve
        it.
    bold : remove where it seems to help; otherwise only where the gain is above its
        standard error ("bound") or its probability above 0.7 ("meta").
    base, C : what learns at the nodes ("bound"), as ``fit_node`` explains them.
    without : leave one collection out of what "meta" was learned on.

    A node with a single daughter decides nothing, and always goes ("bound", "meta").

    >>> tree = Taxonomy([("r", "a"), ("a", "b"), ("b", 1), ("b", 2), ("r", 3)])
    >>> X, y = [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]] * 3, [1, 2, 3] * 3
    >>> prune_taxonomy(tree, X, y).edges
    [('r', 'b'), ('b', 1), ('b', 2), ('r', 3)]
    """
    learner = Learner(base, C, seed=random_state)
    wish = Wish(policy, share, bold, without, random_state)
    return pruned(taxonomy, X, y, wish, learner).taxonomy


@dataclass(frozen=True, slots=True)
class Wish:
    """How a taxonomy is to be pruned: see ``prune_taxonomy``."""

    policy: str = "bound"
    share: float | None = None
    bold: bool = False
    without: str | None = None
    seed: int = 0


def pruned(
    taxonomy: Taxonomy, X: Any, y: Iterable[Any], wish: Wish, learner: Learner
) -> Pruned:
    """Prune as ``prune_taxonomy`` does, and say what was removed and why."""
    if wish.share is not None and not 0 <= wish.share <= 1:
        raise Mistake(f"share is {wish.share}: give a number between 0 and 1")
    if wish.policy not in CHOOSERS:
        known = ", ".join(map(repr, CHOOSERS))
        raise Mistake(f"policy {wish.policy!r} is not known: use {known}")
    places, rows = places_of(taxonomy, y), rows_from(X)
    if len(rows) != len(places.documents):
        raise Mistake(
            f"X has {len(rows)} rows, y {len(places.documents)} entries: give one each"
        )
    trials = Removals(Documents(places, rows), learner, seed=wish.seed)
    able = [v for v in trials.removable() if v < len(places.tree)]
    share = 1.0 if wish.share is None else wish.share
    found = CHOOSERS[wish.policy](trials, able, wish, round(share * len(able)))
    nodes = places.tree.nodes
    removed = tuple(Removed(nodes[v], why) for v, why in found)
    return Pruned(_lifted(taxonomy, places, removed), removed, len(able))


Chosen = list[tuple[int, str]]


def _by_bound(trials: Removals, able: list[int], wish: Wish, most: int) -> Chosen:
    """From the top down; every removal changes what the next ones are tried on."""
    found: Chosen = []
    placed = np.diff(trials.documents.places.documents.starts) > 0
    price = SCALE * np.sqrt(placed.sum())
    for v in track(able, "trying nodes", len(able)):
        if len(found) == most:
            break
        removal = trials.attempt(v)
        asked = price * removal.terms + (0.0 if wish.bold else removal.spread)
        free = removal.terms <= 0 <= removal.gain
        if free or removal.gain > asked:
            trials.remove(v)
            found.append((v, SINGLE if free else _reason(removal)))
    return found


def _reason(removal: Removal) -> str:
    """Gain and price, in documents that were held out by folds, but chosen by."""
    rise = f"{removal.terms:+d}".replace("-", "−")
    return (
        f"{removal.gain:+.0f} right of {removal.tested} documents it was chosen on "
        f"(standard error {removal.spread:.1f}), complexity {rise}"
    )


def _by_meta(trials: Removals, able: list[int], wish: Wish, most: int) -> Chosen:
    """By the shipped classifier, the surest first."""
    from classmark.hierarchies.meta import Described, shipped

    meta, described = shipped(wish.without), Described(trials.documents)
    tree = trials.documents.daughters
    least = BOLD if wish.bold else CONSERVATIVE
    ranked: list[tuple[float, int, str]] = []
    for v in track(able, "describing nodes", len(able)):
        p = trials.parent(v)
        if min(len(tree[v]), len(tree[p])) == 1:
            ranked.append((1.0, v, SINGLE))
        elif len(trials.documents.at(v)):
            features = described.features(v, p)
            chance = float(meta.probability(features[np.newaxis])[0])
            if chance > least:
                ranked.append((chance, v, f"better without, probability {chance:.2f}"))
    ranked.sort(key=lambda entry: -entry[0])
    return [(v, why) for _, v, why in ranked[:most]]


def _at_random(_: Removals, able: list[int], wish: Wish, most: int) -> Chosen:
    count = most if wish.share is not None else round(RANDOM_SHARE * len(able))
    drawn = generator(wish.seed).permutation(len(able))[:count]
    return [(able[at], "at random") for at in np.sort(drawn)]


CHOOSERS: dict[str, Callable[[Removals, list[int], Wish, int], Chosen]] = {
    "bound": _by_bound,
    "meta": _by_meta,
    "random": _at_random,
}


def _lifted(
    taxonomy: Taxonomy, places: Places, removed: tuple[Removed, ...]
) -> Taxonomy:
    """The taxonomy without the removed; those with documents stay, as leaves."""
    gone = {entry.node for entry in removed}
    stay = {node for node in gone if Dummy(node) in places.tree}
    left = prune(taxonomy, gone)
    fresh = [(up, node) for node in stay for up in _standing(taxonomy, node, gone)]
    order = [node for node in taxonomy if node not in gone or node in stay]
    return Taxonomy([*left.edges, *fresh], nodes=order)


def _standing(taxonomy: Taxonomy, node: Hashable, gone: set[Any]) -> list[Any]:
    """The nearest category above that is not removed, none above a root."""
    above = taxonomy.parents(node)[:1]
    while above and above[0] in gone:
        above = taxonomy.parents(above[0])[:1]
    return above
