"""Labels against a threshold and against each other, in one problem."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from classmark import LogLinearRanker, PreferenceGraph, PreferenceRanker
from classmark.arrays import rows_from
from classmark.measures.categories import ranking_error
from classmark.preferences.graph import amended, decompose
from classmark.problems import Mistake
from classmark.solvers import kernels_groups
from classmark.solvers.ascent import ascend
from classmark.solvers.preference import ExplicitDual
from oracles import dual as slow_passes
from oracles import groups as slow

K, D, C = 3, 4, 0.7


def problem(seed, n=10):
    """Relevant over the threshold over others, and some labels over others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * (rng.random((n, D)) < 0.8)
    graphs = []
    for _ in range(n):
        above = np.flatnonzero(rng.random(K) < 0.4)
        edges = [(0, 2), (1, 0)] if rng.random() < 0.5 else [(2, 1, 2.0)]
        graphs.append(PreferenceGraph.against_threshold(K, above, edges=edges))
    return X, graphs


def psi(x, edge):
    """Put ±x in a label's block, ±1 in the threshold's place."""
    vector = np.zeros(K * D + 1)
    for item, sign in zip(edge, (1.0, -1.0), strict=True):
        if item == K:
            vector[-1] = sign
        else:
            vector[item * D : (item + 1) * D] = sign * x
    return vector


def test_the_optimum_is_that_of_liblinear_on_explicit_vectors():
    X, graphs = problem(0)
    rows = [
        (psi(x, edge), weight)
        for x, graph in zip(X, graphs, strict=True)
        for edge, weight in graph.edge_weights().items()
    ]
    P, weights = np.array([p for p, _ in rows]), np.array([w for _, w in rows])
    sign = np.where(np.arange(len(P)) % 2, 1, -1)
    theirs = LinearSVC(
        C=C, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=1_000_000
    ).fit(P * sign[:, None], sign, weights)
    w = theirs.coef_.ravel()
    value = 0.5 * w @ w + C * weights @ np.maximum(0, 1 - P @ w)
    ours = PreferenceRanker("dis", C=C, tol=1e-8, max_iter=20_000).fit(X, graphs)
    assert ours.objective_ == pytest.approx(value, rel=1e-5)
    assert np.allclose(ours.coef_.ravel(), w[:-1], atol=2e-3)
    assert np.allclose(ours.thresholds_, [w[-1]] * K, atol=2e-3)
    assert abs(w[-1]) > 0.01, "the threshold has to be learned"
    scores = X @ ours.coef_.T - ours.thresholds_
    assert np.allclose(ours.decision_function(X), scores)


@pytest.mark.parametrize("loss", ["dom", "dme", "dom-dme"])
def test_no_step_away_from_the_optimum_of_groups_is_better(loss):
    X, graphs = problem(1)
    names = {"dom": ["domination"], "dme": ["dominated"]}
    names["dom-dme"] = names["dom"] + names["dme"]
    ranker = PreferenceRanker(loss, C=C, tol=1e-8, max_iter=20_000).fit(X, graphs)

    def primal(w):
        value = 0.5 * w @ w
        for x, graph in zip(X, graphs, strict=True):
            weight = graph.edge_weights()
            for name in names[loss]:
                for group in decompose(graph, name):
                    worst = max(1 - psi(x, edge) @ w for edge in group)
                    cap = C * np.mean([weight[edge] for edge in group])
                    value += cap * max(0.0, worst)
        return value

    found = np.append(ranker.coef_.ravel(), ranker.thresholds_[0])
    assert primal(found) == pytest.approx(ranker.objective_, rel=1e-9)
    rng = np.random.default_rng(1)
    for size in (0.3, 0.03, 0.003):
        for _ in range(40):
            other = found + size * rng.standard_normal(len(found))
            assert primal(other) >= ranker.objective_ - 1e-6


