"""How far off in the tree are the categories that were assigned?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from classmark.experiments.answers import RARE
from classmark.measures import (
    accuracy_bound,
    classification,
    hierarchical_f,
    tree_induced_error,
)

if TYPE_CHECKING:
    from classmark.experiments.evaluate import Evaluation
    from classmark.taxonomy.tree import Taxonomy

Labels = Sequence[Sequence[int]]
NAMED = ("detected", "F1(micro)", "F1(macro)")


def in_tree(
    found: Evaluation, tree: Taxonomy, categories: Sequence[str]
) -> dict[str, float | None]:
    """Measures that know the tree, and those that know rare categories.

    tree_error : edges from the best category to the nearest right one, mean
    [DekelKeshetSinger04];  hierarchical_f1 : of the best categories, as many as there
    are right ones, with all above them [Kiritchenko05];  detected : how many categories
    were assigned at least once, rightly or not;  accuracy_bound : B(Acc) [Babbar14], by
    the shares of the categories in training;  micro_f1, macro_f1 : of the categories
    assigned;  rare_recall@5 : as in ``Evaluation``, where there are rare ones.

    categories : the node of each label number.
    """
    above = ancestors_of(tree, categories)
    best = [line[0] for line in found.assigned]
    nearest = _nearest(best, found.wanted, above)
    counts = np.bincount(best, minlength=len(categories))
    return {
        "tree_error": tree_induced_error(nearest, best, above),
        "hierarchical_f1": hierarchical_f(found.wanted, found.assigned, above)["f1"],
        "accuracy_bound": accuracy_bound(found.priors, counts),
        RARE: found.measures.get(RARE),
    } | of_assigned(found, len(categories))


def of_assigned(found: Evaluation, categories: int) -> dict[str, float | None]:
    """How right the best categories are, as many as a document has, without a tree."""
    named = classification(found.wanted, found.assigned, NAMED, n_labels=categories)
    return {
        "detected": int(named["detected"]),
        "micro_f1": named["F1(micro)"],
        "macro_f1": named["F1(macro)"],
    }


def ancestors_of(tree: Taxonomy, categories: Sequence[str]) -> list[list[int]]:
    """For each category its node and those above it, the only root left out.

    >>> from classmark.taxonomy.tree import Taxonomy
    >>> ancestors_of(Taxonomy([("r", "a"), ("a", "b")]), ["b", "a"])
    [[1, 2], [1]]
    """
    alone = set(tree.roots) if len(tree.roots) == 1 else set()
    return [
        [tree.number(node) for node in tree.path(name) if node not in alone]
        for name in categories
    ]


def _nearest(best: list[int], wanted: Labels, above: list[list[int]]) -> list[int]:
    """Of the right categories of each document, the one nearest to its best one."""
    sets = [frozenset(nodes) for nodes in above]
    return [
        min(own, key=lambda label, at=at: len(sets[label] ^ sets[at]))  # type: ignore[misc]
        for at, own in zip(best, wanted, strict=True)
    ]
