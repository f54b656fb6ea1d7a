"""L-BFGS against scipy's, and against multinomial logistic regression."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp

from classmark.arrays import rows_from
from classmark.preferences.graph import NAMES, PreferenceGraph
from classmark.preferences.losses import loss_from
from classmark.solvers import smooth
from classmark.solvers.smooth import DocumentLoss, Objective, minimise, penalty


def documents_of(seed, name, n=12, d=5, k=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    graphs = [PreferenceGraph(k, levels=rng.integers(-1, 3, k)) for _ in range(n)]
    return DocumentLoss(rows_from(X), loss_from(graphs, name))


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(NAMES),
    st.sampled_from(["l2", "natural"]),
)
def test_the_optimum_is_scipys(seed, name, kind):
    objective = Objective(documents_of(seed, name), 2.0, kind)

    def flat(w):
        point = objective.at(w.reshape(5, 4))
        return point.objective, point.gradient.ravel()

    theirs = minimize(flat, np.zeros(20), jac=True, options={"gtol": 1e-9})
    ours = minimise(objective, tol=1e-9)
    assert ours.objective == pytest.approx(theirs.fun, rel=1e-10)
    assert np.allclose(ours.weights.ravel(), theirs.x, atol=1e-5)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["l2", "natural"]))
def test_slopes_are_numerical_slopes(seed, kind):
    objective = Objective(documents_of(seed, "domination"), 0.7, kind)
    w = np.random.default_rng(seed).normal(size=20)
    numerical = approx_fprime(
        w, lambda v: objective.at(v.reshape(5, 4)).objective, 1e-7
    )
    found = objective.at(w.reshape(5, 4)).gradient.ravel()
    assert np.allclose(found, numerical, atol=1e-5)
    assert np.allclose(
        penalty(w, kind)[1], approx_fprime(w, lambda v: penalty(v, kind)[0], 1e-7),
        atol=1e-5,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["zero-one", "domination"])
def test_with_one_label_each_it_is_multinomial_logistic_regression(name):
    """ln(1 + Σ exp(f_v − f_y)) = −ln softmax_y: scikit-learn minimises the same."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 3, 60)
    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=5000)
    W = theirs.fit(X, y).coef_.T
    ours = minimise(
        Objective(DocumentLoss(rows_from(X), loss_from(y, name)), 0.5, "l2"), tol=1e-10
    )
    assert np.allclose(ours.weights, W, atol=1e-6)
    scores = X @ W
    loss = (logsumexp(scores, axis=1) - scores[np.arange(60), y]).sum()
    assert ours.losses[-1] == pytest.approx(loss)


def test_blocks_change_nothing(monkeypatch):
    whole = documents_of(2, "dominated")
    W = np.random.default_rng(0).normal(size=whole.shape)
    monkeypatch.setattr(smooth, "BLOCK", 12)
    parted = documents_of(2, "dominated")
    assert (len(whole.blocks), len(parted.blocks)) == (1, 4)
    for one, other in zip(whole.slope(W), parted.slope(W), strict=True):
        assert np.allclose(one, other)
    assert np.allclose(whole.curvature(), parted.curvature())


def test_a_start_near_the_optimum_saves_iterations():
    objective = Objective(documents_of(3, "domination"), 2.0, "l2")
    cold = minimise(objective, tol=1e-6)
    warm = minimise(objective, tol=1e-6, start=cold.weights)
    assert len(warm.losses) < len(cold.losses)
    assert warm.objective == pytest.approx(cold.objective)


def test_separable_documents_go_to_no_loss_and_stop():
    X = sparse.identity(6).tocsr()
    documents = DocumentLoss(rows_from(X), loss_from([[i % 3] for i in range(6)]))
    found = minimise(Objective(documents, None, "l2"), tol=1e-8)
    assert found.losses[-1] < 1e-5
    assert len(found.losses) < 100
    assert (np.diff(found.losses) < 0).all()


def test_rounding_ends_the_search():
    objective = Objective(documents_of(4, "zero-one"), 1.0, "l2")
    assert len(minimise(objective, tol=0.0, max_iter=2000).losses) < 2000
