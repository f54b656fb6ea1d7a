"""What holds of the log-linear loss whatever the documents, graphs and weights."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import rows_from
from classmark.measures.categories import ranking_error
from classmark.preferences.graph import NAMES, PreferenceGraph
from classmark.preferences.losses import loss_from
from classmark.solvers.smooth import DocumentLoss, survey, widest

SEEDS = st.integers(0, 2**32 - 1)
KINDS = st.sampled_from(NAMES)


def graph_of(rng, k):
    """Layers, or edges between some pairs: cycles too."""
    if rng.random() < 0.5:
        return PreferenceGraph(k, levels=rng.integers(-1, 3, k))
    pairs = [(u, v) for u in range(k) for v in range(u) if rng.random() < 0.6]
    turned = [(v, u) if rng.random() < 0.5 else (u, v) for u, v in pairs]
    return PreferenceGraph(k, turned)


@given(
    *(SEEDS, KINDS, st.booleans()),
    *(st.sampled_from([None, 0.3, 10.0]), st.sampled_from([0.0, 1e-6, 0.1, 1.0, 30.0])),
)
def test_theorem_1_at_every_iteration(seed, name, signed, C, epsilon):
    """Each update lowers the loss by (1/ρ) Σ (√W+ − √W−)² at least; so it never rises.

    With ε added to both of W±, A = W+ + ε and B = W− + ε, it is lowered by at least
    (1/ρ) Σ (√A − √B)² (1 + ε/√(AB)). Word counts often leave one of W± at 0, where the
    update without ε is cut.
    """
    rng = np.random.default_rng(seed)
    X = np.log1p(rng.poisson(0.8, (6, 5))) * (rng.choice([-1, 1], 5) if signed else 1)
    graphs = [graph_of(rng, 4) for _ in range(6)]
    documents = DocumentLoss(rows_from(X), loss_from(graphs, name))
    W, rho = np.zeros(documents.shape), widest(documents, C)
    state = survey(documents, W, C)
    for _ in range(12):
        A, B = state.down + epsilon, state.up + epsilon
        falls = np.square(np.sqrt(A) - np.sqrt(B))  # Theorem 1, times ρ
        if epsilon:
            falls *= 1 + epsilon / np.sqrt(A * B)
        least_fall = falls.sum()
        if not least_fall:
            break
        W = W - state.step(epsilon) / rho
        after = survey(documents, W, C)
        rounding = 1e-12 * max(1.0, state.objective)
        fall = state.objective - after.objective
        assert fall >= least_fall / rho * (1 - 1e-9) - rounding
        state = after


@given(SEEDS, KINDS)
def test_over_ln_2_the_loss_bounds_the_error(seed, name):
    rng = np.random.default_rng(seed)
    graph, scores = graph_of(rng, 5), rng.integers(-2, 3, 5).astype(float)
    loss = loss_from([graph], name).prices(scores[np.newaxis]).losses[0]
    assert loss / math.log(2) >= ranking_error(scores, graph, name) - 1e-12


@given(SEEDS, KINDS)
def test_one_number_added_to_all_scores_changes_nothing(seed, name):
    rng = np.random.default_rng(seed)
    loss, scores = loss_from([graph_of(rng, 5)], name), rng.normal(size=(1, 5))
    one, other = loss.prices(scores), loss.prices(scores + 700.0)
    assert np.allclose(one.losses, other.losses)
    assert np.allclose(one.into, other.into)
    assert np.isclose(one.into.sum(), one.out_of.sum())


@given(SEEDS, KINDS)
def test_labels_numbered_otherwise_give_the_same_loss(seed, name):
    rng = np.random.default_rng(seed)
    levels, scores = rng.integers(-1, 3, 6), rng.normal(size=(1, 6))
    order = rng.permutation(6)
    one = loss_from([PreferenceGraph(6, levels=levels)], name).prices(scores)
    turned = loss_from([PreferenceGraph(6, levels=levels[order])], name)
    other = turned.prices(scores[:, order])
    assert np.allclose(one.losses, other.losses)
    assert np.allclose(one.into[:, order], other.into)
