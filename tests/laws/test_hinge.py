"""Laws of weighted hinges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import rows_from
from classmark.solvers.hinge import Hinges, ascend
from oracles import hinge as slow

EXACT = {"tol": 1e-10, "max_iter": 100_000}


@st.composite
def problems(draw):
    n, d = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    m = draw(st.integers(1, 12))
    rows = rng.integers(0, n, m).astype(np.uint32)
    signs = rng.choice([-1.0, 1.0], m)
    return X, Hinges(rows, signs, rng.exponential(0.5, m), rng.random(m))


@given(problems())
def test_with_all_duals_at_their_bounds_weights_are_exactly_the_sum(drawn):
    X, hinges = drawn
    least = np.abs(X).sum() ** 2 * len(hinges.rows) + 1.0
    hinges = hinges._replace(
        boxes=hinges.boxes / least / 10, margins=hinges.margins + 1
    )
    found = ascend([rows_from(X)], hinges, duals=hinges.boxes)
    w = np.zeros(X.shape[1])
    for row, sign, box in zip(*hinges[:3], strict=True):
        w += sign * box * X[row]
    assert np.array_equal(found.weights, w)
    assert found.n_iter == 0
    cold = ascend([rows_from(X)], hinges, **EXACT)
    assert np.allclose(cold.duals, hinges.boxes)


@given(problems(), st.floats(0.1, 10.0))
def test_longer_rows_need_shorter_weights(drawn, scale):
    X, hinges = drawn
    one = ascend([rows_from(X)], hinges, **EXACT)
    smaller = hinges._replace(boxes=hinges.boxes / scale**2)
    other = ascend([rows_from(scale * X)], smaller, **EXACT)
    assert other.objective == pytest.approx(one.objective / scale**2, abs=1e-7)
    assert np.allclose(scale * other.weights, one.weights, atol=1e-3)


@given(problems(), st.floats(0.1, 10.0))
def test_margins_and_boxes_scale_the_weights(drawn, scale):
    X, hinges = drawn
    one = ascend([rows_from(X)], hinges, **EXACT)
    larger = hinges._replace(boxes=scale * hinges.boxes, margins=scale * hinges.margins)
    other = ascend([rows_from(X)], larger, **EXACT)
    assert other.objective == pytest.approx(one.objective * scale**2, rel=1e-6)
    assert np.allclose(other.weights, scale * one.weights, atol=1e-3 * scale)


@given(problems())
def test_a_hinge_is_two_of_half_its_box(drawn):
    X, hinges = drawn
    twice = Hinges(*(np.concatenate([part, part]) for part in hinges))
    twice = twice._replace(boxes=twice.boxes / 2)
    one = ascend([rows_from(X)], hinges, **EXACT)
    two = ascend([rows_from(X)], twice, **EXACT)
    assert two.objective == pytest.approx(one.objective, rel=1e-7)
    assert np.allclose(one.weights, two.weights, atol=1e-3)


@given(problems(), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_no_weights_are_better_than_the_dual_value_says(drawn, passes, seed):
    X, hinges = drawn
    found = ascend([rows_from(X)], hinges, max_iter=passes, tol=0.0)
    w = found.weights + 0.3 * np.random.default_rng(seed).standard_normal(X.shape[1])
    other = slow.primal(X, hinges, w, np.zeros(X.shape[1]))
    assert found.objective - found.gap <= other + 1e-9
