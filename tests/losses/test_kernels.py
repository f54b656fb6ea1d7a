"""The compiled prices against the slow ones, and where exp would overflow."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.losses import formulas, kernels
from oracles import losses as slow

N, K = 4, 6


def arrays(F):
    return np.zeros_like(F), np.zeros_like(F), np.zeros(len(F))


def layers(rng):
    """Random levels −1 … 3, listed where they are not 0."""
    levels = rng.integers(-1, 4, (N, K))
    starts = np.concatenate([[0], np.cumsum((levels != 0).sum(axis=1))])
    columns = np.nonzero(levels)[1].astype(np.uint32)
    return starts.astype(np.int64), columns, levels[levels != 0]


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
    assert math.isclose(formulas.price(z), slow.price(z), rel_tol=1e-9, abs_tol=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2, 3]))
def test_layers_cost_what_their_listed_edges_do(seed, kind):
    rng = np.random.default_rng(seed)
    levels, F = layers(rng), rng.normal(size=(N, K)) * 3
    fast, listed = arrays(F), arrays(F)
    kernels.price_layers(kind, *levels, F, *fast)
    slow.price_layers(kind, *levels, F, *listed)
    for one, other in zip(fast, listed, strict=True):
        assert np.allclose(one, other, rtol=1e-10, atol=1e-14)


@given(st.integers(0, 2**32 - 1))
def test_groups_of_listed_edges(seed):
    rng = np.random.default_rng(seed)
    listed, F = groups(rng), rng.normal(size=(N, K)) * 3
    fast, other = arrays(F), arrays(F)
    kernels.price_groups(*listed, F, *fast)
    slow.price_groups(*listed, F, *other)
    for one, two in zip(fast, other, strict=True):
        assert np.allclose(one, two, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_scores_far_apart_neither_overflow_nor_vanish(kind):
    """Layers 2 > 1 > 0 with scores 0, −900, −800: the lower edge costs 100."""
    F = np.array([[0.0, -900.0, -800.0]])
    levels = np.array([0, 2]), np.array([0, 1], np.uint32), np.array([2, 1])
    into, out_of, losses = arrays(F)
    kernels.price_layers(kind, *levels, F, into, out_of, losses)
    groups = {0: 1, 1: 3, 2: 2, 3: 2}[kind]
    assert losses[0] == pytest.approx(100.0 / groups)
    assert into[0] == pytest.approx(np.array([0, 0, 1.0]) / groups)
    assert out_of[0] == pytest.approx(np.array([0, 1.0, 0]) / groups)
