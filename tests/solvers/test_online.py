"""The on-line kernels against their slow versions, and what grows against what is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import rows_from
from classmark.kernels import add_to_rows, scores_of
from classmark.preferences.labels import labels_from
from classmark.solvers import kernels_online
from classmark.solvers.hinge import KernelFunction
from classmark.solvers.online import Prototypes, Supports
from oracles import online as slow
from oracles.scores import add_to_rows as slow_add
from oracles.scores import scores_of as slow_scores

SEEDS = st.integers(0, 2**32 - 1)
RULES = st.integers(0, 3)


def problem(seed, n=12, d=6, k=4, *, whole=False):
    """Documents and labels; ``whole`` numbers, so that sums are exact and ties real."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)) if whole else rng.standard_normal((n, d))
    X = X * (rng.random((n, d)) < 0.6)
    return rows_from(X.astype(float)), labels_from((rng.random((n, k)) < 0.4) * 1)


@given(SEEDS, st.integers(0, 12))
def test_scores_are_a_sum_of_rows(seed, n):
    rng = np.random.default_rng(seed)
    columns = rng.permutation(15)[:n].astype(np.uint32)
    values, W = rng.standard_normal(n), rng.standard_normal((15, 4))
    out, expected = np.empty(4), np.empty(4)
    scores_of(columns, values, W, out)
    slow_scores(columns, values, W, expected)
    assert np.allclose(out, expected)
    delta, changed = np.array([0.5, 0.0, -2.0, 0.0]), np.array([2, 0], np.uint32)
    V = W.copy()
    add_to_rows(columns, values, W, delta, changed, 2)
    slow_add(columns, values, V, delta, changed, 2)
    assert np.allclose(W, V)


@given(SEEDS, RULES, st.integers(1, 9))
def test_steps_are_those_of_the_pairs_one_by_one(seed, rule, k):
    """Ties are common; Y may be empty or full."""
    rng = np.random.default_rng(seed)
    f = rng.integers(-2, 3, k).astype(float)
    relevant = np.flatnonzero(rng.random(k) < rng.random()).astype(np.uint32)
    counts, expected = np.zeros(k, int), np.zeros(k, int)
    errors = kernels_online.count_errors(f, relevant, counts)
    assert errors == slow.count_errors(f, relevant, expected)
    assert counts.tolist() == expected.tolist()
    tau, changed, losses = np.zeros(k), np.zeros(k + 1, np.uint32), np.zeros(3)
    other, listed, lost = np.zeros(k), np.zeros(k + 1, np.uint32), np.zeros(3)
    n = kernels_online.steps_of(rule, f, relevant, tau, changed, counts, losses)
    m = slow.steps_of(rule, f, relevant, other, listed, expected, lost)
    assert np.allclose(losses, lost)
    assert changed[:n].tolist() == listed[:m].tolist()
    if n:
        assert np.allclose(tau, other)
    if n and rule:
        loss = losses[rule - 1]
        assert np.isclose(tau[relevant].sum(), loss)
        assert np.isclose(tau.sum(), 0.0)


@given(SEEDS, RULES, st.sampled_from([4, 40]), st.booleans())
def test_a_pass_is_the_slow_pass(seed, rule, k, average):
    """With 40 labels, updates of few labels go label by label; rows are padded."""
    rows, labels = problem(seed, k=k)
    matrix = (rows.starts, rows.columns, rows.values)
    arrays = matrix, (labels.starts, labels.columns)
    W, U = np.zeros((6, k + 3)), np.zeros((6 if average else 0, k + 3))
    V, T = W.copy(), U.copy()
    fast_losses, slow_losses = np.empty((12, 3)), np.empty((12, 3))
    for t in (0, 12):
        moved = kernels_online.online_pass(rule, *arrays, W, U, k, t, fast_losses)
        assert moved == slow.online_pass(rule, *arrays, V, T, k, t, slow_losses)
        assert np.allclose(fast_losses, slow_losses)
    assert np.allclose(W, V)
    assert np.allclose(U, T)
    assert not W[:, k:].any()


@given(SEEDS, RULES, st.integers(1, 14))
def test_a_pass_over_supports_is_the_slow_one(seed, rule, budget):
    rows, labels = problem(seed)
    X = rows.to_scipy().toarray()
    similar = (X[2:] @ X.T + 1.0) ** 2
    similar = similar[:, : len(X)]
    tables = []
    first = labels.starts[2]
    lists = (labels.starts[2:] - first, labels.columns[first:])
    for version in (kernels_online.support_pass, slow.support_pass):
        T, rounds = np.zeros((12, 4)), np.full(12, -1)
        T[0], rounds[0], sizes = [1.0, -1.0, 0.0, 0.0], 0, np.full(12, 0.7)
        losses = np.empty((10, 3))
        version(rule, similar, lists, T, rounds, sizes, budget, 2, losses)
        tables.append((rounds, T[rounds >= 0], losses))
    for fast, expected in zip(*tables, strict=True):
        assert np.allclose(fast, expected)


@given(SEEDS, st.integers(0, 6))
def test_votes_are_those_of_every_prototype(seed, updates):
    rng = np.random.default_rng(seed)
    similar = rng.integers(-2, 3, (5, updates)).astype(float)
    T = rng.integers(-2, 3, (updates, 4)).astype(float)
    survived = rng.integers(0, 9, updates + 1).astype(float)
    points, expected = np.zeros((5, 4)), np.zeros((5, 4))
    kernels_online.vote_pass(similar, T, survived, points)
    slow.vote_pass(similar, T, survived, expected)
    assert np.allclose(points, expected)


@given(SEEDS, RULES, st.booleans(), st.booleans())
def test_words_may_come_one_by_one(seed, rule, average, with_kernel):
    """A stream whose words come when they are first used, or all at once."""
    rows, labels = problem(seed, n=30, whole=True)
    X, Y = rows.to_scipy().toarray(), labels.to_scipy().toarray()
    kind = KernelFunction("linear")

    def fresh():
        if with_kernel:
            return Supports(kind, average=average)
        return Prototypes(average=average)

    whole, growing = fresh(), fresh()
    whole.learn(2 if rule else 0, rows, labels_from(Y, n_labels=4))
    whole.learn(2 if rule else 0, rows, labels_from(Y, n_labels=4))
    for _ in range(2):
        for x, y in zip(X, Y, strict=True):
            width = max(growing.features, int(np.flatnonzero(x).max(initial=0)) + 1)
            growing.learn(
                2 if rule else 0, rows_from(x[None, :width]), labels_from(y[None])
            )
    assert growing.labels == whole.labels
    assert np.array_equal(growing.rounds.array, whole.rounds.array)
    known = rows_from(X[:, : growing.features])
    assert np.allclose(growing.scores(known), whole.scores(rows))


def test_room_doubles_and_rows_begin_on_cache_lines():
    model, moves, last = Prototypes(), 0, None
    for features in range(1, 200):
        x = np.zeros((1, features), np.float32)
        x[0, -1] = 1.0
        model.learn(3, rows_from(x), labels_from([[features % 103]], n_labels=103))
        table = model.weights().base
        moves += table is not last
        last = table
    assert moves <= 9
    assert model.weights().dtype == np.float32
    assert model.weights().strides[0] == 448
    assert model.weights().ctypes.data % 64 == 0
    assert (model.weights() != 0).any(axis=1).all()


@pytest.mark.parametrize("k", [1, 5, 17])
def test_few_labels_are_not_padded(k):
    model = Prototypes()
    model.learn(1, rows_from(np.ones((1, 3))), labels_from([[0]], n_labels=k))
    assert model.weights().flags.c_contiguous
