"""Probabilities from scores, and scores of documents not learned from."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss

from classmark.arrays import rows_from
from classmark.hierarchies.flat import FlatClassifier
from classmark.hierarchies.held_out import FittedClassifier, fitted, parted
from classmark.hierarchies.places import numbered
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.problems import Mistake
from classmark.rankers.calibration import fitted_scale, posterior
from classmark.rankers.linear import Rocchio
from classmark.taxonomy.tree import Taxonomy


def noisy(n=300, k=4, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(k, size=n)
    return np.eye(k)[y] + random.normal(size=(n, k)), y


def test_the_scale_is_that_of_least_log_loss():
    scores, y = noisy()
    found = fitted_scale(scores, numbered(y.tolist(), range(4)))
    best = minimize_scalar(
        lambda t: log_loss(y, posterior(scores, np.exp(t))), bounds=(-5, 5)
    )
    assert found == pytest.approx(np.exp(best.x), rel=1e-3)


def test_scores_times_ten_have_a_tenth_of_the_scale():
    scores, y = noisy()
    labels = numbered(y.tolist(), range(4))
    one, ten = fitted_scale(scores, labels), fitted_scale(10 * scores, labels)
    assert one == pytest.approx(10 * ten, rel=1e-3)


def test_of_several_classes_the_sum_is_to_be_likely():
    scores = np.tile([[2.0, 1.0, 0.0]], (10, 1))
    both = numbered([[0, 1]] * 9 + [[2]], range(3))
    found = posterior(scores[:1], fitted_scale(scores, both))[0]
    assert found[2] == pytest.approx(0.1, abs=1e-3)


def test_a_class_that_cannot_be_has_no_probability():
    found = posterior([[1.0, -np.inf, 1.0]], 3.0)
    assert found.tolist() == [[0.5, 0.0, 0.5]]
    scores, y = noisy()
    wide = np.column_stack((scores, np.full(len(scores), -np.inf)))
    labels = numbered(y.tolist(), range(4)), numbered(y.tolist(), range(5))
    assert fitted_scale(wide, labels[1]) == pytest.approx(
        fitted_scale(scores, labels[0]), rel=1e-6
    )


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([1.0, 2.0], "a matrix"),
        ([[0.0, 1.0], [np.nan, 1.0]], "row 1: the best score"),
        ([[0.0, 1.0], [-np.inf, -np.inf]], "row 1: the best score"),
    ],
)
def test_scores_that_mean_nothing_are_named(scores, said):
    with pytest.raises(Mistake, match=said):
        posterior(scores)


def test_a_scale_needs_documents():
    with pytest.raises(Mistake, match="no document has a class"):
        fitted_scale([[0.0, 1.0]], numbered([[]], range(2)))
    with pytest.raises(Mistake, match=r"shape \(1, 2\), labels \(1, 3\)"):
        fitted_scale([[0.0, 1.0]], numbered([0], range(3)))


def test_columns_come_in_the_order_asked_for():
    model = fitted(FlatClassifier(), np.eye(3), ["c", "a", "b"])
    assert model.classes == ["a", "b", "c"]
    mixed = model.scores(np.eye(3), ["c", "nobody", "a"])
    own = model.scores(np.eye(3))
    assert mixed[:, 0].tolist() == own[:, 2].tolist()
    assert mixed[:, 2].tolist() == own[:, 0].tolist()
    assert np.isneginf(mixed[:, 1]).all()


def test_a_ranker_of_numbers_is_told_what_they_stand_for():
    tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    given = fitted(TaxonomyRanker(tree, ["b", 2, 1]), np.eye(3), [1, 2, "b"])
    assert given.classes == ["b", 2, 1]
    assert given.scores(np.eye(3)).argmax(axis=1).tolist() == [2, 1, 0]
    nodes = fitted(TaxonomyRanker(tree), np.eye(3), [1, 2, "b"])
    assert nodes.classes[:3] == ["r", "a", "b"]


def test_the_base_stays_as_it_is():
    base = Rocchio()
    assert isinstance(fitted(base, np.eye(2), [0, 1]), FittedClassifier)
    assert not base.__sklearn_is_fitted__()


def test_no_class_is_only_asked():
    random = np.random.default_rng(0)
    y = [[int(c) for c in random.integers(30, size=2)] for _ in range(80)]
    labels = numbered(y, range(30))
    learn, ask = parted(labels, 0.3, random)
    assert sorted([*learn, *ask]) == list(range(80))
    assert 0 < len(ask) <= 24
    learned = {c for at in learn for c in y[at]}
    assert {c for own in y for c in own} == learned


@pytest.mark.parametrize(
    ("y", "said"),
    [(["a", "x"], "row 1: 'x' is not one"), ([["a"], ("a", "b")], "are a list")],
)
def test_an_unknown_class_is_named(y, said):
    with pytest.raises(Mistake, match=said):
        numbered(y, ["a", "b"])


def test_a_class_for_each_document_is_needed():
    with pytest.raises(Mistake, match="X has 2 rows, y 1"):
        fitted(Rocchio(), rows_from(np.eye(2)), ["a"])
