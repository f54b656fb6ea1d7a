"""The perceptron against Novikoff's bound and against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Perceptron

from classmark import CategoryPerceptron
from classmark.arrays import rows_from
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.solvers.kernels_online import PERCEPTRON, online_pass

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed, n=12, d=6, k=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    return X, (rng.random((n, k)) < 0.4).astype(int)


@given(SEEDS)
def test_average_is_the_mean_of_the_prototypes_after_each_round(seed):
    X, Y = problem(seed)
    ranker, along = CategoryPerceptron(), []
    for x, y in zip(X, Y, strict=True):
        ranker.partial_fit(x[None], y[None])
        along.append(ranker.coef_)
    averaged = CategoryPerceptron(average=True, shuffle=False).fit(X, Y)
    assert np.allclose(averaged.coef_, np.mean(along, axis=0))
    assert np.allclose(averaged.decision_function(X), X @ np.mean(along, axis=0).T)


@given(SEEDS)
def test_mistakes_stay_under_the_bound_on_separable_data(seed):
    """Novikoff: at most (R/γ)² mistakes per topic, however many passes."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((3, 4))
    truth /= np.linalg.norm(truth, axis=1, keepdims=True)
    X = rng.standard_normal((60, 4))
    X = X[(np.abs(X @ truth.T) > 0.3).all(axis=1)]
    if not len(X):
        return
    Y = (X @ truth.T > 0).astype(int)
    rows, labels = rows_from(X), labels_from(Y, n_labels=3)
    W, mistakes = np.zeros((4, 3)), 0
    for _ in range(20):
        mistakes += online_pass(
            PERCEPTRON, (rows.starts, rows.columns, rows.values),
            (labels.starts, labels.columns), W, np.empty((0, 3)), 3, 0,
            np.empty((len(X), 3)),
        )  # fmt: skip
    radius = np.linalg.norm(X, axis=1).max()
    assert mistakes <= 3 * (radius / 0.3) ** 2


@given(SEEDS, st.integers(1, 3))
def test_one_label_is_scikit_learns_perceptron(seed, passes):
    """Both go through the documents in order and count a score of 0 as a mistake."""
    X, Y = problem(seed, n=30, k=1)
    Y[0], Y[1] = 0, 1
    theirs = Perceptron(
        fit_intercept=False, shuffle=False, max_iter=passes, tol=None
    ).fit(X, Y.ravel())
    ours = CategoryPerceptron(passes=passes, shuffle=False).fit(X, Y)
    assert np.allclose(ours.coef_, theirs.coef_)


def test_passes_go_on_and_partial_fit_is_one_pass():
    X, Y = problem(5)
    once = CategoryPerceptron(shuffle=False).fit(X, Y)
    streamed = CategoryPerceptron().partial_fit(X[:5], Y[:5]).partial_fit(X[5:], Y[5:])
    assert np.allclose(once.coef_, streamed.coef_)
    twice = CategoryPerceptron(passes=2, shuffle=False).fit(X, Y)
    assert np.allclose(twice.coef_, once.partial_fit(X, Y).coef_)


def test_too_many_weights_are_refused_before_they_are_made():
    X, Y = np.zeros((1, 2)), np.array([[1, 0]])
    ranker = CategoryPerceptron().fit(X, Y)
    with pytest.raises(Mistake, match="GiB: select features first"):
        ranker.partial_fit(X, [[0]], n_labels=1 << 29)


def test_mistakes_are_named():
    with pytest.raises(Mistake, match="passes is 0"):
        CategoryPerceptron(passes=0).fit([[1.0]], [[0]])
    ranker = CategoryPerceptron().fit([[1.0]], [[1]])
    with pytest.raises(Mistake, match="label 5 is out of range"):
        ranker.partial_fit([[1.0]], [[5]], n_labels=3)
    with pytest.raises(Mistake, match="n_labels is 1, the ranker knows 2"):
        ranker.partial_fit([[1.0]], [[0]], n_labels=1)
