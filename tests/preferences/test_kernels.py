"""The compiled prices of listed edges against the slow ones."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from classmark.preferences import kernels
from oracles import losses as slow

N, K = 4, 6


def arrays(F):
    return np.zeros_like(F), np.zeros_like(F), np.zeros(len(F))


def groups(rng):
    many = rng.integers(0, 3, N)
    sizes = rng.integers(1, 4, many.sum())
    inits = rng.integers(0, K, sizes.sum())
    terms = (inits + rng.integers(1, K, len(inits))) % K
    starts = np.concatenate([[0], np.cumsum(many)]).astype(np.int64)
    group_starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ends = inits.astype(np.uint32), terms.astype(np.uint32)
    return starts, group_starts, *ends, rng.normal(size=len(inits))


@given(st.floats(-30, 30))
def test_price(z):
    assert math.isclose(kernels.price(z), slow.price(z), rel_tol=1e-9, abs_tol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_groups_of_listed_edges(seed):
    rng = np.random.default_rng(seed)
    listed, F = groups(rng), rng.normal(size=(N, K)) * 3
    fast, other = arrays(F), arrays(F)
    kernels.price_groups(*listed, F, *fast)
    slow.price_groups(*listed, F, *other)
    for one, two in zip(fast, other, strict=True):
        assert np.allclose(one, two, rtol=1e-10, atol=1e-14)
