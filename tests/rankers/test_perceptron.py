"""The perceptron against its slow version, and against Novikoff's bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classmark import CategoryPerceptron
from classmark.judgments.labels import labels_from
from classmark.problems import Mistake
from classmark.scores.kernels import add_to_rows, scores_of
from classmark.solvers.online.kernels import perceptron_pass
from classmark.sparse import rows_from
from oracles.online import perceptron_pass as slow_pass
from oracles.scores import add_to_rows as slow_add
from oracles.scores import scores_of as slow_scores


def problem(seed, n=12, d=6, k=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    return X, (rng.random((n, k)) < 0.4).astype(int)


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_kernel_is_the_slow_version(seed):
    X, Y = problem(seed)
    rows, labels = rows_from(X), labels_from(Y)
    arrays = rows.starts, rows.columns, rows.values, labels.starts, labels.columns
    W, U = np.zeros((6, 4)), np.zeros((6, 4))
    V, T = W.copy(), U.copy()
    for t in (0, 12):
        fast = perceptron_pass(*arrays, W, U, t)
        assert fast == slow_pass(*arrays, V, T, t)
    assert np.allclose(W, V)
    assert np.allclose(U, T)


def test_scores_are_a_sum_of_rows():
    X, _ = problem(3)
    rows, W = rows_from(X), np.random.default_rng(0).random((6, 4))
    out, slow = np.empty(4), np.empty(4)
    scores_of(*rows.row(0), W, out)
    slow_scores(*rows.row(0), W, slow)
    assert np.allclose(out, slow)
    delta, changed = np.array([0.5, 0.0, -2.0, 0.0]), np.array([2, 0], np.uint32)
    V = W.copy()
    add_to_rows(*rows.row(0), W, delta, changed, 2)
    slow_add(*rows.row(0), V, delta, changed, 2)
    assert np.allclose(W, V)


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
def test_average_is_the_mean_of_the_prototypes_along_the_way(seed):
    X, Y = problem(seed)
    ranker, along = CategoryPerceptron(), []
    for x, y in zip(X, Y, strict=True):
        ranker.partial_fit(x[None], y[None])
        along.append(ranker.coef_)
    averaged = CategoryPerceptron(average=True).fit(X, Y)
    before = [np.zeros_like(along[0]), *along[:-1]]
    assert np.allclose(averaged.coef_, np.mean(before, axis=0) + _last(along, before))


def _last(along, before):
    """W − U/t weights the update of step t (from 0) by (T − t)/T: the mean after."""
    return np.mean(np.array(along) - np.array(before), axis=0)


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
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
    W, U, mistakes = np.zeros((4, 3)), np.zeros((4, 3)), 0
    for passes in range(20):
        mistakes += perceptron_pass(
            rows.starts, rows.columns, rows.values, labels.starts, labels.columns,
            W, U, passes * len(X),
        )  # fmt: skip
    radius = np.linalg.norm(X, axis=1).max()
    assert mistakes <= 3 * (radius / 0.3) ** 2


def test_passes_go_on_and_partial_fit_is_one_pass():
    X, Y = problem(5)
    once = CategoryPerceptron().fit(X, Y)
    streamed = CategoryPerceptron().partial_fit(X[:5], Y[:5]).partial_fit(X[5:], Y[5:])
    assert np.allclose(once.coef_, streamed.coef_)
    twice = CategoryPerceptron(passes=2).fit(X, Y)
    assert np.allclose(twice.coef_, once.partial_fit(X, Y).coef_)


def test_mistakes_are_named():
    with pytest.raises(Mistake, match="passes is 0"):
        CategoryPerceptron(passes=0).fit([[1.0]], [[0]])
    ranker = CategoryPerceptron().partial_fit([[1.0]], [[0]], n_labels=3)
    with pytest.raises(Mistake, match="label 5 is out of range"):
        ranker.partial_fit([[1.0]], [[5]])
    with pytest.raises(Mistake, match="features"):
        ranker.partial_fit([[1.0, 2.0]], [[0]])
