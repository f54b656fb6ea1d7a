"""A threshold per category, or one for all, beside the preferences among labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classmark import PreferenceGraph, PreferenceRanker
from classmark.arrays import rows_from
from classmark.preferences.graph import decompose
from classmark.preferences.labels import levels_from
from classmark.problems import Mistake, TooLittleMemory
from classmark.solvers.live_arrays import from_arrays, to_arrays
from classmark.solvers.preference import Caps, ImplicitDual
from oracles import dual as slow

K, D, C = 3, 4, 0.7
KINDS = ("common", "category")
LONG = {"dis": "disagreement", "dom": "domination", "dme": "dominated"}
LOSSES = ("dis", "dom", "dme", "dom-dme")


def documents(seed, n=9):
    """Sparse documents, and labels: one, several or none."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * (rng.random((n, D)) < 0.8) + 0.3
    X[-1] = 0.0
    return X, (rng.random((n, K)) < 0.4).astype(float)


def by_qp(X, Y, loss, kind):
    """The optimum by a quadratic program over w = (w_1 … w_m, τ): w, τ and value."""
    size, rows, groups = K * D + (1 if kind == "common" else K), [], []

    def row(x, winner, loser):
        vector = np.zeros(size)
        for item, sign, other in ((winner, 1.0, loser), (loser, -1.0, winner)):
            if item == K:
                vector[K * D + (0 if kind == "common" else other)] = sign
            else:
                vector[item * D : (item + 1) * D] += sign * x
        rows.append(vector)
        return len(rows) - 1

    for x, y in zip(X, Y, strict=True):
        graph = PreferenceGraph.multilabel(K, np.flatnonzero(y))
        parts = [] if loss == "svm" else loss.split("-")
        among = [g for part in parts for g in decompose(graph, LONG[part])]
        alone = [[(c, K) if y[c] else (K, c)] for c in range(K)]
        groups += [[row(x, u, v) for u, v in group] for group in among + alone]
    w, value = slow.preference_qp(np.array(rows), groups, C)
    return w[: K * D].reshape(K, D), np.broadcast_to(w[K * D :], K), value


def exact(loss, kind, **more):
    how = {"C": C, "tol": 1e-7, "max_iter": 30_000} | more
    return PreferenceRanker(loss, thresholds=kind, **how)


