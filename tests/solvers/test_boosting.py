"""The parallel update against the paper's sums over single edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import rows_from
from classmark.measures.categories import category_ranking
from classmark.preferences.graph import NAMES, PreferenceGraph, decompose
from classmark.preferences.losses import loss_from
from classmark.problems import Mistake
from classmark.solvers.smooth import (
    LARGEST_STEP,
    DocumentLoss,
    EdgeLoss,
    Objective,
    boost,
    minimise,
    survey,
    widest,
)


def problem(seed, n=5, d=4, k=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    return X, [PreferenceGraph(k, levels=rng.integers(-1, 3, k)) for _ in range(n)]


def slowly(X, graphs, name, W):
    """W+ and W− edge by edge, with π = h(x, term) − h(x, init), as in figure 3."""
    up, down, rho = np.zeros_like(W), np.zeros_like(W), 0.0
    for x, graph in zip(X, graphs, strict=True):
        groups = decompose(graph, name)
        for group in groups:
            parts = {e: math.exp(x @ W[:, e[1]] - x @ W[:, e[0]]) for e in group}
            for (init, term), part in parts.items():
                pi = np.zeros_like(W)
                pi[:, term] += x
                pi[:, init] -= x
                q = part / (1 + sum(parts.values()))
                down += np.maximum(q * pi, 0) / len(groups)
                up += np.maximum(-q * pi, 0) / len(groups)
                rho = max(rho, np.abs(pi).sum())
    return down, up, rho


@given(st.integers(0, 2**32 - 1), st.sampled_from(NAMES))
def test_weights_of_edges_are_those_of_the_paper(seed, name):
    X, graphs = problem(seed)
    W = np.random.default_rng(seed).normal(size=(4, 4))
    documents = DocumentLoss(rows_from(X), loss_from(graphs, name))
    down, up, rho = slowly(X, graphs, name, W)
    found = survey(documents, W)
    assert np.allclose(found.down, down)
    assert np.allclose(found.up, up)
    assert widest(documents) >= rho - 1e-12


def slowly_by_pairs(H, graphs, name, weights):
    """The same of any features h(x, y), shape (documents, labels, features)."""
    loss, rho = 0.0, 0.0
    down, up = np.zeros((2, len(weights)))
    for h, graph in zip(H, graphs, strict=True):
        groups = decompose(graph, name)
        for group in groups:
            pis = [h[term] - h[init] for init, term in group]
            parts = [math.exp(weights @ pi) for pi in pis]
            loss += math.log(1 + sum(parts)) / len(groups)
            for pi, part in zip(pis, parts, strict=True):
                q = part / (1 + sum(parts)) / len(groups)
                down += np.maximum(q * pi, 0)
                up += np.maximum(-q * pi, 0)
                rho = max(rho, np.abs(pi).sum())
    return loss, down, up, rho


@given(st.integers(0, 2**32 - 1), st.sampled_from(NAMES))
def test_edges_of_any_features_pull_as_in_the_paper_and_keep_theorem_1(seed, name):
    _, graphs = problem(seed)
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(5, 4, 3)).round(2)
    weights = rng.normal(size=(3, 1))
    listed = loss_from(graphs, name, edges=True)
    documents = EdgeLoss(rows_from(H.reshape(20, 3)), listed)
    loss, down, up, rho = slowly_by_pairs(H, graphs, name, weights[:, 0])
    state = survey(documents, weights)
    assert state.loss == pytest.approx(loss)
    assert np.allclose(state.down[:, 0], down)
    assert np.allclose(state.up[:, 0], up)
    assert widest(documents) == pytest.approx(rho)
    smooth = DocumentLoss(
        rows_from(H.reshape(20, 3)), loss_from(graphs, name), pairs=True
    )
    value, gradient = smooth.slope(weights)
    assert value == pytest.approx(loss)
    assert np.allclose(gradient[:, 0], down - up)
    if rho:
        after = survey(documents, weights - state.step() / rho).loss
        fall = ((np.sqrt(down) - np.sqrt(up)) ** 2).sum() / rho
        assert after <= loss - fall + 1e-9


def test_one_step_by_hand():
    """One word, x = 2, label 0 over 1: q = ½, W± = 1, Λ = ∓c, ρ = 4."""
    documents = DocumentLoss(rows_from([[2.0]]), loss_from([[0]], n_labels=2))
    state = survey(documents, np.zeros((1, 2)))
    assert state.down.tolist() == [[0.0, 1.0]]
    assert state.up.tolist() == [[1.0, 0.0]]
    assert widest(documents) == 4
    found = boost(documents, max_iter=1, smoothing=0.0)
    assert found.weights.tolist() == [[LARGEST_STEP / 4, -LARGEST_STEP / 4]]
    assert found.losses == [pytest.approx(math.log1p(math.exp(-LARGEST_STEP)))]


def test_step_is_half_the_log_of_the_ratio():
    documents = DocumentLoss(
        rows_from([[1.0], [1.0], [1.0]]), loss_from([[0], [0], [1]])
    )
    step = survey(documents, np.zeros((1, 2))).step()
    assert step == pytest.approx(np.array([[-0.5, 0.5]]) * math.log(2))


def test_smoothing_adds_a_share_of_the_documents_to_both_sides():
    """Three documents, all for label 0: W+ = 0 and W− = 3/2, by document 0 and ½."""
    documents = DocumentLoss(rows_from([[1.0]] * 3), loss_from([[0]] * 3, n_labels=2))
    by_itself, by_number = (
        boost(documents, max_iter=1, smoothing=smoothing) for smoothing in ("auto", 0.1)
    )
    step = 0.5 * math.log((1 / 2 + 1 / 3) / (1 / 3)) / 2
    assert by_itself.weights == pytest.approx(np.array([[step, -step]]))
    step = 0.5 * math.log((1 / 2 + 0.1) / 0.1) / 2
    assert by_number.weights == pytest.approx(np.array([[step, -step]]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("smoothing", [0.0, 0.01, "auto"])
def test_every_iteration_lowers_the_loss_by_what_theorem_1_says(name, smoothing):
    """As printed by (1/ρ) Σ (√W+ − √W−)²; smoothed by the same of W± + ε, or more."""
    X, graphs = problem(5)
    documents = DocumentLoss(rows_from(X), loss_from(graphs, name))
    loss = survey(documents, np.zeros(documents.shape)).loss
    epsilon = 5 * (0.2 if smoothing == "auto" else smoothing)
    W = np.zeros(documents.shape)
    for at in range(1, 8):
        down, up, _ = slowly(X, graphs, name, W)
        A, B = down + epsilon, up + epsilon
        share = epsilon / np.sqrt(A * B) if epsilon else 0.0
        least = (np.square(np.sqrt(A) - np.sqrt(B)) * (1 + share)).sum()
        solution = boost(documents, smoothing, max_iter=at, tol=0.0)
        fall = loss - solution.losses[-1]
        assert fall >= least / widest(documents) * (1 - 1e-9) - 1e-12
        loss, W = solution.losses[-1], solution.weights


def test_with_a_penalty_no_smoothing_is_needed():
    X, graphs = problem(2)
    documents = DocumentLoss(rows_from(X), loss_from(graphs, "domination"))
    usual = boost(documents, C=3.0, max_iter=5)
    printed = boost(documents, C=3.0, max_iter=5, smoothing=0.0)
    assert np.array_equal(usual.weights, printed.weights)


def documents_with_rare_words(rng, n):
    """Three labels of ten words each; half of the documents have ten rare words, too.

    A rare word says nothing, and is in three documents of 200, often of one label.
    """
    labels = rng.integers(0, 3, n)
    X = np.zeros((n, 630))
    for row, label in zip(X, labels, strict=True):
        chances = np.where(np.arange(30) // 10 == label, 0.06, 0.02)
        row[rng.choice(30, 3, p=chances)] = 1.0
        row[30 + rng.integers(0, 600, rng.choice([0, 10]))] = 1.0
    return X, labels[:, np.newaxis].tolist()


def test_rare_words_do_not_run_away():
    """At a smaller training loss, unseen documents still have far fewer errors."""
    rng = np.random.default_rng(3)
    X, Y = documents_with_rare_words(rng, 200)
    unseen, answers = documents_with_rare_words(rng, 500)
    documents = DocumentLoss(rows_from(X), loss_from(Y, "dis", n_labels=3))
    printed = boost(documents, max_iter=8, smoothing=0.0)
    smoothed = boost(documents, max_iter=100)
    assert smoothed.losses[-1] < printed.losses[-1]
    before, after = (
        category_ranking(unseen @ solution.weights, answers)["loss3"]
        for solution in (printed, smoothed)
    )
    assert after < 0.75 * before


def test_with_the_penalty_boosting_and_lbfgs_meet():
    X, graphs = problem(1)
    documents = DocumentLoss(rows_from(X), loss_from(graphs, "domination"))
    slow = boost(documents, C=3.0, max_iter=4000, tol=1e-7)
    fast = minimise(Objective(documents, 3.0, "natural"), tol=1e-9)
    assert slow.objective == pytest.approx(fast.objective, rel=1e-9)
    assert np.allclose(slow.weights, fast.weights, atol=1e-4)


def test_without_edges_nothing_moves():
    documents = DocumentLoss(
        rows_from([[1.0], [2.0]]), loss_from([[0, 1], []], n_labels=2)
    )
    found = boost(documents)
    assert found.losses == []
    assert not found.weights.any()


@pytest.mark.parametrize("smoothing", ["some", -0.1, math.inf, math.nan])
def test_a_smoothing_that_is_none_is_refused(smoothing):
    documents = DocumentLoss(rows_from([[1.0]]), loss_from([[0]]))
    with pytest.raises(Mistake, match=r"smoothing is .*: give \"auto\", or a number"):
        boost(documents, smoothing=smoothing)


def test_mistake_is_named():
    with pytest.raises(Mistake, match=r"C is -1\.0: give more than 0"):
        boost(DocumentLoss(rows_from([[1.0]]), loss_from([[0]])), C=-1.0)
