"""What holds of PageRank whatever the links."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from classmark.links.pagerank import METHODS, pagerank
from oracles import links as slow

SEEDS = st.integers(0, 2**32 - 1)
WAYS = st.sampled_from(METHODS)
DAMPING = st.floats(0, 0.99)


def web(seed):
    """Links, some with weights, of up to thirty pages, and where readers jump to."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 31))
    A = (rng.random((n, n)) < rng.choice([0.03, 0.1, 0.5])) * 1.0
    if rng.random() < 0.5:
        A *= rng.random((n, n))
    A[rng.random(n) < 0.2] = 0.0
    v = rng.random(n) * (rng.random(n) < 0.7)
    v[rng.integers(n)] += 0.1
    return A, v / v.sum(), rng


@given(SEEDS, DAMPING, WAYS)
def test_it_is_the_distribution_that_a_step_leaves_as_it_is(seed, damping, method):
    A, v, _ = web(seed)
    x = pagerank(A, damping, v, method)
    assert (x >= 0).all()
    assert abs(x.sum() - 1) < 1e-12
    assert np.abs(x @ slow.transitions(A, v, damping) - x).sum() < 1e-9
    assert np.abs(x - slow.pagerank(A, v, damping)).sum() < 1e-9


@given(SEEDS, st.floats(0, 0.9))
def test_wherever_a_reader_starts_many_steps_lead_to_the_same_ranks(seed, damping):
    """Every row of P^r comes to π: the fundamental theorem of finite Markov chains."""
    A, v, _ = web(seed)
    many = np.linalg.matrix_power(slow.transitions(A, v, damping), 512)
    assert np.abs(many - pagerank(A, damping, v)).sum(axis=1).max() < 1e-8


@given(SEEDS, DAMPING)
def test_the_ways_agree(seed, damping):
    A, v, _ = web(seed)
    for teleport in (None, v):
        power, *others = (pagerank(A, damping, teleport, m) for m in METHODS)
        for x in others:
            assert np.abs(x - power).max() < 1e-8


@given(SEEDS, WAYS)
def test_other_names_for_the_pages_change_only_the_names(seed, method):
    A, v, rng = web(seed)
    order = rng.permutation(len(A))
    x = pagerank(A, teleport=v, method=method)
    y = pagerank(A[np.ix_(order, order)], teleport=v[order], method=method)
    assert np.abs(y - x[order]).sum() < 1e-9


@given(SEEDS, st.floats(0.1, 0.95))
def test_personal_ranks_add_up_where_every_page_has_links(seed, damping):
    """With every page linked x is linear in the teleport vector."""
    A, v, rng = web(seed)
    np.fill_diagonal(A, 1.0)
    u = rng.dirichlet(np.ones(len(A)))
    mixed = pagerank(A, damping, 0.3 * u + 0.7 * v)
    parts = 0.3 * pagerank(A, damping, u) + 0.7 * pagerank(A, damping, v)
    assert np.abs(mixed - parts).sum() < 1e-9
