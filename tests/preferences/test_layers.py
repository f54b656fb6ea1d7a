"""The prices of layers against those of their listed edges; far and missing scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import Rows
from classmark.preferences import losses
from oracles import losses as slow

N, K = 4, 6
SEEDS = st.integers(0, 2**32 - 1)
KINDS = st.sampled_from([0, 1, 2, 3])


def rows_of(levels):
    """List what is not at level 0."""
    starts = np.concatenate([[0], np.cumsum((levels != 0).sum(axis=1))])
    columns = np.nonzero(levels)[1].astype(np.uint32)
    return Rows(starts.astype(np.int64), columns, levels[levels != 0], levels.shape[1])


def oracle(kind, rows, F):
    out = np.zeros_like(F), np.zeros_like(F), np.zeros(len(F))
    slow.price_layers(kind, rows.starts, rows.columns, rows.values, F, *out)
    return out


def same(prices, wanted):
    for one, other in zip(
        (prices.into, prices.out_of, prices.losses), wanted, strict=True
    ):
        assert np.allclose(one, other, rtol=1e-10, atol=1e-14)


@given(SEEDS, KINDS)
def test_layers_cost_what_their_listed_edges_do(seed, kind):
    rng = np.random.default_rng(seed)
    rows, F = rows_of(rng.integers(-1, 4, (N, K))), rng.normal(size=(N, K)) * 3
    same(losses.price_layers(kind, rows, F), oracle(kind, rows, F))


@given(SEEDS, KINDS)
def test_few_labels_stand_above_the_rest(seed, kind):
    """Bipartite documents: none, one or two labels above all others."""
    rng = np.random.default_rng(seed)
    rows = rows_of((rng.random((N, K)) < 0.2).astype(np.int64))
    F = rng.normal(size=(N, K)) * 3
    same(losses.price_layers(kind, rows, F), oracle(kind, rows, F))


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_blocks_cost_what_the_whole_does(kind, monkeypatch):
    rng = np.random.default_rng(kind)
    rows, F = rows_of(rng.integers(-1, 3, (9, K))), rng.normal(size=(9, K))
    whole = losses.price_layers(kind, rows, F)
    monkeypatch.setattr(losses, "BLOCK", 2 * K)
    same(losses.price_layers(kind, rows, F), (whole.into, whole.out_of, whole.losses))


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_a_listed_level_of_zero_is_level_zero(kind):
    F = np.array([[0.3, -0.1, 0.2]])
    starts, columns = np.array([0, 2]), np.array([0, 1], np.uint32)
    rows = Rows(starts, columns, np.array([1, 0]), 3)
    same(losses.price_layers(kind, rows, F), oracle(kind, rows, F))


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_scores_far_apart_neither_overflow_nor_vanish(kind):
    """Layers 2 > 1 > 0 with scores 0, −900, −800: the lower edge costs 100."""
    F = np.array([[0.0, -900.0, -800.0]])
    prices = losses.price_layers(kind, rows_of(np.array([[2, 1, 0]])), F)
    groups = {0: 1, 1: 3, 2: 2, 3: 2}[kind]
    assert prices.losses[0] == pytest.approx(100.0 / groups)
    assert prices.into[0] == pytest.approx(np.array([0, 0, 1.0]) / groups)
    assert prices.out_of[0] == pytest.approx(np.array([0, 1.0, 0]) / groups)


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_documents_without_a_preference_cost_nothing(kind):
    """All at level 0, all at one higher level, all but one compared with none."""
    levels = np.array([[0, 0, 0], [1, 1, 1], [-1, 1, -1], [1, 0, 0]])
    F = np.random.default_rng(kind).normal(size=levels.shape)
    prices = losses.price_layers(kind, rows_of(levels), F)
    for values in (prices.losses, prices.into, prices.out_of):
        assert not values[:3].any()
        assert values[3].any()
