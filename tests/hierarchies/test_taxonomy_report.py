"""The report: every figure counted again, with and without documents."""

from types import SimpleNamespace

import numpy as np
import pytest

from classmark.corpus.documents import train_test
from classmark.hierarchies.flat import FlatClassifier
from classmark.hierarchies.held_out import NodeLearner
from classmark.hierarchies.places import places_of
from classmark.hierarchies.report import (
    HELD_OUT,
    compare,
    favoured,
    taxonomy_report,
)
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy

TREE = Taxonomy(
    [("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("a", 3), ("b", "c"), ("c", 4)]
)


def documents(n=80):
    rng = np.random.default_rng(0)
    leaf = rng.integers(1, 4, n)
    X = rng.random((n, 12)) * (rng.random((n, 12)) < 0.3)
    X[np.arange(n), leaf] += 1.0
    return X, leaf.tolist()


def test_the_tree_alone():
    report = taxonomy_report(TREE)
    assert (report.nodes, report.leaves, report.depth, report.roots) == (8, 4, 3, 1)
    assert report.mean_branching == pytest.approx(7 / 4)
    assert (report.max_branching, report.single_daughters) == (3, 2)
    assert report.complexity_ratio == pytest.approx((2 + 6) / 12)
    assert report.cost_top_down == pytest.approx((5 + 5 + 5 + 4) / 4)
    assert report.documents is None
    assert report.strategy is None
    said = {row["what"]: row["value"] for row in report.rows()}
    assert said["leaves, K"] == 4
    assert said["why"] == "documents are needed to choose a strategy"
    assert "documents" not in said


def test_with_documents_every_figure_is_there():
    X, y = documents()
    report = taxonomy_report(TREE, X, y)
    assert (report.documents, report.features) == (80, 12)
    assert report.empty_leaves == 1
    assert report.rare_leaves == 0.25
    assert report.size_flat == 4 * 12
    assert report.size_top_down == (2 + 3) * 12
    assert report.cost_top_down == 5
    assert report.class_sizes.ranks == 3
    assert report["error_top_down"] == report.error_top_down
    assert report.strategy == "top-down"
    assert "on 20 test documents" in report.why
    assert report.bound_flat.total > report.bound_top_down.total
    said = {row["what"]: row["value"] for row in report.rows()}
    assert said["training error, flat"] == report.training_error_flat
    assert said["training error, top-down"] == report.training_error_top_down
    assert 0 < report.training_error_flat < 0.1
    assert "training error, top-down / flat" not in said
    assert all(row["value"] is not None for row in report.rows())


def test_ratios_are_those_of_the_errors_of_both_classifiers():
    """Top-down and flat, learned from the same three quarters of the documents."""
    tree = Taxonomy([("r", "a"), ("r", "b"), *zip("aabb", range(4), strict=True)])
    rng = np.random.default_rng(3)
    leaf = rng.integers(0, 4, 200)
    X = rng.random((200, 6))
    X[np.arange(200), leaf] += 0.5
    y, exact = leaf.tolist(), {"tol": 1e-6}
    compared = compare(places_of(tree, y), X, NodeLearner(**exact))
    learn, ask = train_test(200, HELD_OUT, 0)
    errors = [
        float(np.mean(model.fit(X[learn], leaf[learn]).predict(X[ask]) != leaf[ask]))
        for model in (TopDownClassifier(tree, **exact), FlatClassifier(**exact))
    ]
    assert errors[0] > errors[1] > 0
    assert compared.ratio == pytest.approx(errors[0] / errors[1])
    report = taxonomy_report(tree, X, y)
    assert report.error_ratio == pytest.approx(
        report.error_top_down / report.error_flat
    )
    assert report.training_error_ratio == pytest.approx(
        report.training_error_top_down / report.training_error_flat
    )


@pytest.mark.parametrize(
    ("tree", "y", "said"),
    [
        (Taxonomy([], nodes=["a"]), ["a"], "fewer than two leaves"),
        (Taxonomy([("r", "a")]), ["a"], "fewer than two leaves"),
        (Taxonomy([]), [[]], "fewer than two leaves"),
        (Taxonomy([], nodes=["a", "b"]), ["a"], "directly below the top"),
        (Taxonomy([("r", "a"), ("r", "b")]), ["b"], "directly below the top"),
    ],
)
def test_where_flat_and_top_down_are_the_same_nothing_is_chosen(tree, y, said):
    report = taxonomy_report(tree, np.eye(20), y * 20)
    assert report.strategy is None
    assert report.why.startswith("there is nothing to compare")
    assert said in report.why
    assert report.documents == 20


def test_a_category_below_two_others_is_a_daughter_of_both():
    tree = Taxonomy([("r", "a"), ("r", "b"), *((up, c) for up in "ab" for c in "123")])
    report = taxonomy_report(tree)
    assert report.complexity_ratio == pytest.approx((2 + 6 + 6) / 6)
    assert report.mean_branching == pytest.approx(8 / 3)


def test_it_reads_like_a_dictionary():
    report = taxonomy_report(TREE)
    assert {**report}["leaves"] == 4
    with pytest.raises(KeyError):
        report["rows"]


def test_documents_at_inner_nodes_and_several_roots_are_counted():
    tree = Taxonomy([("a", 1), ("a", 2), ("b", 3)])
    X, y = np.eye(4)[[0, 1, 2, 3] * 4], [1, 2, 3, "a"] * 4
    report = taxonomy_report(tree, X, [[c] for c in y])
    assert (report.nodes, report.leaves, report.roots) == (5, 4, 2)
    assert report.max_branching == 3
    assert report.L == 2


def test_few_documents_are_not_compared():
    report = taxonomy_report(TREE, np.eye(3), [1, 2, 3])
    assert report.error_ratio is None
    assert "too few" in report.why


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (np.eye(2), None, "give both"),
        (None, [1, 2], "give both"),
        (np.eye(2), [1], "X has 2 rows, y 1 entries"),
        (np.eye(2), [1, "x"], "'x' is not a category"),
    ],
)
def test_mistakes_are_named(X, y, said):
    with pytest.raises(Mistake, match=said):
        taxonomy_report(TREE, X, y)


