"""How good are predicted categories, seen on the tree, and is a difference chance?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from classmark.experiments.tree_sets import TreeSet
from classmark.measures.classification import (
    classification,
    hierarchical_f,
    tree_induced_error,
)
from classmark.measures.significance import macro_t_test, micro_sign_test

MACRO = "F1(macro)"


class TreeJudge:
    """Measures predictions by the whole tree of a collection."""

    def __init__(self, given: TreeSet) -> None:
        tree = given.taxonomy
        self.number = {node: at for at, node in enumerate(tree)}
        top = set(tree.roots) if len(tree.roots) == 1 else set()
        self.above = [
            [self.number[v] for v in {node, *tree.ancestors(node)} - top]
            for node in tree
        ]
        self.given = given
        self.truth = [[self.number[label] for label in own] for own in given.y_test]

    def measures(self, predicted: list[str]) -> dict[str, float]:
        """Error, macro-F1, tree-induced error, hierarchical F1."""
        told = [self.number[label] for label in predicted]
        single = [[at] for at in told]
        nearest = [self._nearest(*pair) for pair in zip(told, self.truth, strict=True)]
        return {
            "error": error_of(predicted, self.given.y_test),
            "macro_f1": classification(self.truth, single, [MACRO])[MACRO],
            "tree_error": tree_induced_error(nearest, told, self.above),
            "hierarchical_f1": hierarchical_f(self.truth, single, self.above)["f1"],
        }

    def chances(self, predicted: list[str], beside: list[str]) -> tuple[float, float]:
        """P of the micro sign test and of the macro t-test."""
        own, other = (
            [[self.number[label]] for label in each] for each in (predicted, beside)
        )
        return (
            micro_sign_test(self.truth, own, other).p_value,
            macro_t_test(self.truth, own, other).p_value,
        )

    def _nearest(self, told: int, own: list[int]) -> int:
        """The category of the document that is nearest in the tree."""
        here = set(self.above[told])
        apart = [len(here.symmetric_difference(self.above[at])) for at in own]
        return own[int(np.argmin(apart))]


def error_of(predicted: Sequence[str], truth: Sequence[Sequence[str]]) -> float:
    """Share of the documents whose prediction is none of their categories.

    >>> error_of(["a", "b"], [["a", "c"], ["a"]])
    0.5
    """
    wrong = [best not in own for best, own in zip(predicted, truth, strict=True)]
    return float(np.mean(wrong))