def test_layers_beside_thresholds():
    X, graphs = problem(2, n=12)
    layers = [PreferenceGraph.multilabel(K, [i % K]) for i in range(6)]
    listed = [PreferenceGraph(K, graph.edges()) for graph in layers]
    mixed = PreferenceRanker(C=C, tol=1e-6, max_iter=5000).fit(X, layers + graphs[6:])
    alone = PreferenceRanker(C=C, tol=1e-6, max_iter=5000).fit(X, listed + graphs[6:])
    assert mixed.objective_ == pytest.approx(alone.objective_, rel=1e-5)
    assert np.allclose(mixed.thresholds_, alone.thresholds_, atol=5e-3)
    assert PreferenceRanker(prior=None).fit(X[:6], layers).thresholds_ is None
    assert PreferenceRanker(prior=None).fit(X[:6], listed).thresholds_ is None
    through = PreferenceRanker(C=C, tol=1e-6, max_iter=5000, kernel="linear")
    through.fit(X, layers + graphs[6:])
    assert np.allclose(
        through.decision_function(X), mixed.decision_function(X), atol=2e-2
    )


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_group_with_a_threshold(seed, learn):
    rng = np.random.default_rng(seed)
    pairs = np.array([(0, 3), (3, 1), (0, 1), (2, 3)])[rng.permutation(4)[:3]]
    winners, losers = pairs.T.astype(np.uint32)
    a, f, results = rng.random(3) * 0.2, rng.standard_normal(4), []
    q = float(rng.choice([0.0, 0.7]))
    for module in (kernels_groups, slow):
        b, g, delta = a.copy(), f.copy(), np.zeros(4)
        visit = (winners, losers, b, g, delta, q, 1.0, learn, 3)
        found = module.visit_edges(*visit)
        for _ in range(5):  # a visit has a limit of steps: flat groups need several
            module.visit_edges(*visit)
        results.append((found, g, delta[3] if q == 0 else delta))
    for fast, obvious in zip(*results, strict=True):
        assert np.allclose(fast, obvious, atol=1e-4)


def test_a_pass_is_the_slow_one():
    X, graphs = problem(3)
    groups = [decompose(graph, "domination") for graph in graphs]
    flat = [len(group) for document in groups for group in document]
    fast = ExplicitDual(rows_from(X), K, groups, np.full(len(flat), C))
    W, tau = np.zeros((D, K)), np.zeros(1)
    alpha = [[np.zeros(len(group)) for group in document] for document in groups]
    caps = [[C] * len(document) for document in groups]
    order = np.arange(len(X))
    for _ in range(2):
        seen = fast.learn(order)
        costs = slow_passes.explicit_pass(order, X, groups, caps, alpha, W, tau)
        assert seen == pytest.approx(costs.sum(), abs=1e-3)
    assert np.allclose(fast.W, W, atol=1e-3)
    assert fast.tau == pytest.approx(tau, abs=1e-3)


@pytest.mark.parametrize("loss", ["dis", "dom", "dme", "dom-dme"])
def test_an_empty_document_does_not_keep_the_gap_open(loss):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    layers = [PreferenceGraph.multilabel(2, [i % 2]) for i in range(3)]
    listed = [PreferenceGraph(2, graph.edges()) for graph in layers]
    for graphs in (layers, listed, [*layers[:2], listed[2]]):
        ranker = PreferenceRanker(loss, C=10.0, tol=1e-6, max_iter=500)
        ranker.fit(X, graphs)
        assert ranker.duality_gap_ <= 1e-6
        assert ranker.n_iter_ < 500


def test_an_empty_document_still_moves_the_threshold():
    graph = PreferenceGraph(1, [(1, 0)], thresholds=True)
    ranker = PreferenceRanker("dis", C=0.25).fit([[0.0]], [graph])
    assert ranker.thresholds_.tolist() == [0.25]


def test_the_threshold_is_the_item_after_the_labels():
    graph = PreferenceGraph.against_threshold(3, [1], [0], [(1, 2, 4.0)])
    assert graph.edges() == [(1, 3), (3, 0), (1, 2)]
    assert (graph.threshold, graph.n_labels) == (3, 3)
    assert amended(graph, {(0, 3): 1.0}).edges() == [(0, 3), (1, 2), (1, 3)]
    with pytest.raises(Mistake, match="0 to 2"):
        PreferenceGraph(3, [(1, 3)])
    with pytest.raises(Mistake, match="list the edges"):
        PreferenceGraph(3, levels=np.zeros(3, np.int64), thresholds=True)


def test_who_does_not_learn_thresholds_says_so():
    X, graphs = problem(4)
    with pytest.raises(Mistake, match=r"document 0: .*only PreferenceRanker"):
        LogLinearRanker().fit(X, graphs)
    with pytest.raises(Mistake, match="between 0 and 2"):
        ranking_error(np.zeros(3), graphs[0], "disagreement")


def test_the_gap_closes():
    X, graphs = problem(5)
    groups = [decompose(graph, "disagreement") for graph in graphs]
    caps = np.full(sum(map(len, groups)), C)
    found = ascend(ExplicitDual(rows_from(X), K, groups, caps), 1e-7, 20_000)
    assert found.relative_gap <= 1e-7
