"""What a report of the taxonomy says in sentences."""

import numpy as np
import pytest

from classmark.hierarchies.report import taxonomy_report
from classmark.taxonomy.tree import Taxonomy
from classmark.workbench.categories.report import sentences

TREE = [("r", "a"), ("r", "b"), ("a", "c"), ("a", "d")]


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (
            Taxonomy(TREE),
            (
                "The taxonomy has 5 categories: 1 at the top, 3 without "
                "subcategories, 2 levels below the top. A category with subcategories "
                "has 2.0 of them on average and 2 at most; 0 have only one."
            ),
        ),
        (Taxonomy([], nodes=["a", "b"]), "2 categories, none above another."),
        (
            Taxonomy([("r", "a")]),
            "2 categories: 1 at the top, 1 without subcategories",
        ),
        (Taxonomy([*TREE, ("b", "e")]), "; 1 have only one."),
    ],
)
def test_categories_are_counted_without_those_at_the_top(tree, said):
    assert said in sentences(taxonomy_report(tree))["categories"]


def test_no_leaf_is_rare_where_none_is():
    y = [[name] for name in ("b", "c", "d") * 20]
    report = taxonomy_report(Taxonomy(TREE), np.eye(60), y)
    assert "0 % of the leaves have at most 10" in sentences(report)["documents"]
    report = taxonomy_report(Taxonomy(TREE), np.eye(60), [["b"]] * 40 + [["c"]] * 20)
    assert "33 % of the leaves have at most 10" in sentences(report)["documents"]
