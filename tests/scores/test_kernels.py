"""The kernels every learner shares, beside their slow versions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from classmark.scores import kernels
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
