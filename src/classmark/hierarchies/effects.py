"""Did pruning help? Before and after, on documents that had no part in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from classmark.corpus.splits import train_test
from classmark.hierarchies.bounds import (
    Bound,
    branching_of,
    complexity,
    complexity_ratio,
)
from classmark.hierarchies.comparing import bound_of
from classmark.hierarchies.places import Places, places_of
from classmark.hierarchies.pruning import SCALE, Removed, Wish, pruned
from classmark.hierarchies.trials import Documents, Learner
from classmark.measures.significance import Outcome, micro_sign_test
from classmark.problems import Mistake
from classmark.sparse import Rows, rows_from, take
from classmark.taxonomy.tree import Taxonomy

HELD_OUT = 0.25
FEWEST = 8
SURE = 0.05


class Standing(NamedTuple):
    """How a top-down classifier over one tree stands.

    error : share of the documents held out whose leaf is none of theirs;  complexity :
    Σ |D(v)|(|D(v)| − 1);  ratio : the same over that of flat;  bound : on the error.
    """

    error: float
    complexity: int
    ratio: float
    bound: Bound


@dataclass(frozen=True, eq=False)
class PruningReport:
    """What pruning removed, and how a top-down classifier stands before and after.

    tried : nodes that could have been removed;  chance : micro sign test, is the pruned
    tree right more often [YangLiu99];  trained, tested : documents;  policy : what
    chose the nodes.
    """

    taxonomy: Taxonomy
    removed: tuple[Removed, ...]
    tried: int
    before: Standing
    after: Standing
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
            {"what": what, "before": a, "after": b} for what, (a, b) in pairs.items()
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
    wish: Wish | None = None,
    learner: Learner | None = None,
) -> PruningReport:
    """Prune with three quarters of the documents; try both trees on the others.

    wish : the policy and its options;  learner : what learns at the nodes. ``taxonomy``
    and ``removed`` of the report are those of the three quarters.
    """
    wish, learner = wish or Wish(), learner or Learner()
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
    parts = train_test(len(placed), HELD_OUT, wish.seed)
    learn, ask = (placed[part] for part in parts)
    own = [labels[i] for i in learn]
    result = pruned(taxonomy, take(rows, learn), own, wish, learner)
    number = {node: at for at, node in enumerate(taxonomy)}
    trees = [places_of(tree, own) for tree in (taxonomy, result.taxonomy)]
    truth = [
        [number[places.named[leaf]] for leaf in places.documents.row(i)[0]] for i in ask
    ]
    told, standing = [], []
    for tree in trees:
        names, limit = _tried(tree, take(rows, learn), take(rows, ask), learner)
        told.append([[number[name]] for name in names])
        standing.append(_standing(tree, limit, told[-1], truth))
    return PruningReport(
        result.taxonomy,
        result.removed,
        result.tried,
        standing[0],
        standing[1],
        micro_sign_test(truth, told[1], told[0]),
        len(learn),
        len(ask),
        wish.policy,
    )


def _standing(
    places: Places, limit: Bound, told: list[list[int]], truth: list[list[int]]
) -> Standing:
    wrong = [said[0] not in own for said, own in zip(told, truth, strict=True)]
    branching = branching_of(places)
    ratio = complexity_ratio(branching, len(places.leaves))
    return Standing(float(np.mean(wrong)), complexity(branching), ratio, limit)


def _tried(
    places: Places, learn: Rows, ask: Rows, learner: Learner
) -> tuple[list[Any], Bound]:
    """Train top-down and descend: the category each document comes to, the bound."""
    documents = Documents(places, learn)
    everyone = np.ones(len(learn), np.bool_)
    models = documents.trained(learner, everyone)
    limit = bound_of(documents, models, everyone)
    documents.rows = ask
    leaf = documents.descend(models, np.arange(len(ask)))
    named = dict(zip(places.leaves.tolist(), places.named, strict=True))
    return [named[v] for v in leaf.tolist()], limit