class Measured:
    """A comparison whose outcome is given."""

    def __init__(self, ratio, p_value):
        self.ratio, self.tested = ratio, 100
        self.flat = self.top_down = SimpleNamespace(held_out=0.1)
        self.chance = type("Outcome", (), {"p_value": p_value})


def test_where_neither_errs_no_ratio_is_told():
    measured = Measured(1.0, 1.0)
    measured.flat = measured.top_down = SimpleNamespace(held_out=0.0)
    _, why = favoured(measured, 0.01, 10**6)
    assert why.startswith("on 100 test documents neither makes an error")


@pytest.mark.parametrize(
    ("ratio", "p", "weights", "strategy"),
    [
        (1.2, 0.01, 10**6, "flat"),
        (1.2, 0.01, 10**10, "pruned"),
        (1.2, 0.2, 10**6, "top-down"),
        (0.8, 0.01, 10**6, "top-down"),
        (np.inf, 0.01, 10**6, "flat"),
    ],
)
def test_the_strategy_follows_errors_chance_and_memory(ratio, p, weights, strategy):
    found, why = favoured(Measured(ratio, p), 0.01, weights)
    assert found == strategy
    assert "100 test documents" in why
    assert ("∞ times as many" in why) == np.isinf(ratio)


def test_the_dry_run_of_lshtc_is_described(data):
    from classmark.datasets import load

    loaded = load("lshtc1-dryrun", data, split="task2")
    report = taxonomy_report(loaded.taxonomy)
    assert (report.leaves, report.roots, report.depth) == (1_139, 10, 4)
    assert report.complexity_ratio == pytest.approx(0.0068, abs=1e-4)
    assert report.cost_top_down < 60
