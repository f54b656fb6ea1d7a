"""Multinomial logistic regression by its dual."""

import copy

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import oracles.odds as slow
from classmark.arrays import rows_from
from classmark.rankers.linear import LogLinearRanker
from classmark.solvers import kernels_dual
from classmark.solvers.ascent import ascend
from classmark.solvers.multinomial import OddsDual


def _documents(several, n=50, seed=0):
    random = np.random.default_rng(seed)
    X = random.random((n, 9)) * (random.random((n, 9)) > 0.3)
    X[3] = 0.0
    if several:
        Y = (random.random((n, 5)) < 0.4).astype(float)
        Y[:2] = [[0.0], [1.0]]
    else:
        Y = np.eye(5)[random.integers(5, size=n)]
    return rows_from(X), rows_from(Y)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("learn", [False, True])
def test_a_pass_is_that_of_the_oracle(several, learn):
    rows, labels = _documents(several)
    fast = OddsDual(rows, labels, 2.0)
    order = np.random.default_rng(1).permutation(len(rows))
    fast.learn(order)
    obvious = copy.deepcopy(fast)
    for problem, room in ((fast, kernels_dual), (obvious, slow)):
        room.odds_pass(
            order[::-1].copy(), (rows.starts, rows.columns, rows.values),
            (labels.starts, labels.columns), problem.caps, problem.W, problem.P,
            problem.entropy, problem.costs, learn,
        )  # fmt: skip
    for name in ("W", "P", "entropy", "costs"):
        one, other = getattr(fast, name), getattr(obvious, name)
        np.testing.assert_allclose(one, other, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("C", [0.1, 2.0, 20.0])
def test_the_optimum_is_that_of_logistic_regression(C):
    rows, labels = _documents(several=False)
    found = ascend(OddsDual(rows, labels, C), 1e-8, 5000, 0)
    other = LogisticRegression(C=C, fit_intercept=False, tol=1e-9, max_iter=9999)
    wanted = other.fit(rows.to_scipy(), labels.columns).coef_.T
    assert np.abs(found.weights - wanted).max() < 1e-3


def test_with_several_labels_it_is_the_loss_of_domination():
    rows, labels = _documents(several=True)
    found = ascend(OddsDual(rows, labels, 2.0), 1e-8, 5000, 0)
    other = LogLinearRanker(C=2.0, tol=1e-8).fit(rows, labels)
    assert found.objective == pytest.approx(other.objective_, rel=1e-6)
    assert np.abs(found.weights - other.weights_).max() < 1e-3


@pytest.mark.parametrize("several", [False, True])
def test_the_dual_rises_and_stays_below(several):
    rows, labels = _documents(several)
    problem, last = OddsDual(rows, labels, 3.0), -np.inf
    for _ in range(12):
        problem.learn(np.arange(len(rows)))
        half, dual = problem.values()
        assert last <= dual <= half + problem.cost() + 1e-9
        last = dual
    stands = np.zeros_like(problem.W)
    dense = rows.to_scipy().toarray()
    sizes = np.diff(labels.starts)
    for g, i in enumerate(np.repeat(np.arange(len(rows)), sizes)):
        pull = -problem.P[g]
        pull[labels.columns[g]] += 1.0
        stands += problem.caps[g] * np.outer(dense[i], pull)
    np.testing.assert_allclose(problem.W, stands, atol=1e-9)
