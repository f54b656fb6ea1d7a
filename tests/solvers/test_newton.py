"""Squared hinges: the minimum, from anywhere, as others find it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from classmark.arrays import rows_from
from classmark.problems import Mistake
from classmark.solvers.cutting_planes import linear
from classmark.solvers.smooth import squared_hinges


def objective(w, X, y, c):
    margins = np.maximum(0, 1 - y * (X @ w[:-1] + w[-1]))
    return 0.5 * w @ w + float((c * margins**2).sum())


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 6))
def test_it_finds_the_minimum(seed, n, width):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, width))
    y, c = random.choice([-1.0, 1.0], n), random.exponential(2.0, n)
    found = squared_hinges(rows_from(X), y, c, tol=1e-9)
    best = minimize(objective, np.zeros(width + 1), (X, y, c), tol=1e-12)
    assert found.objective == pytest.approx(best.fun, rel=1e-5)
    own = found.weights
    assert found.objective == pytest.approx(objective(own, X, y, c))
    warm = squared_hinges(rows_from(X), y, c, start=own, tol=1e-6)
    assert warm.n_iter == 0
    far = squared_hinges(rows_from(X), y, c, start=own + 5, tol=1e-9)
    assert np.allclose(far.weights, found.weights, atol=1e-5)


def test_a_step_limit_is_reported():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(50, 5)), random.choice([-1.0, 1.0], 50)
    found = squared_hinges(rows_from(X), y, np.full(50, 100.0), max_iter=1, tol=1e-9)
    assert found.n_iter == 1
    assert found.gap > 0


def test_one_price_a_row():
    with pytest.raises(Mistake, match="one each for the 2 rows"):
        squared_hinges(rows_from(np.eye(2)), [1, 1], [1.0])


def test_the_two_products_of_a_matrix_serve_as_well_as_its_rows():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, 9)), np.repeat([1.0, -1.0], 30)
    by_rows = squared_hinges(rows_from(X), y, np.ones(60), tol=1e-8)
    by_products = squared_hinges(linear([rows_from(X)]), y, np.ones(60), tol=1e-8)
    assert np.allclose(by_rows.weights, by_products.weights, atol=1e-7)
