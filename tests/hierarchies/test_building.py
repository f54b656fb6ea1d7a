"""Trees built over categories that have none, by content and by co-occurrence."""

import numpy as np
import pytest

from classmark.hierarchies.building import (
    CategoryGroups,
    build_taxonomy,
    group_categories,
)
from classmark.problems import Mistake

NAMES = [f"word{at}" for at in range(60)]


def subjects(n=600, seed=0):
    """Thirty categories of five subjects: a word for each, and one for the subject."""
    rng = np.random.default_rng(seed)
    category = np.arange(n) % 30
    X = rng.random((n, 60)) * (rng.random((n, 60)) < 0.1)
    X[np.arange(n), category] += 1.0
    X[np.arange(n), 30 + category // 6] += 2.0
    return X, [f"c{at:02}" for at in category]


def same_subject(tree):
    """Whether the categories below each group are of one subject, and all of it."""
    for root in tree.roots:
        below = [v for v in tree.descendants(root) if tree.is_leaf(v)] or [root]
        yield sorted(below), {int(name[1:]) // 6 for name in below}


def test_content_brings_categories_of_a_subject_together():
    X, y = subjects()
    tree = build_taxonomy(X, y, branching=6, feature_names=NAMES)
    assert set(tree.leaves) == set(y)
    assert len(tree.roots) == 5
    for below, found in same_subject(tree):
        assert len(found) == 1
        assert len(below) == 6
    for root in tree.roots:
        subject = int(tree.children(root)[0][1:]) // 6
        assert root.startswith(f"word{30 + subject}")


def test_documents_of_several_categories_bring_them_together():
    rng = np.random.default_rng(0)
    y = [
        [f"c{s * 6 + k:02}" for k in rng.permutation(6)[:2]]
        for s in rng.integers(0, 5, 600)
    ]
    y[0] = ["c00", "c29"]
    tree = build_taxonomy(np.eye(600), y, by="co-occurrence", branching=6)
    assert [len(found) for _, found in same_subject(tree)] == [1] * 5
    assert tree.roots == [f"group {at}" for at in range(1, 6)]


def test_no_node_has_more_daughters_than_allowed():
    X, y = subjects(900, 1)
    y = [f"{name}{at // 30 % 10}" for at, name in enumerate(y)]
    groups = group_categories(X, y, branching=4)
    tree = groups.taxonomy()
    assert len(groups.categories) == 300
    assert len(tree.roots) <= 4
    daughters = [len(tree.children(v)) for v in tree if not tree.is_leaf(v)]
    assert max(daughters) <= 4
    assert min(daughters) >= 1
    assert all(up < at for at, up in enumerate(groups.parents))
    assert tree == group_categories(X, y, branching=4).taxonomy()


def test_a_category_that_shares_no_document_stays_at_the_top():
    y = [["a", "b"], ["c", "d"], ["a", "b"], ["c", "d"], ["e"]]
    tree = build_taxonomy(np.eye(5), y, by="co-occurrence", branching=2)
    assert "e" in tree.roots
    assert tree.siblings("a") == ["b"]
    assert tree.siblings("c") == ["d"]


def test_few_categories_need_no_groups():
    tree = build_taxonomy(np.eye(3), ["a", "b", "c"])
    assert tree.roots == tree.leaves == ["a", "b", "c"]


def test_groups_of_equal_names_are_told_apart():
    groups = CategoryGroups(
        ["a", "b", "x"], np.array([0, 1, 1]), (-1, -1), (("x",), ("x",))
    )
    assert groups.taxonomy().edges == [("x (2)", "a"), ("x (3)", "b"), ("x (3)", "x")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "colour"}, "by is 'colour': use content or co-occurrence"),
        ({"branching": 1}, "branching is 1"),
        ({"by": "co-occurrence"}, "no two categories share a document"),
    ],
)
def test_mistakes_are_named(options, said):
    with pytest.raises(Mistake, match=said):
        build_taxonomy(np.eye(3), ["a", "b", "c"], **options)


def test_columns_behind_those_with_names_group_and_name_nothing():
    words = np.eye(4)
    behind = np.array([[9.0, 0.0], [0.0, 9.0], [9.0, 0.0], [0.0, 9.0]])
    X, y = np.hstack([words, behind]), ["a", "b", "c", "d"]
    names = ["ash", "bee", "cow", "dew"]
    groups = group_categories(X, y, branching=2, feature_names=names)
    assert sorted(groups.members(at) for at in (0, 1)) == [["a", "c"], ["b", "d"]]
    assert sorted(map(sorted, groups.terms)) == [["ash", "cow"], ["bee", "dew"]]
