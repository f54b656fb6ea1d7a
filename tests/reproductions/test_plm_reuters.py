"""The curves of the preference learning model, and what is claimed of them."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from classmark.evaluation.figures import power_laws
from classmark.measures import precision_at_rank
from classmark.problems import Mistake
from reproductions.plm_reuters import (
    CENTERED,
    MAPPINGS,
    RANKS,
    Row,
    Split,
    along,
    claims,
    collection,
    compare,
    curves_report,
    hits,
    trained,
)


def row(method, precision, chance=1.0):
    return Row(method, 1.0, None, {}, precision, dict.fromkeys([1, 2], chance))


def small(seed=0):
    """Documents whose labels can be learned from their words."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((12, 20))
    X = rng.standard_normal((360, 20)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    best = np.argsort(-(X @ truth.T), axis=1)
    labels = [sorted(r[: 1 + i % 2].tolist()) for i, r in enumerate(best)]
    X = csr_matrix(X)
    return Split(X[:300], labels[:300], X[300:], labels[300:], list("abcdefghijkl"))


def test_hits_count_true_labels_within_a_rank():
    scores = np.array([[0.9, 0.5, 0.1], [0.1, 0.2, 0.3]])
    assert hits(scores, [[0, 2], [1]], [1, 2, 3]).tolist() == [[1, 0], [1, 1], [2, 1]]


def test_documents_add_up_to_the_precision_along_ranks():
    rng = np.random.default_rng(2)
    scores, labels = rng.random((30, 8)), [[i % 8, (3 * i + 1) % 8] for i in range(30)]
    labels = [sorted(set(own)) for own in labels]
    means = precision_at_rank(scores, labels)[1:5].mean()
    assert along(scores, labels, (2, 5)).mean() == pytest.approx(means)


def test_claims_follow_the_numbers():
    curves = {
        "dis": [0.9, 0.9, 1.0],
        "dom": [0.95, 0.7, 1.0],
        "dme": [0.8, 0.95, 1.0],
        "dom-dme": [0.9, 0.91, 1.0],
        "svm": [0.85, 0.8, 1.0],
    }
    rest = [1.0] * 9
    said = claims([row(name, curve + rest, 0.01) for name, curve in curves.items()])
    assert said[0].startswith("dis is above svm along the ranks: holds; above at 2 of")
    assert "does not hold; above at 1 of 11 ranks, below at 1" in said[1]
    assert "surely above (p < 0.05) at 1, surely below at 2" in said[1]
    assert "alike at every rank: does not hold; they differ by at most 0.01" in said[4]
    assert "dom is best at low ranks (1 to 3): does not hold, dom-dme" in said[5]


def test_claims_need_every_mapping():
    with pytest.raises(Mistake, match="lack dis, dme, dom-dme, svm"):
        claims([row("dom", [1.0])])
    with pytest.raises(Mistake, match="3 categories: high ranks start at 10"):
        claims([row(name, [0.8, 0.9, 1.0]) for name in MAPPINGS])


def test_every_mapping_is_chosen_trained_and_measured():
    split = small()
    found = compare(split, [0.1, 10.0], 2)
    assert [row.method for row in found.rows] == [*MAPPINGS, CENTERED]
    assert (found.trained, found.tested, found.words) == (300, 60, 20)
    for entry in found.rows:
        assert entry.C in (0.1, 10.0)
        assert len(entry.precision) == 12
        assert entry.precision[-1] == 1
        assert set(entry.chance) == set(RANKS)
        assert entry.measures["average_precision"] > 0.6
    assert found.rows[-1].center in (1.0, 3.0, 10.0)
    assert {entry.chance[1] for entry in found.rows if entry.method == "svm"} == {1.0}
    *_, low, _, _, high = found.claims
    assert low.startswith("dom less dom-dme, mean of ranks 1 to 3: ")
    assert high.startswith("dme less dom-dme, mean of ranks 10 to 11: ")
    shown = curves_report(found).rows
    assert shown[1]["π(1)"] == found.rows[1].precision[0]
    assert shown[4]["ranks above svm"] == 0


def test_the_c_that_learns_is_chosen_over_the_one_that_does_not():
    assert trained(small(), "dom", (None,), ([1e-6, 10.0], 3)).C == 10.0


def test_the_collection_has_the_papers_numbers(data):
    split = collection(data)
    assert len(split.labels) == split.X.shape[0] == 7775
    assert len(split.test_labels) == split.X_test.shape[0] == 3019
    assert len(split.categories) == 115


def test_each_series_is_drawn_with_its_slope(tmp_path):
    sizes = np.array([1e3, 1e4, 1e5])
    power_laws({"even": (sizes, 1e-6 * sizes)}, tmp_path / "cost.svg", "Cost")
    assert "even: slope 1.00" in (tmp_path / "cost.svg").read_text()
