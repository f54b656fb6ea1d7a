"""A live problem is kept as arrays, exactly as it stands."""

import numpy as np
import pytest

from classmark import PreferenceGraph, PreferenceRanker
from classmark.rankers.preference import lesson_of
from classmark.solvers.live_arrays import from_arrays, to_arrays
from classmark.solvers.preference_live import (
    from_batch,
    from_nothing,
)

K, D = 5, 8


def lesson(rng, loss, listed):
    columns = np.flatnonzero(rng.random(D) < 0.6).astype(np.uint32)
    words = columns, rng.standard_normal(len(columns)).astype(np.float32)
    if listed:
        u, v, w = rng.permutation(K)[:3].tolist()
        graph = PreferenceGraph(
            K, [(u, v, 2.0), (v, w), (w, u), (K, w)], thresholds=True
        )
    else:
        graph = PreferenceGraph(K, levels=rng.integers(-1, 3, K))
    return lesson_of(words, graph, loss)


def learned(rng, loss="dom", n=40, keep=None):
    live = from_nothing(loss, 0.7, keep=keep)
    for i in range(n):
        live.learn(lesson(rng, loss, listed=i % 3 == 0))
        live.revisit(3)
    return live


def reopened(live, loss="dom"):
    return from_arrays(to_arrays(live), loss)


def same(one, other):
    return (
        np.array_equal(one.W, other.W)
        and one.tau[0] == other.tau[0]
        and one.retired == other.retired
        and one.visits == other.visits
        and len(one) == len(other)
        and np.array_equal(one.shelf.alive, other.shelf.alive)
        and list(one.listed) == list(other.listed)
    )


@pytest.mark.parametrize("loss", ["dom", "dis", "dme", "dom-dme"])
def test_every_act_after_opening_does_the_same(loss):
    rng = np.random.default_rng(3)
    one = learned(rng, loss)
    one.retire(1)
    one.forget(4)
    one.forget(6)
    other = reopened(one, loss)
    assert same(one, other)
    acts = [
        lambda live: live.revisit(60),
        lambda live: live.forget(3),
        lambda live: live.replace(7, lesson(np.random.default_rng(1), loss, False)),
        lambda live: live.replace(9, lesson(np.random.default_rng(2), loss, True)),
        lambda live: live.grow(D + 3, K + 20),
        lambda live: live.hide(live.retired - {1}),
        lambda live: live.merge(0, 2),
        lambda live: live.move([10, 12], 2, K),
        lambda live: live.learn(lesson(np.random.default_rng(5), loss, True)),
        lambda live: live.revisit(100),
    ]
    for number, act in enumerate(acts):
        act(one)
        act(other)
        assert same(one, other), number
        assert same(one, reopened(one, loss)), number


def test_what_is_stored_is_the_documents_and_their_duals():
    one = learned(np.random.default_rng(0))
    other = reopened(one)
    for handle in range(40):
        assert one.lesson(handle).prefers_as(other.lesson(handle))
        assert np.array_equal(one.lesson(handle).labels, other.lesson(handle).labels)
        if handle in one.listed:
            assert np.array_equal(one.listed[handle].duals, other.listed[handle].duals)


def test_a_bounded_memory_lets_the_same_documents_go():
    one = learned(np.random.default_rng(2), keep=10)
    other = reopened(one)
    rngs = [np.random.default_rng(9) for _ in range(2)]
    for _ in range(20):
        for live, rng in zip((one, other), rngs, strict=True):
            live.learn(lesson(rng, "dom", listed=rng.random() < 0.5))
        assert len(other) == 10
        assert same(one, other)
        assert [one.knows(h) for h in range(60)] == [other.knows(h) for h in range(60)]


def test_after_a_batch_with_a_center_the_weights_are_kept_as_they_are():
    rng = np.random.default_rng(4)
    X = rng.random((30, 6)).astype(np.float32)
    Y = [[int(rng.integers(4))] for _ in range(30)]
    fitted = PreferenceRanker(C=0.5, center=2.0).fit(X, Y)
    one = from_batch(fitted.problem_, 0.5)
    other = reopened(one)
    one.revisit(300)
    other.revisit(300)
    assert same(one, other)
    assert np.allclose(one.W, fitted.weights_, atol=0.5)


def test_nothing_can_be_stored_too():
    empty = reopened(from_nothing("dom", 1.0))
    assert len(empty) == 0
    assert empty.learn(lesson(np.random.default_rng(1), "dom", listed=False)) == 0
