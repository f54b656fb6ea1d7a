"""Nodes that mislead go, nodes that help stay, and labels keep their meaning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.hierarchies.held_out import NodeLearner, Removal
from classmark.hierarchies.places import places_of
from classmark.hierarchies.pruning import (
    PruningOptions,
    prune_taxonomy,
    pruned,
    pruning_report,
)
from classmark.problems import Mistake
from classmark.taxonomy.edits import prune
from classmark.taxonomy.tree import Taxonomy
from trees import MISLEADING, confusing, helpful


def test_a_node_that_no_line_can_separate_goes():
    X, y = confusing()
    found = pruned(MISLEADING, X, y, PruningOptions("bound"), NodeLearner())
    assert {entry.node for entry in found.removed} & {"a", "b"}
    assert all("documents used for choosing" in entry.why for entry in found.removed)
    assert found.tried == 2
    report = pruning_report(MISLEADING, X, y)
    assert report.after.error < report.before.error / 2
    assert report.chance.p_value < 0.01
    assert report.said.startswith("The simpler tree is significantly better")
    assert report.after.complexity > report.before.complexity
    assert report.rows()[3]["what"] == "held-out error"
    removed = {"before": 0, "after": len(report.removed)}
    assert report.rows()[0] == {"what": "removed, of 2 inner categories", **removed}
    assert report.rows()[-1]["what"].startswith("theoretical bound")
    assert "price for complexity (0.0001 √m Σ" in report.explained
    assert "on the documents used for choosing" in report.explained


@pytest.mark.parametrize(
    ("policy", "said"), [("meta", "learned from other categories"), ("random", "")]
)
def test_what_decided_is_said(policy, said):
    X, y = confusing(80)
    explained = pruning_report(MISLEADING, X, y, PruningOptions(policy)).explained
    assert said in explained
    assert bool(said) == bool(explained)


@pytest.mark.parametrize("tree", [Taxonomy([], nodes=["a"]), Taxonomy([("r", "a")])])
def test_a_single_leaf_leaves_nothing_to_choose_between(tree):
    X, y = np.eye(20), ["a"] * 20
    for policy in ("bound", "meta", "random"):
        assert prune_taxonomy(tree, X, y, policy) == tree
        with pytest.raises(Mistake, match="nothing to choose between"):
            pruning_report(tree, X, y, PruningOptions(policy))


def test_complexity_has_its_price(monkeypatch):
    X, y = confusing()
    monkeypatch.setattr("classmark.hierarchies.pruning.SCALE", 10.0)
    assert prune_taxonomy(MISLEADING, X, y, bold=True) == MISLEADING


def test_a_node_that_changes_nothing_stays():
    tree, X, y = helpful(n=240)
    X = np.hstack([X[:, :12] * 4, X[:, 20:23] * 4])
    assert prune_taxonomy(tree, X, y, bold=True) == tree


def test_a_share_bounds_what_goes():
    X, y = confusing()
    assert prune_taxonomy(MISLEADING, X, y, share=0.0) == MISLEADING
    once = pruned(MISLEADING, X, y, PruningOptions("bound", share=0.5), NodeLearner())
    assert len(once.removed) == 1


def test_signs_are_written_as_minus():
    said = Removal(3.0, 4, 10, -2).why
    assert said.endswith("complexity −2")
    assert said.startswith("+3 correct of the 10 documents")


def test_a_bold_policy_removes_no_less():
    tree, X, y = helpful(n=60)
    shy, bold = (
        pruned(tree, X, y, PruningOptions("meta", bold=bold), NodeLearner()).removed
        for bold in (False, True)
    )
    assert {entry.node for entry in shy} <= {entry.node for entry in bold}


def test_random_removal_takes_the_share_asked_for_and_no_other():
    tree, X, y = helpful()
    found = [
        prune_taxonomy(tree, X, y, "random", share=0.67, random_state=seed)
        for seed in (0, 0, 1, 2, 3)
    ]
    assert found[0] == found[1]
    assert all(len(pruned_tree) == len(tree) - 2 for pruned_tree in found)
    assert len({tuple(pruned_tree.nodes) for pruned_tree in found}) > 1
    one = prune_taxonomy(tree, X, y, "random")
    assert len(one) == len(tree) - 1


@pytest.mark.parametrize("policy", ["bound", "meta", "random"])
def test_a_node_with_documents_of_its_own_stays_as_a_leaf(policy):
    tree = Taxonomy([("r", "a"), ("a", "b"), ("b", 1), ("b", 2), ("r", 3), ("r", 4)])
    X = np.eye(6)[[0, 1, 2, 3, 4, 5] * 4]
    y = [1, 2, 3, 4, "a", "b"] * 4
    share = 1.0 if policy == "random" else None
    left = prune_taxonomy(tree, X, y, policy, share=share, bold=True)
    assert set(y) <= set(left.nodes)
    places_of(left, y)
    if policy == "random":
        assert left.is_leaf("a")
        assert left.parents("b") == ["r"]
        assert left.parents(1) == ["r"]


def test_a_single_daughter_goes_and_a_root_stays():
    tree = Taxonomy([("r", "a"), ("a", "b"), ("b", 1), ("b", 2), ("r", 3)])
    X, y = np.eye(3)[[0, 1, 2] * 4], [1, 2, 3] * 4
    for policy in ("bound", "meta"):
        found = pruned(tree, X, y, PruningOptions(policy), NodeLearner())
        assert "a" in {entry.node for entry in found.removed}
        assert found.taxonomy.roots == ["r"]


@given(st.integers(0, 50), st.floats(0, 1))
def test_the_leaves_stay_whatever_goes(seed, share):
    tree, X, y = helpful(n=30)
    left = prune_taxonomy(tree, X, y, "random", share=share, random_state=seed)
    assert set(left.leaves) == set(tree.leaves)
    assert left.roots == tree.roots


def test_several_roots_and_graphs_are_pruned():
    tree = Taxonomy(
        [("a", 0), ("a", 1), ("b", 2), ("b", 3), ("a", "c"), ("b", "c"), ("c", 4)]
    )
    X, y = confusing(200)
    left = prune_taxonomy(tree, X, y, "random", share=1.0)
    assert left.roots != tree.roots
    assert set(left.leaves) == set(tree.leaves)
    assert prune_taxonomy(tree, X, y, "bound", bold=True).leaves


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policy": "guess"}, "policy 'guess' is not known"),
        ({"share": 1.5}, "share is 1.5"),
        ({"policy": "meta", "without": "nothing"}, "it was learned on"),
        ({"base": "trees"}, "base 'trees' is not known"),
    ],
)
def test_mistakes_are_named(given, said):
    X, y = confusing(40)
    with pytest.raises(Mistake, match=said):
        prune_taxonomy(MISLEADING, X, y, **given)


def test_rows_and_labels_are_to_agree():
    X, y = confusing(40)
    with pytest.raises(Mistake, match="X has 39 rows, y 40 entries"):
        prune_taxonomy(MISLEADING, X[:39], y)
    with pytest.raises(Mistake, match="3 documents have a category"):
        pruning_report(MISLEADING, X[:3], y[:3])


def test_a_report_has_documents_of_several_categories():
    tree, X, y = helpful()
    several = [[at, (at + 1) % 12] for at in y]
    report = pruning_report(tree, X, several, PruningOptions("random", share=1.0))
    assert report.trained + report.tested == len(y)
    assert report.after.ratio == 1.0
    assert report.before.bound.total < report.after.bound.total


LAYERS = Taxonomy(
    [
        ("r", "a"), ("r", "b"), ("r", 0), ("a", "c"), ("a", 1), ("b", 2), ("b", 3),
        ("c", "d"), ("c", 4), ("d", 5), ("d", 6),
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "gone"),
    [
        ("flatten-top", "ab"),
        ("flatten:1", "ab"),
        ("flatten:2", "c"),
        ("flatten:3", "d"),
        ("flatten-bottom", "bd"),
        ("flatten-alternate", ["a", "b", "d"]),
    ],
)
def test_layers_are_flattened_by_name(policy, gone):
    X, y = np.eye(7), list(range(7))
    left = prune_taxonomy(LAYERS, X, y, policy)
    assert left == prune(LAYERS, gone)
    result = pruned(LAYERS, X, y, PruningOptions(policy), NodeLearner())
    assert [entry.node for entry in result.removed] == list(gone)
    assert all("layer" in e.why or "leaves" in e.why for e in result.removed)


def test_the_first_layer_of_several_roots_are_the_roots():
    tree = Taxonomy([("a", 0), ("a", 1), ("b", 2), ("b", "c"), ("c", 3), ("c", 4)])
    left = prune_taxonomy(tree, np.eye(5), list(range(5)), "flatten-top")
    assert left == prune(tree, "ab")


def test_half_a_layer_may_be_asked_for():
    X, y = np.eye(7), list(range(7))
    left = prune_taxonomy(LAYERS, X, y, "flatten-alternate", share=0.25)
    assert left == prune(LAYERS, "a")


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("flatten", "not known: use bound, meta, random, flatten-top"),
        ("flatten:", "not known"),
        ("flatten:x", "not known"),
        ("random:3", "not known"),
        ("meta:", "not known"),
        ("flatten:0", "can go: 3: give a number"),
        ("flatten:4", "can go: 3: give a number"),
    ],
)
def test_layers_that_are_not_there_are_named(policy, said):
    with pytest.raises(Mistake, match=said):
        prune_taxonomy(LAYERS, np.eye(7), list(range(7)), policy)
