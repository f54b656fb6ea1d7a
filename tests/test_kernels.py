"""The kernels every learner shares, beside their slow versions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from classmark import kernels
from oracles import scores as slow


def test_the_square_of_a_row():
    row = np.array([1.5, -2.0], np.float32)
    assert kernels.square(row) == slow.square(row) == 6.25


@given(st.integers(0, 2**32 - 1))
def test_a_row_times_weights_and_added_to_them(seed):
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.permutation(9)[:4]).astype(np.uint32)
    values, w = rng.normal(size=4), rng.normal(size=9)
    assert np.isclose(kernels.dot(columns, values, w), slow.dot(columns, values, w))
    same = w.copy()
    kernels.add(columns, values, 0.5, w)
    slow.add(columns, values, 0.5, same)
    assert np.allclose(w, same)


@given(st.integers(1, 2**31 - 2), st.integers(0, 20))
def test_a_shuffle_keeps_what_is_there(seed, n):
    ours, theirs = np.arange(20, dtype=np.uint32), list(range(20))
    assert kernels.shuffle(ours, n, seed) == slow.shuffle(theirs, n, seed)
    assert ours.tolist() == theirs
    assert sorted(theirs) == list(range(20))
    assert theirs[n:] == list(range(20))[n:]


@given(arrays(np.float32, st.integers(1, 60), elements=st.sampled_from([-1, 0, 1, 7])))
def test_sorting_by_keys(keys):
    order, n = np.arange(len(keys), dtype=np.uint32), len(keys) - len(keys) // 3
    slow_order = order.copy()
    kernels.sort_by(keys, order, n)
    slow.sort_by(keys, slow_order, n)
    assert np.array_equal(keys[order], keys[slow_order])
    assert sorted(order) == sorted(slow_order)


@given(arrays(np.float32, st.integers(1, 60), elements=st.floats(width=32)), st.data())
def test_the_kth_largest(values, data):
    values = np.nan_to_num(values)
    n = data.draw(st.integers(1, len(values)))
    k = data.draw(st.integers(1, n))
    assert kernels.kth_largest(values.copy(), n, k) == slow.kth_largest(values, n, k)


def test_filling():
    out = np.arange(3.0)
    kernels.fill(out[1:], 7.0)
    assert out.tolist() == [0.0, 7.0, 7.0]
