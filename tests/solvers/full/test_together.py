"""Layers and lists in one problem: the optimum is that of listing everything."""

import numpy as np
import pytest

from classmark import PreferenceGraph, PreferenceRanker
from classmark.arrays import rows_from, take
from classmark.preferences.graph import weighted_groups
from classmark.preferences.labels import levels_from
from classmark.solvers.ascent import ascend
from classmark.solvers.preference import (
    Caps,
    Center,
    CompositeDual,
    ExplicitDual,
    ImplicitDual,
)

K, D, C = 5, 6, 0.6
LOSSES = ("dis", "dom", "dme", "dom-dme")


def problem(seed, n=18):
    """Every third document lists edges, of any weight; the others have two layers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * (rng.random((n, D)) < 0.7)
    graphs = []
    for i in range(n):
        if i % 3 == 1:
            pairs = [(u, v) for u in range(K) for v in range(u)]
            edges = [
                (*(pair if rng.random() < 0.5 else pair[::-1]), rng.uniform(0.5, 2))
                for pair in pairs
                if rng.random() < 0.5
            ]
            graphs.append(PreferenceGraph(K, edges))
        else:
            graphs.append(PreferenceGraph(K, levels=rng.integers(0, 3, K)))
    return X, graphs


def listed(rows, graphs, loss, center=None, shared=None):
    found = [weighted_groups(g, loss.split("-"), np.ones(K)) for g in graphs]
    caps = C * np.array([w for _, weights in found for w in weights])
    return ExplicitDual(rows, K, [groups for groups, _ in found], caps, center, shared)


def composite(X, graphs, loss, threads=1, center=None):
    rows = rows_from(X)
    which = np.array([graph.levels is None for graph in graphs])
    levels = levels_from([g for g in graphs if g.levels is not None])
    caps = Caps(np.full(K, C), np.full(K, C))
    first = ImplicitDual(
        take(rows, ~which), levels, loss, caps, threads=threads, center=center
    )
    rest = [graph for graph in graphs if graph.levels is None]
    shared = first.W, np.zeros(1)
    second = listed(take(rows, which), rest, loss, center, shared)
    return CompositeDual(first, second, which)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_optimum_is_that_of_listing_everything(loss, threads):
    X, graphs = problem(0)
    both = ascend(composite(X, graphs, loss, threads), 1e-7, 9000)
    alone = ascend(listed(rows_from(X), graphs, loss), 1e-7, 9000)
    assert both.relative_gap <= 1e-7
    assert both.objective == pytest.approx(alone.objective, rel=1e-6)
    assert np.allclose(both.weights, alone.weights, atol=3e-3)


def test_with_a_center_too():
    from scipy.sparse import csr_matrix

    X, graphs = problem(1)
    center = Center(csr_matrix(np.random.default_rng(1).standard_normal((D, K))))
    both = ascend(composite(X, graphs, "dom", center=center), 1e-7, 9000)
    alone = ascend(listed(rows_from(X), graphs, "dom", center), 1e-7, 9000)
    assert both.objective == pytest.approx(alone.objective, rel=1e-6)
    assert np.allclose(both.weights, alone.weights, atol=3e-3)


def test_the_weights_are_what_the_duals_of_both_stand_for():
    X, graphs = problem(2)
    found = composite(X, graphs, "dom-dme", threads=2)
    solution = ascend(found, 1e-3, 100)
    assert np.allclose(X.T @ found.coefficients(), solution.weights)
    found.raise_caps(2.0)
    assert ascend(found, 1e-3, 100).objective > solution.objective


@pytest.mark.parametrize("loss", LOSSES)
def test_the_ranker_mixes_graphs(loss):
    X, graphs = problem(3)
    every = [
        PreferenceGraph(K, [(*e, w) for e, w in g.edge_weights().items()])
        for g in graphs
    ]
    mixed = PreferenceRanker(loss, C=C, tol=1e-6, max_iter=5000).fit(X, graphs)
    plain = PreferenceRanker(loss, C=C, tol=1e-6, max_iter=5000).fit(X, every)
    assert mixed.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    through = PreferenceRanker(loss, C=C, tol=1e-6, max_iter=5000, kernel="linear")
    through.fit(X, graphs)
    assert through.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    *_, last = PreferenceRanker(loss, tol=1e-5).path(X, graphs, [0.1, C])
    assert last.objective_ == pytest.approx(plain.objective_, rel=1e-4)


def test_a_mixed_list_can_be_balanced_and_centred():
    """Bipartite graphs, all listed, cost what the same graphs cost as layers."""
    rng = np.random.default_rng(4)
    X = np.abs(rng.standard_normal((30, D)))
    graphs = [PreferenceGraph.multilabel(K, {i % 2, i % 3}) for i in range(30)]
    half = [PreferenceGraph(K, g.edges()) if i % 2 else g for i, g in enumerate(graphs)]
    settings = {"class_weight": "balanced", "center": 2.0, "tol": 1e-6}
    for loss in LOSSES:
        layered = PreferenceRanker(loss, C=0.1, **settings).fit(X, graphs)
        mixed = PreferenceRanker(loss, C=0.1, **settings).fit(X, half)
        assert mixed.objective_ == pytest.approx(layered.objective_, rel=1e-5)
