"""Flat, top-down and pruned on a small made-up taxonomy."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from classmark.hierarchies.flat import FlatClassifier
from classmark.taxonomy.tree import Taxonomy
from reproductions import PAPERS
from reproductions.taxonomy_lshtc import (
    STRATEGIES,
    Row,
    Size,
    Table,
    choose,
    claims,
    kept_bytes,
    taxonomy_lshtc,
    taxonomy_report,
)
from reproductions.tree_sets import SETS, TreeJudge, TreeSet, load_tree_set

EDGES = [("r", f"m{i}") for i in range(3)] + [
    (f"m{i}", f"l{i}{j}") for i in range(3) for j in range(3)
]


@pytest.fixture(scope="module")
def made():
    """Words of a branch and words of a leaf, and some noise."""
    random = np.random.default_rng(0)
    tree = Taxonomy(EDGES)

    def part(n):
        branch, leaf = random.integers(3, size=n), random.integers(3, size=n)
        X = 0.5 * random.random((n, 20)) * (random.random((n, 20)) < 0.3)
        X[np.arange(n), branch] += 1.0
        X[np.arange(n), 3 + 3 * branch + leaf] += 0.8
        X[:, -1] += 0.1
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        labels = [[f"l{b}{c}"] for b, c in zip(branch, leaf, strict=True)]
        return csr_matrix(X), labels

    return TreeSet("made", tree, *part(120), *part(60))


@pytest.fixture(scope="module")
def table(made):
    return taxonomy_lshtc(
        collections=[made], bases=("svm", "naive-bayes"), without=False
    )


def test_every_strategy_is_tried_with_every_learner(table):
    found = [(row.base, row.strategy) for row in table.rows]
    assert found == [(b, s) for b in ("svm", "naive-bayes") for s in STRATEGIES]
    for row in table.rows:
        assert row.error < 0.3
        assert row.megabytes > 0
        assert 0 <= row.sign <= 1
        assert row.tree_error <= 4 * row.error
    by = {(row.base, row.strategy): row for row in table.rows}
    assert by["svm", "FH"].sign == by["svm", "FH"].t == 1.0
    assert by["svm", "FL"].removed == by["svm", "FH"].pruning == 0.0


@pytest.mark.needs("matplotlib")
def test_the_report_shows_all_and_draws(table, tmp_path):
    report = taxonomy_report(table)
    assert [row["strategy"] for row in report.rows] == list(STRATEGIES)
    assert set(report.rows[0]) >= {"SVM error", "NB error", "SVM hF1", "SVM MB"}
    assert "120 training and 60 test documents" in report.note
    json.dumps(report.facts)
    report.draw(tmp_path / "plot.svg")
    assert "PR-M" in (tmp_path / "plot.svg").read_text()


def test_it_is_among_the_reproductions():
    assert "taxonomy-lshtc" in PAPERS


def _table(errors):
    mean = dict(zip(STRATEGIES, errors, strict=True))
    rows = [
        Row("set", "svm", name, 1.0, error, 0, 0, 0, 2.0 if name == "FL" else 1.0, 0,
            1.0, 0, 0.5, 0.5,
            {r: (error - e - 0.01, error - e + 0.01) for r, e in mean.items()})
        for name, error in mean.items()
    ]  # fmt: skip
    return Table(rows, {"set": Size(1, 1, 1, 1, 1, 1.0, 0.9, 0.1)}, {})


def test_claims_say_what_holds():
    held = claims(_table([0.5, 0.45, 0.4, 0.4, 0.3]))
    assert held[0] == (
        "FH errs no more than FL: holds; surely less in 1, surely more in 0"
    )
    assert held[1] == (
        "svm, FH errs no more than FL: holds (set 0.400 and 0.500, -0.100 (-0.110 … "
        "-0.090), p = 0.500)"
    )
    assert held[2].endswith("FH: holds; surely less in 0, surely more in 0")
    assert all("errs no more" not in c or ": holds" in c for c in held)
    assert "FL wins where categories are balanced: does not hold" in held[8]
    assert held[9].startswith("FH trains faster than FL: holds, p = 1.000; FL/FH on")
    assert held[9].endswith("average 2.00 (2.00 … 2.00): set svm 2×")
    assert held[10].startswith("FH is smaller than FL: does not hold, p = 1.000")
    other = claims(_table([0.3, 0.35, 0.4, 0.5, 0.5]))
    assert all(": does not hold" in claim for claim in other[:8])
    assert other[0].endswith("surely less in 0, surely more in 1")
    assert "balanced: holds" in other[8]


def test_differences_of_errors_have_intervals(table):
    by = {(row.base, row.strategy): row for row in table.rows}
    low, high = by["svm", "FL"].apart["FH"]
    assert low <= by["svm", "FL"].error - by["svm", "FH"].error <= high
    assert set(by["svm", "FL"].apart) == set(STRATEGIES) - {"FL"}


def test_c_is_chosen_by_what_is_held_out(made):
    class Fixed:
        def __init__(self, C):
            self.C = C

        def fit(self, X, y):
            assert (len(y), X.shape[0]) == (90, 90)
            return self

        def predict(self, X):
            return ["l00" if self.C == 1.0 else "r"] * X.shape[0]

    assert choose(made, "svm", lambda _, C: Fixed(C)) == 1.0


def test_a_flat_model_is_measured_as_a_node_is_kept(made):
    model = FlatClassifier("svm").fit(made.X, made.y)
    entries, features = np.count_nonzero(model.weights_), len(model.features_)
    wanted = entries * (4 + 2) + features * 4 + (features + 1) * 4 + 9 * 16
    assert kept_bytes(model) == wanted


def test_the_judge_takes_the_nearest_of_several_categories():
    tree = Taxonomy(EDGES)
    X = csr_matrix((2, 1))
    judge = TreeJudge(TreeSet("t", tree, X, [], X, [["l00", "l22"], ["l10"]]))
    found = judge.measures(["l21", "l10"])
    assert found["error"] == 0.5
    assert found["tree_error"] == 1.0
    assert found["hierarchical_f1"] == pytest.approx(2 * 3 / (4 + 6))
    sign, t = judge.chances(["l22", "l10"], ["l21", "l10"])
    assert 0 < sign <= 1
    assert 0 < t <= 1


@pytest.mark.parametrize(("name", "sizes"), [("lshtc1-dryrun", (4463, 1860))])
def test_a_collection_comes_as_unit_rows(name, sizes, data):
    found = load_tree_set(name, data)
    assert (len(found.y), len(found.y_test)) == sizes
    assert set(SETS) >= {found.name}
    lengths = np.asarray(found.X.multiply(found.X).sum(axis=1)).ravel()
    np.testing.assert_allclose(lengths[lengths > 0], 1.0, rtol=1e-6)
    assert 0.5 < found.rare <= 1.0
    assert 0.5 < found.evenness < 1.0
    assert found.X.shape[1] == found.X_test.shape[1]
