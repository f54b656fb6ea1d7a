"""Rocchio against its formula written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from classmark import Rocchio
from classmark.problems import Mistake


def slowly(X, Y, beta=16.0, gamma=4.0):
    """The formula of spec 1, one category at a time."""
    W = np.zeros((Y.shape[1], X.shape[1]))
    for r in range(Y.shape[1]):
        inside, outside = X[Y[:, r] > 0], X[Y[:, r] == 0]
        mean = inside.mean(axis=0) if len(inside) else np.zeros(X.shape[1])
        rest = outside.mean(axis=0) if len(outside) else np.zeros(X.shape[1])
        W[r] = np.maximum(0, beta * mean - gamma * rest)
        W[r] /= np.linalg.norm(W[r]) or 1
    return W


@given(st.integers(0, 2**32 - 1))
def test_weights_are_those_of_the_formula(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((9, 7)) * (rng.random((9, 7)) < 0.5)
    Y = (rng.random((9, 4)) < 0.4).astype(int)
    ranker = Rocchio().fit(sparse.csr_matrix(X), Y)
    assert np.allclose(ranker.coef_, slowly(X, Y))
    assert np.allclose(ranker.decision_function(X), X @ ranker.coef_.T)


def test_ranks_are_best_first_with_ties_by_number():
    ranker = Rocchio().fit(np.eye(3), [[1], [0], [2]])
    assert ranker.rank([[0.0, 1.0, 0.0]]).tolist() == [[0, 1, 2]]
    assert ranker.rank([[0.0, 0.0, 1.0]], k=2).tolist() == [[2, 0]]


def test_evidence_sums_to_the_distance_from_the_mean_score():
    rng = np.random.default_rng(1)
    X, Y = rng.random((8, 5)), (rng.random((8, 3)) < 0.5).astype(int)
    ranker = Rocchio().fit(X, Y)
    scores = ranker.decision_function(X[:1])[0]
    for category in range(3):
        parts = ranker.evidence(X[:1], category).parts
        assert np.isclose(parts.sum(), scores[category] - scores.mean())


def test_mistakes_are_named():
    ranker = Rocchio()
    with pytest.raises(Mistake, match="call fit first"):
        ranker.decision_function([[1.0]])
    ranker.fit(np.eye(2), [[0], [1]])
    with pytest.raises(Mistake, match="X has 3 features"):
        ranker.decision_function([[1.0, 2.0, 3.0]])
    with pytest.raises(Mistake, match="k is 0"):
        ranker.rank(np.eye(2), k=0)
    with pytest.raises(Mistake, match="2 rows"):
        ranker.evidence(np.eye(2), 0)
