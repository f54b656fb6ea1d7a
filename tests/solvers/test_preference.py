"""Passes against their slow version; optima against liblinear and a general QP."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from classmark.arrays import rows_from
from classmark.preferences.graph import PreferenceGraph, decompose
from classmark.preferences.labels import are_layered, levels_from
from classmark.problems import Mistake
from classmark.solvers import kernels_dual
from classmark.solvers.ascent import ascend
from classmark.solvers.kernels_dual import listed_scores
from classmark.solvers.preference import Caps, ExplicitDual, ImplicitDual
from oracles import dual as slow

MAPPINGS = ["dis", "dom", "dme", "dom-dme", "svm"]
NAMES = {
    "dis": ["disagreement"],
    "dom": ["domination"],
    "dme": ["dominated"],
    "dom-dme": ["domination", "dominated"],
}


def problem(seed, n=7, d=4, k=4, grades=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    Y = rng.integers(0, grades + 1, (n, k)) * (rng.random((n, k)) < 0.6)
    return X, Y.astype(float)


def implicit(X, Y, loss, C=0.7, threads=1):
    levels = levels_from(Y)
    caps = Caps(np.full(Y.shape[1], C), np.full(Y.shape[1], C))
    return ImplicitDual(rows_from(X), levels, loss, caps, threads=threads)


def explicit(X, Y, loss, C=0.7):
    groups = []
    for y in Y:
        graph = PreferenceGraph(len(y), levels=y.astype(np.int64))
        groups.append([g for name in NAMES[loss] for g in decompose(graph, name)])
    caps = np.full(sum(map(len, groups)), C)
    return ExplicitDual(rows_from(X), Y.shape[1], groups, caps), groups


@pytest.mark.parametrize("loss", MAPPINGS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=4)
def test_an_implicit_pass_is_the_slow_one(loss, seed):
    X, Y = problem(seed)
    X[~X.any(axis=1), 0] = 1.0  # empty documents have a test of their own
    dense = levels_from(Y).to_scipy().toarray()
    fast, W, alpha = implicit(X, Y, loss), np.zeros((4, 4)), {}
    caps = np.full(Y.shape, 0.7)
    for _ in range(2):
        order = np.random.default_rng(seed).permutation(7)
        fast.naps[:] = 0
        seen = fast.learn(order)
        costs = slow.implicit_pass(order, X, dense, loss, caps, caps[0], alpha, W)
        assert seen == pytest.approx(costs.sum(), abs=1e-3)
    assert np.allclose(fast.W, W, atol=1e-3)
    assert sum(fast.values()) == pytest.approx(sum(alpha.values()), abs=1e-3)
    parts = fast.coefficients()
    for i in range(7):
        assert np.allclose(parts[i], slow.coefficients(i, alpha, dense[i]), atol=1e-3)
    fast.settle()
    assert np.allclose(fast.W, slow.rebuild(X, dense, alpha), atol=1e-3)


@pytest.mark.parametrize("loss", MAPPINGS)
def test_what_a_document_has_in_its_own_scores_is_the_slow_sum(loss):
    X, Y = problem(5)
    dense = levels_from(Y).to_scipy().toarray()
    W = np.random.default_rng(5).random((4, 4)).astype(np.float32)
    fast = implicit(X, Y, loss)
    rows, levels, fast.noise = fast.rows, fast.levels, 2.0
    scores = np.empty(levels.nnz)
    arrays = rows.starts, rows.columns, rows.values
    listed_scores(
        arrays, levels.starts, levels.columns, W.astype(rows.values.dtype), scores
    )
    assert np.allclose(scores, slow.listed_scores(X, dense, W), atol=1e-6)
    fast.self_scores = scores.astype(np.float32)
    fast.learn(np.arange(7))
    self_scores = np.where(dense != 0, X @ W, 0.0)
    parts = fast.coefficients()
    squares, dot = (parts**2).sum(), (parts * self_scores).sum()
    assert fast.private() == pytest.approx((squares, dot), rel=1e-5)
    pairs = {
        ("dis", i, u, v): value
        for i, row in enumerate(parts)
        for u, v, value in [(0, 1, row[0]), (2, 1, row[2]), (3, 1, row[3])]
    }
    if loss != "svm":  # there a document's parts need not add up to zero
        expected = slow.private_values(X, dense, pairs, self_scores)
        assert fast.private() == pytest.approx(expected, rel=1e-5)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5)
def test_an_explicit_pass_is_the_slow_one(seed):
    X, Y = problem(seed)
    fast, groups = explicit(X, Y, "dom")
    W = np.zeros((4, 4))
    alpha = [[np.zeros(len(group)) for group in document] for document in groups]
    caps = [[0.7] * len(document) for document in groups]
    seen = fast.learn(np.arange(7))
    costs = slow.explicit_pass(np.arange(7), X, groups, caps, alpha, W)
    assert seen == pytest.approx(costs.sum(), abs=1e-3)
    assert np.allclose(fast.W, W, atol=1e-3)
    assert np.allclose(fast.coefficients(), _spread(groups, alpha), atol=1e-3)


def _spread(groups, alpha):
    out = np.zeros((len(groups), 4))
    for i, document in enumerate(groups):
        for edges, duals in zip(document, alpha[i], strict=True):
            for (u, v), dual in zip(edges, duals, strict=True):
                out[i, u] += dual
                out[i, v] -= dual
    return out


@pytest.mark.parametrize("loss", list(NAMES))
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5)
def test_implicit_and_explicit_meet_at_the_optimum_of_a_general_qp(loss, seed):
    X, Y = problem(seed, n=5, d=3)
    short = ascend(implicit(X, Y, loss), 1e-6, 5000)
    listed, groups = explicit(X, Y, loss)
    long = ascend(listed, 1e-6, 5000)
    best = _general(X, groups, 0.7)
    for found in (short, long):
        assert found.objective - found.gap - 1e-6 <= best <= found.objective + 1e-6
        assert found.objective == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("loss", list(NAMES))
@pytest.mark.parametrize("threads", [1, 2])
def test_labels_that_are_not_compared_are_in_no_group(loss, threads):
    X, Y = problem(3, n=12, d=3, k=5)
    Y[np.random.default_rng(3).random(Y.shape) < 0.25] = -1
    graphs = [PreferenceGraph(5, levels=y.astype(np.int64)) for y in Y]
    assert are_layered(graphs)
    levels, caps = levels_from(graphs), Caps(np.full(5, 0.7), np.full(5, 0.7))
    rows = rows_from(X)
    short = ImplicitDual(rows, levels, loss, caps, threads=threads)
    listed, groups = explicit(X, Y, loss)
    assert not any(
        -1 in (Y[i, u], Y[i, v]) for i, d in enumerate(groups) for g in d for u, v in g
    )
    found, expected = ascend(short, 1e-7, 5000), ascend(listed, 1e-7, 5000)
    assert found.objective == pytest.approx(expected.objective, rel=1e-5)


def _general(X, document_groups, C, k=4):
    """The primal of spec 3 by a general solver with one slack per group."""
    groups = [(i, g) for i, document in enumerate(document_groups) for g in document]
    d = X.shape[1]
    rows, owner = [], []
    for place, (i, edges) in enumerate(groups):
        for u, v in edges:
            psi = np.zeros((d, k))
            psi[:, u] += X[i]
            psi[:, v] -= X[i]
            rows.append(np.concatenate([psi.ravel(), np.zeros(len(groups))]))
            rows[-1][d * k + place] = 1
            owner.append(place)
    A, m = np.array(rows).reshape(-1, d * k + len(groups)), len(groups)
    if not m:
        return 0.0
    found = minimize(
        lambda z: 0.5 * z[: d * k] @ z[: d * k] + C * z[d * k :].sum(),
        np.concatenate([np.zeros(d * k), np.ones(m)]),
        jac=lambda z: np.concatenate([z[: d * k], np.full(m, C)]),
        bounds=[(None, None)] * (d * k) + [(0, None)] * m,
        constraints={"type": "ineq", "fun": lambda z: A @ z - 1, "jac": lambda _: A},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    return found.fun


def test_disagreement_is_liblinear_on_the_difference_vectors():
    X, Y = problem(11, n=30, d=6, k=5, grades=1)
    ours = ascend(implicit(X, Y, "dis", C=0.5), 1e-6, 5000)
    differences = [
        np.outer(x, np.eye(5)[u] - np.eye(5)[v]).ravel()
        for x, y in zip(X, Y, strict=True)
        for u in np.flatnonzero(y)
        for v in np.flatnonzero(y == 0)
    ]
    signs = np.where(np.arange(len(differences)) % 2, 1, -1)
    liblinear = LinearSVC(
        C=0.5, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=200_000
    ).fit(np.array(differences) * signs[:, None], signs)
    w = liblinear.coef_.ravel()
    theirs = 0.5 * w @ w + 0.5 * np.maximum(0, 1 - np.array(differences) @ w).sum()
    assert ours.objective == pytest.approx(theirs, rel=1e-5)


def test_svm_is_liblinear_one_label_at_a_time():
    X, Y = problem(12, n=40, d=6, k=3, grades=1)
    with_threshold = np.hstack([X, -np.ones((40, 1))])
    ours = ascend(implicit(with_threshold, Y, "svm", C=0.5), 1e-6, 5000)
    for r in range(3):
        theirs = LinearSVC(
            C=0.5, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=200_000
        ).fit(with_threshold, Y[:, r] > 0)
        assert np.allclose(ours.weights[:, r], theirs.coef_.ravel(), atol=2e-3)


@pytest.mark.compiled_only
def test_two_threads_reach_the_same_optimum_with_an_exact_gap():
    X, Y = problem(3, n=60, d=10, k=6)
    alone = ascend(implicit(X, Y, "dom"), 1e-4, 3000)
    pair = ascend(implicit(X, Y, "dom", threads=2), 1e-4, 3000)
    assert pair.objective == pytest.approx(alone.objective, rel=2e-4)
    assert pair.relative_gap <= 1e-4


@pytest.mark.compiled_only
def test_pools_grow_and_documents_without_words_or_labels_do_no_harm():
    X, Y = problem(4, n=50, d=8, k=9)
    X[7], Y[8] = 0, 0
    tight = implicit(X, Y, "dis")
    for pool in tight.pools:
        pool.label, pool.alpha = pool.label[:400].copy(), pool.alpha[:400].copy()
    assert ascend(tight, 1e-4, 3000).objective == pytest.approx(
        ascend(implicit(X, Y, "dis"), 1e-4, 3000).objective, rel=2e-4
    )


@pytest.mark.compiled_only
@pytest.mark.parametrize("threads", [1, 2])
def test_more_labels_than_sixteen_bits_count(threads):
    k = 2**16 + 2
    X = np.array([[1.0, 0.5], [0.2, 1.0], [1.0, 1.0]], np.float32)
    levels = rows_from(csr_array(([1.0, 1.0, 1.0], ([0, 1, 2], [0, k - 1, 7])), (3, k)))
    dual = ImplicitDual(
        rows_from(X), levels, "dom", Caps(np.ones(k), np.ones(k)), threads=threads
    )
    for _ in range(2):
        for pool in dual.pools:
            dual._visit_pool(pool, pool.documents, learn=True)  # noqa: SLF001
            dual._make_room(pool)  # noqa: SLF001
    dual.settle()
    np.testing.assert_allclose(dual.W, X.T @ dual.coefficients(), atol=1e-5)
    assert dual.W[1, k - 1] > 0


def test_a_document_with_too_many_labels_is_refused_before_memory_is_taken():
    k = 100_000
    levels = rows_from(csr_array(np.ones((1, k), np.float32)))
    rows, caps = rows_from(np.ones((1, 1), np.float32)), Caps(np.ones(k), np.ones(k))
    with pytest.raises(Mistake, match="has 100,000 of 100,000 labels"):
        ImplicitDual(rows, levels, "dom", caps)


def test_more_passes_never_lower_the_dual():
    X, Y = problem(5, n=30)
    ascent, before = implicit(X, Y, "dom"), -np.inf
    for _ in range(20):
        ascent.learn(np.arange(30))
        half, dual = ascent.values()
        assert before - 1e-9 <= dual <= half + ascent.cost() + 1e-9
        before = dual


def test_codes_name_the_same_mappings_everywhere():
    from classmark.solvers.preference import CODES

    assert CODES["dis"] == (kernels_dual.DIS,)
    assert CODES["dom-dme"] == (kernels_dual.DOM, kernels_dual.DME)
    assert CODES["svm"] == (kernels_dual.SVM,)
    with pytest.raises(Mistake, match="dom-dme"):
        implicit(*problem(1), "best")


@pytest.mark.parametrize("loss", ["dom", "dis"])
def test_a_center_is_paid_for_leaving(loss):
    """min ½‖w − w₀‖² + C Σ slack, against a general solver of the primal."""
    from scipy.sparse import csr_matrix

    from classmark.solvers.preference import Center

    X, Y = problem(8, n=5, d=3)
    W0 = np.random.default_rng(8).standard_normal((3, 4)) * 0.4
    levels = levels_from(Y)
    ours = ImplicitDual(
        rows_from(X), levels, loss, Caps(np.full(4, 0.7), np.full(4, 0.7)),
        center=Center(csr_matrix(W0)),
    )  # fmt: skip
    found = ascend(ours, 1e-7, 5000)
    groups = explicit(X, Y, loss)[1]

    def primal(w):
        W, value = w.reshape(3, 4), 0.5 * ((w.reshape(3, 4) - W0) ** 2).sum()
        for x, document in zip(X, groups, strict=True):
            f = x @ W
            value += 0.7 * sum(
                max(0.0, *(1 - f[u] + f[v] for u, v in group)) for group in document
            )
        return value

    assert found.objective == pytest.approx(primal(found.weights.ravel()))
    rng = np.random.default_rng(0)
    for _ in range(200):
        other = found.weights.ravel() + rng.standard_normal(12) * rng.choice(
            [0.3, 0.03, 0.003]
        )
        assert primal(other) >= found.objective - 1e-6


def test_square_and_dot():
    w, places, known = (
        np.array([1.0, -2.0, 3.0]),
        np.array([0, 2]),
        np.array([5.0, 7.0]),
    )
    found = kernels_dual.square_and_dot(w, places, known)
    assert found == slow.square_and_dot(w, places, known) == (14.0, 26.0)
