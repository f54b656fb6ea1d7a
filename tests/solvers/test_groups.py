"""Each exact step against projected gradient on the same small problem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classmark.solvers import kernels_groups
from oracles import groups as slow

SEEDS = st.integers(0, 2**32 - 1)


def state(seed, k=5, rows=None):
    """Scores, feasible duals and levels as in the middle of a run."""
    rng = np.random.default_rng(seed)
    cap = float(rng.uniform(0.2, 2))
    shape = (rows, k) if rows else (k,)
    a = rng.random(shape) * (rng.random(shape) < 0.5) * cap / max(k, rows or 1)
    level = np.array([2.0, 1.0, 0.0, 0.0, 1.0])[rng.permutation(5)][:k]
    return rng.standard_normal(k), a, level, float(rng.uniform(0.3, 2)), cap


@given(SEEDS)
def test_threshold_solves_its_equation(seed):
    rng = np.random.default_rng(seed)
    z, cap = rng.standard_normal(6) * 3, float(rng.uniform(0.01, 3))
    fast = kernels_groups.group_threshold(z, 6, cap)
    assert fast == pytest.approx(slow.group_threshold(z, 6, cap), abs=1e-9)
    a = rng.random(6)
    b, y = a.copy(), z.copy()
    total = kernels_groups.step_group(a, z, 6, cap)
    assert total == pytest.approx(slow.step_group(b, y, 6, cap), abs=1e-8)
    assert np.allclose(a, b, atol=1e-8)
    assert np.allclose(z, y, atol=1e-8)


def compare(name, f, a, rest):
    """Run both versions on copies; scores, duals, changes and slacks must agree."""
    results = []
    for module in (kernels_groups, slow):
        g, b, delta = f.copy(), a.copy(), np.zeros(len(f))
        found = getattr(module, name)(b, g, delta, *rest)
        results.append((found, g, b, delta))
    for fast, obvious in zip(*results, strict=True):
        assert np.allclose(fast, obvious, atol=1e-5)


@given(SEEDS, st.booleans())
@settings(max_examples=12)
def test_a_label_over_all_below_it(seed, learn):
    f, a, level, q, cap = state(seed)
    q, r = q * learn, int(np.argmax(level))
    hidden = np.flatnonzero(level >= level[r])
    a[hidden] = 0
    held = np.flatnonzero(a)
    results = []
    for module in (kernels_groups, slow):
        g, delta, buffers = f.copy(), np.zeros(5), np.zeros((2, 6))
        place = np.zeros(6, np.uint32)
        buffers[0, : len(held)], place[: len(held)] = a[held], held
        slack, m = module.visit_dom(
            g, delta, hidden, r, q, cap, place, len(held), buffers
        )
        spread = np.zeros(5)
        spread[place[:m]] = buffers[0, :m]
        results.append((slack, g, delta, spread))
    for fast, obvious in zip(*results, strict=True):
        assert np.allclose(fast, obvious, atol=1e-5)


@given(SEEDS, st.booleans())
@settings(max_examples=12)
def test_all_labels_over_one(seed, learn):
    f, _, level, q, cap = state(seed)
    above = np.flatnonzero(level > 0).astype(np.uint32)
    rng = np.random.default_rng(seed)
    a = rng.random((len(above), 5)) * cap / 5
    for j, label in enumerate(above):
        a[j, level >= level[label]] = 0
    s = int(np.argmin(level))
    rest = (level, above, s, q * learn, cap, np.empty((2, 6)))
    compare("visit_dme", f, a, rest)


@given(SEEDS, st.booleans())
@settings(max_examples=10)
def test_each_pair_alone(seed, learn):
    f, a, level, q, cap = state(seed)
    r = int(np.argmax(level))
    a[level >= level[r]] = 0
    held = np.random.default_rng(seed).permutation(np.flatnonzero(a))
    g, delta, buffers = f.copy(), np.zeros(5), np.zeros((2, 6))
    place = np.zeros(6, np.uint32)
    buffers[0, : len(held)], place[: len(held)] = a[held], held
    slack, m = kernels_groups.visit_dis(
        g, delta, level, r, q * learn, cap, place, len(held), buffers
    )
    b, h, change = a.copy(), f.copy(), np.zeros(5)
    other = slow.visit_dis(b, h, change, level, r, q * learn, cap)
    assert np.isclose(slack, other, atol=1e-5)
    assert np.array_equal(place[:m], np.flatnonzero(b))
    assert not buffers[1].any()
    pairs = ((buffers[0, :m], b[b != 0]), (g, h), (delta, change))
    assert all(np.allclose(*pair, atol=1e-5) for pair in pairs)


@given(SEEDS, st.booleans(), st.sampled_from([0, 1, 5]))
def test_each_label_against_its_threshold(seed, learn, thresholds):
    f, a, level, q, _ = state(seed)
    rng, results = np.random.default_rng(seed), []
    caps, rest_caps = rng.uniform(0.5, 2, (2, 5))
    start = rng.standard_normal(thresholds)
    for module in (kernels_groups, slow):
        b, g, tau, delta = a.copy(), f.copy(), start.copy(), np.zeros(5)
        visit = (b, g, tau, delta, level, q, learn, caps, rest_caps)
        results.append((module.visit_svm(*visit), b, g, tau, delta))
    for fast, obvious in zip(*results, strict=True):
        assert np.allclose(fast, obvious, atol=1e-6)


@given(SEEDS, st.booleans())
@settings(max_examples=12)
def test_any_edges(seed, learn):
    rng = np.random.default_rng(seed)
    pairs = np.array([(u, v) for u in range(4) for v in range(4) if u < v])
    pairs = pairs[rng.permutation(6)[:4]]
    flip = rng.random(4) < 0.5
    pairs[flip] = pairs[flip][:, ::-1]
    winners, losers = pairs.T.astype(np.uint32)
    a, f = rng.random(4) * 0.2, rng.standard_normal(4)
    results = []
    for module in (kernels_groups, slow):
        b, g, delta = a.copy(), f.copy(), np.zeros(4)
        found = module.visit_edges(winners, losers, b, g, delta, 0.7, 1.0, learn)
        results.append((found, g, delta))
    for fast, obvious in zip(*results, strict=True):
        assert np.allclose(fast, obvious, atol=1e-4)