@pytest.mark.parametrize("loss", [*LOSSES, "svm"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_that_of_a_quadratic_program(loss, kind):
    X, Y = documents(1)
    w, tau, value = by_qp(X, Y, loss, kind)
    ours = exact(loss, kind).fit(X, Y)
    assert ours.duality_gap_ <= 1e-7
    assert ours.objective_ == pytest.approx(value, rel=1e-6)
    assert np.allclose(ours.coef_, w, atol=2e-3)
    assert np.allclose(ours.thresholds_, tau, atol=2e-3)
    assert np.ptp(tau) > 0.05 or kind == "common"
    assert (ours.predict(X) == (ours.thresholds_ < X @ ours.coef_.T)).all()
    by_score = kind == "category" and loss != "svm"
    shift = 0.0 if by_score else ours.thresholds_
    assert np.allclose(ours.decision_function(X), X @ ours.coef_.T - shift)


@pytest.mark.parametrize("kind", KINDS)
def test_svm_has_a_threshold_per_label_unless_told(kind):
    X, Y = documents(2)
    plain, told = exact("svm", None).fit(X, Y), exact("svm", kind).fit(X, Y)
    assert len(set(plain.thresholds_.round(6))) == K
    same = np.allclose(plain.thresholds_, told.thresholds_, atol=1e-3)
    assert same == (kind == "category")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_listed_edges_and_a_kernel_come_to_the_same(loss, kind):
    X, Y = documents(3)
    layers = [PreferenceGraph.multilabel(K, np.flatnonzero(y)) for y in Y]
    listed = [
        PreferenceGraph.against_threshold(K, np.flatnonzero(y), edges=graph.edges())
        for y, graph in zip(Y, layers, strict=True)
    ]
    whole = exact(loss, kind).fit(X, Y)
    for graphs in (layers, listed, [*layers[:4], *listed[4:]]):
        for more in ({}, {"n_jobs": 2}, {"kernel": "linear"}):
            other = exact(loss, kind, **more).fit(X, graphs)
            assert other.objective_ == pytest.approx(whole.objective_, rel=1e-5)
            assert np.allclose(other.thresholds_, whole.thresholds_, atol=5e-3)
            assert np.allclose(
                other.decision_function(X), whole.decision_function(X), atol=1e-2
            )


def test_a_function_as_the_loss_has_thresholds_too():
    X, Y = documents(4)
    free = exact(lambda graph: decompose(graph, "dom"), "category").fit(X, Y)
    assert free.objective_ == pytest.approx(
        exact("dom", "category").fit(X, Y).objective_, rel=1e-6
    )


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from(LOSSES))
@settings(max_examples=12)
def test_a_pass_is_the_slow_one(seed, kind, loss):
    X, Y = documents(seed)
    X[-1] = 0.5
    levels = levels_from(Y)
    caps = np.full(K, C)
    fast = ImplicitDual(
        rows_from(X), levels, loss, Caps(caps, caps), thresholds=kind, threads=2
    )
    one = ImplicitDual(rows_from(X), levels, loss, Caps(caps, caps), thresholds=kind)
    W, tau, alpha = np.zeros((D, K)), np.zeros_like(one.tau), {}
    for _ in range(2):
        order = np.arange(len(X))
        one.naps[:] = 0
        seen = one.learn(order)
        costs = slow.implicit_pass(
            order, X, levels.to_scipy().toarray(), f"{loss}-svm",
            np.full(Y.shape, C), caps, alpha, W, tau,
        )  # fmt: skip
        assert seen == pytest.approx(costs.sum(), abs=1e-3)
        fast.learn(order)
    assert np.allclose(one.W, W, atol=1e-3)
    assert np.allclose(one.tau, tau, atol=1e-3)
    fast.settle()
    before, shift = fast.W.copy(), fast.tau.copy()
    fast.share_one_pool()
    parts = fast.coefficients()
    assert np.allclose(before, X.T @ parts, atol=1e-5)
    assert shift.sum() == pytest.approx(_given_to_thresholds(fast), abs=1e-5)


def _given_to_thresholds(dual):
    """Σ over duals against thresholds: +α where a label is below, −α where above."""
    (pool,), total = dual.pools, 0.0
    for place, (first, count, _) in enumerate(dual.own.astype(int)):
        mine = dual.levels.row(place)[0]
        for t in range(first, first + count):
            total += -pool.alpha[t] if pool.label[t] in mine else pool.alpha[t]
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_document_by_document_comes_to_the_optimum_of_all(loss, kind):
    X, Y = documents(5)
    live = PreferenceRanker(loss, C=C, thresholds=kind, revisits=0).partial_fit(X, Y)
    assert live.thresholds_.shape == (K,)
    live.revisit(60_000)
    live.show_stream()
    whole = exact(loss, kind).fit(X, Y)
    assert np.allclose(live.coef_, whole.coef_, atol=5e-3)
    assert np.allclose(live.thresholds_, whole.thresholds_, atol=5e-3)
    assert (live.predict(X) == whole.predict(X)).mean() > 0.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_forgotten_leaves_nothing_behind(loss, kind):
    X, Y = documents(6)
    ranker = PreferenceRanker(loss, C=C, thresholds=kind, revisits=5)
    graph = PreferenceGraph(K, [(0, 1), (2, K), (K, 1)], thresholds=True)
    ranker.partial_fit(X, Y).partial_fit(X[:1], [graph])
    live = ranker.live_
    assert np.abs(live.tau).max() > 0.01
    for handle in range(len(X) + 1):
        live.forget(handle)
    assert np.abs(live.W).max() < 1e-6
    assert np.abs(live.tau).max() < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_opened_it_goes_on_to_the_bit(kind):
    X, Y = documents(7)
    graph = PreferenceGraph(K, [(0, 1), (2, K), (K, 1)], thresholds=True)
    ranker = PreferenceRanker("dom", C=C, thresholds=kind, revisits=3)
    ranker.fit(X[:4], Y[:4]).partial_fit(X[4:7], Y[4:7]).partial_fit(X[:1], [graph])
    saved = {name: np.array(a) for name, a in to_arrays(ranker.live_).items()}
    opened = from_arrays(saved, "dom", kind)
    for live in (ranker.live_, opened):
        live.forget(2)
        live.grow(0, K + 20)
        live.revisit(50)
    assert np.array_equal(ranker.live_.W, opened.W)
    assert np.array_equal(ranker.live_.thresholds_, opened.thresholds_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_merged_labels_have_one_threshold(loss, kind):
    """What is learned after a merge has the optimum of the merged labels."""
    X, Y = documents(8)
    ranker = PreferenceRanker(loss, C=C, thresholds=kind, revisits=20)
    ranker.partial_fit(X, Y)
    live = ranker.live_
    live.merge(2, 0)
    live.revisit(60_000)
    merged = np.column_stack([np.maximum(Y[:, 0], Y[:, 2]), Y[:, 1]])
    whole = exact(loss, kind).fit(X, merged)
    assert np.allclose(live.W[:, :2], whole.weights_, atol=5e-3)
    assert np.allclose(live.thresholds_[:2], whole.thresholds_, atol=5e-3)
    for handle in range(len(X)):
        live.forget(handle)
    assert np.abs(live.tau).max() < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_moved_documents_are_learned_anew(kind):
    X, Y = documents(9)
    ranker = PreferenceRanker("dom", C=C, thresholds=kind, revisits=20)
    ranker.partial_fit(X, Y)
    live = ranker.live_
    live.move(range(len(X)), 1, 3)
    live.revisit(60_000)
    moved = np.column_stack([Y[:, 0], np.zeros(len(X)), Y[:, 2], Y[:, 1]])
    whole = exact("dom", kind).fit(X, moved)
    assert np.allclose(live.W, whole.weights_, atol=5e-3)
    assert np.allclose(live.thresholds_, whole.thresholds_, atol=5e-3)


def test_a_retired_label_does_not_move_the_thresholds():
    X, Y = documents(10)
    ranker = PreferenceRanker("dom", C=C, thresholds="category", revisits=20)
    live = ranker.partial_fit(X, Y).live_
    before = live.tau[1]
    live.retire(1)
    live.revisit(5000)
    assert live.tau[1] == before
    rest = exact("dom", "category").fit(X, Y[:, [0, 2]])
    live.forget(0)
    assert rest.thresholds_.shape == (2,)
    assert live.tau[1] != before or not Y[0].any()


def test_an_empty_document_moves_the_thresholds_alone():
    ranker = exact("dom", "category").fit([[0.0]], np.array([[1.0, 0.0]]))
    assert ranker.thresholds_.tolist() == [-C, C]
    assert ranker.duality_gap_ <= 1e-7
    assert not ranker.coef_.any()


def test_wrong_names_and_sparse_weights_are_refused():
    X, Y = documents(11)
    with pytest.raises(Mistake, match="use None, 'common' or 'category'"):
        PreferenceRanker(thresholds="each").fit(X, Y)
    with pytest.raises(TooLittleMemory, match="without kernel and thresholds"):
        PreferenceRanker(thresholds="common", memory="50B").fit(X, Y)
    live = PreferenceRanker().partial_fit(X, Y)
    with pytest.raises(Mistake, match="no thresholds"):
        live.predict(X)
