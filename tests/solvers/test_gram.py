"""Hinges over a kernel: against the linear solver, slow steps and other libraries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

from classmark.arrays import rows_from
from classmark.problems import Mistake
from classmark.solvers import kernels_hinge
from classmark.solvers.hinge import (
    Hinges,
    KernelFunction,
    ascend,
    ascend_gram,
    features_of,
)
from oracles import hinge as slow

KERNELS = [
    KernelFunction("linear"),
    KernelFunction("polynomial", gamma=0.5, degree=2),
    KernelFunction("rbf", gamma=0.3),
    KernelFunction(lambda A, B: np.asarray(A @ B.T) ** 2 + 0.5),
]


def problem(seed, n=50, d=6, more=10):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[3], X[4] = 0, X[5]
    rows = np.concatenate([np.arange(n), rng.integers(0, n, more)]).astype(np.uint32)
    boxes = rng.exponential(0.5, n + more) * (rng.random(n + more) < 0.9)
    signs = rng.choice([-1.0, 1.0], n + more)
    return X, Hinges(rows, signs, boxes, rng.normal(0.8, 0.3, n + more))


@given(seed=st.integers(0, 2**32 - 1), kernel=st.sampled_from(KERNELS))
@settings(max_examples=15)
def test_steps_are_the_slow_ones(seed, kernel):
    X, hinges = problem(seed, n=14, more=3)
    K = kernel(X, X)
    fast, duals = np.zeros((2, len(hinges.rows)))
    found = kernels_hinge.climb_gram(
        hinges, fast, np.diagonal(K).copy(), np.zeros(14), np.zeros(17),
        (np.arange(14), K, np.zeros(14, np.int64)), 0.0, 0.0, 12,
    )  # fmt: skip
    expected = slow.climb_gram(K, hinges, duals, 0.0, 12)
    assert found == pytest.approx((*expected, -1), rel=1e-6, abs=1e-9)
    assert np.allclose(fast, duals)


def test_the_linear_kernel_gives_what_weights_give():
    X, hinges = problem(1)
    parts = [rows_from(X[:20]), rows_from(X[20:])]
    found = ascend_gram(parts, hinges, KernelFunction("linear"), tol=1e-6)
    expected = ascend(parts, hinges, tol=1e-6, max_iter=10_000)
    assert found.objective == pytest.approx(expected.objective, rel=1e-5)
    assert np.allclose(found.coefficients @ X, expected.weights, atol=1e-2)
    assert np.allclose(found.scores, X @ expected.weights, atol=1e-2)
    assert 0 <= found.gap <= 1e-6 * found.objective


@pytest.mark.parametrize("kernel", KERNELS[:3], ids=lambda k: k.name)
def test_liblinear_finds_the_same_in_the_kernels_own_space(kernel):
    X, hinges = problem(2, more=0)
    kept = hinges.boxes > 0
    hinges = Hinges(*(part[kept] for part in hinges))._replace(
        margins=np.ones(kept.sum())
    )
    features = features_of(kernel(X, X))
    svc = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6)
    svc.fit(features[hinges.rows], hinges.signs, sample_weight=hinges.boxes)
    w = svc.coef_.ravel()
    found = ascend_gram([X], hinges, kernel, tol=1e-6)
    theirs = slow.primal(features, hinges, w, np.zeros(len(w)))
    assert found.objective == pytest.approx(theirs, rel=1e-5)
    assert np.allclose(found.scores, features @ w, atol=1e-2)


def test_libsvm_finds_the_same_where_its_bias_is_of_no_use():
    """Every row again with the other sign: by symmetry the best bias is 0."""
    X, hinges = problem(3, more=0)
    K = KernelFunction("rbf", gamma=0.3)(X, X)
    mirrored = np.block([[K, -K], [-K, K]])
    boxes = np.maximum(hinges.boxes, 0.05)
    svc = SVC(kernel="precomputed", tol=1e-8)
    svc.fit(
        mirrored, np.concatenate([hinges.signs, -hinges.signs]),
        sample_weight=np.concatenate([boxes, boxes]) / 2,
    )  # fmt: skip
    hinges = hinges._replace(boxes=boxes, margins=np.ones(len(boxes)))
    found = ascend_gram([X], hinges, KernelFunction("rbf", gamma=0.3), tol=1e-6)
    theirs = svc.decision_function(mirrored)[: len(X)]
    assert svc.intercept_ == pytest.approx(0.0, abs=1e-5)
    assert np.allclose(found.scores, theirs, atol=1e-2)


@pytest.mark.parametrize("kernel", KERNELS)
def test_objective_and_gap_are_true_and_scores_are_the_sums(kernel):
    X, hinges = problem(4)
    K = kernel(X, X)
    for passes in (0, 1, 1000):
        found = ascend_gram([X], hinges, kernel, tol=1e-5, max_iter=passes)
        c = np.bincount(hinges.rows, hinges.signs * found.duals, len(X))
        assert np.allclose(found.coefficients, c)
        assert np.allclose(found.scores, K @ c, atol=1e-4)
        slack = np.maximum(0, hinges.margins - hinges.signs * (K @ c)[hinges.rows])
        objective = 0.5 * c @ K @ c + hinges.boxes @ slack
        assert found.objective == pytest.approx(objective, rel=1e-5)
        dual = hinges.margins @ found.duals - 0.5 * c @ K @ c
        assert found.gap == pytest.approx(objective - dual, abs=1e-4)
        assert found.n_iter == passes or found.gap <= 1e-5 * found.objective


def test_little_memory_takes_longer_to_the_same_end(monkeypatch):
    X, hinges = problem(5, n=120)
    kernel, asked = KernelFunction("rbf", gamma=0.3), []
    rows = KernelFunction.__call__
    monkeypatch.setattr(
        KernelFunction,
        "__call__",
        lambda k, A, B: asked.append(len(A)) or rows(k, A, B),
    )
    counts, objectives = [], []
    for memory in ("512MB", 3 * 4 * 120, 4 * 120):
        asked.clear()
        found = ascend_gram([X], hinges, kernel, memory=memory)
        objectives.append(found.objective)
        assert found.gap <= 1e-3 * found.objective
        counts.append(sum(asked))
    assert max(objectives) == pytest.approx(min(objectives), rel=2e-3)
    assert counts[0] <= 120 + 120  # the squares, and each row at most once
    assert counts[0] < min(counts[1:])


def test_parts_may_be_sparse_dense_or_both():
    X, hinges = problem(6)
    kernel = KernelFunction("rbf", gamma=0.3)
    expected = ascend_gram([X], hinges, kernel).scores
    for parts in (
        [sparse.csr_array(X)],
        [X[:7], sparse.csr_matrix(X[7:])],
        [rows_from(X[:7]), rows_from(X[7:])],
        [X[:7], X[7:20], X[20:]],
    ):
        assert np.allclose(ascend_gram(parts, hinges, kernel).scores, expected)


def test_what_cannot_be_used_is_named():
    X, hinges = problem(7)
    with pytest.raises(Mistake, match="200 bytes"):
        ascend_gram([X], hinges, KernelFunction("linear"), memory="100B")
    with pytest.raises(Mistake, match="not positive semi-definite"):
        ascend_gram([X], hinges, KernelFunction(lambda A, B: -np.asarray(A @ B.T)))
    with pytest.raises(Mistake, match="parts: none"):
        ascend_gram([], hinges, KernelFunction("linear"))
    with pytest.raises(Mistake, match=r"rows\[\d+\] is \d+, but there are 5 rows"):
        ascend_gram([X[:5]], hinges, KernelFunction("linear"))
