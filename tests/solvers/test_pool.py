"""Duals find room, keep it, move when they grow, and are never lost."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from classmark.solvers import kernels_groups
from oracles import pool as slow

K = 9


def pool(size=400):
    return np.zeros(size, np.uint16), np.zeros(size), np.zeros(1, np.int64)


@given(st.lists(st.integers(0, 40), max_size=12))
def test_room_is_kept_until_it_is_too_small(sizes):
    slot, (_, alpha, used) = np.zeros(3, np.uint32), pool()
    for m in sizes:
        expected, end = slow.room_for(m, slot, int(used[0]))
        first = kernels_groups.room_for(m, slot, alpha, used)
        assert (slot.tolist(), used[0]) == (expected, end)
        assert first == expected[0]
        assert not alpha.any()
        alpha[first : first + m] = 1.0


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_what_is_stored_is_loaded_and_survives_compaction(seed):
    rng = np.random.default_rng(seed)
    slots, (label, alpha, used) = np.zeros((5, 3), np.uint32), pool()
    for _ in range(4):
        a = rng.random((5, K)) * (rng.random((5, K)) < rng.random())
        known = slow.store_duals(a)
        kernels_groups.store_duals(a, slots, label, alpha, used)
        assert not a.any()
    assert [slow.held(slot, label, alpha) for slot in slots] == known
    assert np.isclose(alpha.sum(), sum(sum(row.values()) for row in known))
    again = np.zeros((5, K))
    kernels_groups.load_duals(again, slots, label, alpha)
    assert np.array_equal(again, slow.load_duals(slots, label, alpha, K))
    in_order = slow.compact(slots, label, alpha)
    end = kernels_groups.compact(np.argsort(slots[:, 0]), slots, label, alpha)
    assert end == sum(map(len, in_order))
    assert [slow.held(slot, label, alpha) for slot in slots] == known
    assert slow.compact(slots, label, alpha) == in_order
    assert not alpha[end:].any()


def test_the_most_a_document_can_need():
    assert kernels_groups.most_room(2, 3, 10) == slow.most_room(2, 3, 10) == 96


def test_the_duals_of_some_slots_are_summed():
    rng = np.random.default_rng(5)
    slots, (label, alpha, used) = np.zeros((2, 5, 3), np.uint32), pool()
    for part in slots:
        kernels_groups.store_duals(rng.random((5, K)), part, label, alpha, used)
    begins, ends, found = np.array([0, 2, 2]), np.array([2, 5, 2]), np.zeros(3)
    kernels_groups.sum_of_slots(begins, ends, slots, alpha, found)
    expected = slow.sum_of_slots(begins, ends, slots, label, alpha)
    assert np.allclose(found, expected)
    assert found[2] == 0 < found[0] < found[1]
