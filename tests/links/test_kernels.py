"""Each pass over the links does what its slow version does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import rows_from
from classmark.links import kernels
from classmark.links.pagerank import incoming_links
from oracles import links as slow

SEEDS = st.integers(0, 2**32 - 1)


def web(seed, weighted):
    """A random link matrix with dangling pages and self-links, and a teleport."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    A = (rng.random((n, n)) < rng.random()) * 1.0
    if weighted:
        A *= rng.integers(0, 5, (n, n))
    A[rng.random(n) < 0.3] = 0.0
    v = rng.random(n) + 1e-3
    return A, v / v.sum(), rng.random(n), float(rng.uniform(0, 0.99))


@given(SEEDS, st.booleans())
def test_links_are_turned_round(seed, weighted):
    rows = rows_from(web(seed, weighted)[0])
    links = incoming_links(rows)
    shares = np.empty(0)
    if len(links.shares):
        shares = np.empty(rows.nnz)
        kernels.share_out(rows.starts, rows.values, shares, np.empty(len(rows)))
    for j, expected in enumerate(slow.turn_round(rows.starts, rows.columns, shares)):
        part = slice(links.starts[j], links.starts[j + 1])
        assert links.sources[part].tolist() == [i for i, _ in expected]
        if len(shares):
            assert links.shares[part].tolist() == [value for _, value in expected]
    assert links.starts[-1] == rows.nnz


@given(SEEDS)
def test_rows_are_shared_out(seed):
    A = web(seed, weighted=True)[0]
    rows = rows_from(A)
    shares, scale = np.empty(rows.nnz), np.empty(len(A))
    kernels.share_out(rows.starts, rows.values, shares, scale)
    expected, linked = slow.share_out(A)
    assert np.allclose(shares, expected[A > 0], rtol=1e-14)
    assert np.array_equal(scale, linked)


@pytest.mark.parametrize("huge", [1e308, 5e-324])
def test_no_weight_is_too_large_or_too_small_to_share_out(huge):
    shares, scale = np.empty(3), np.empty(1)
    kernels.share_out(np.array([0, 3]), np.full(3, huge), shares, scale)
    assert np.allclose(shares, 1 / 3)


@given(SEEDS, st.booleans())
def test_a_pass_follows_the_links(seed, weighted):
    A, v, x, damping = web(seed, weighted)
    links = incoming_links(A)
    expected, change = slow.follow_links(A, v, damping, x)
    said = kernels.follow_links(links, v, damping, x, np.empty_like(x))
    assert np.allclose(x, expected, rtol=1e-12)
    assert said == pytest.approx(change, rel=1e-9, abs=1e-14)


@given(SEEDS, st.booleans())
def test_a_sweep_solves_each_equation_in_turn(seed, weighted):
    A, v, x, damping = web(seed, weighted)
    links = incoming_links(A)
    sent = damping * links.scale * x
    for _ in range(2):
        expected, change = slow.relax_pages(A, v, damping, x)
        said = kernels.relax_pages(links, v, damping, x, sent)
        assert np.allclose(x, expected, rtol=1e-11)
        assert said == pytest.approx(change, rel=1e-9, abs=1e-13)
