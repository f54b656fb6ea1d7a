"""Oracles against all labellings and all tables; kernels against their slow version."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classmark.arrays import rows_from
from classmark.problems import Mistake
from classmark.solvers import kernels_hinge
from classmark.solvers.cutting_planes import (
    balanced_scale,
    linear,
    literal_scale,
    oracle_of,
)
from classmark.solvers.hinge import Hinges, Table, as_parts
from oracles import cutting as slow

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ["precision-recall", "precision@k", "recall@k", "balanced", "error"]
SCALES = [literal_scale, balanced_scale]


def some_scores(rng, n, size):
    """Scores of the size that decides; some equal, some zero."""
    scores = rng.standard_normal(n) * rng.choice([0.1, 1.0, 10.0]) / size
    scores[rng.random(n) < 0.2] = 0.0
    scores[rng.random(n) < 0.2] = scores[0]
    return scores


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scaled", SCALES)
@given(seed=SEEDS)
@settings(max_examples=15)
def test_an_oracle_finds_the_worst_of_all_labellings(kind, scaled, seed):
    rng = np.random.default_rng(seed)
    examples, others = rng.integers(1, 5, 2)
    scale, k = scaled(examples, others), int(rng.integers(1, examples + others + 1))
    scores = some_scores(rng, examples + others, 2 * scale.example / scale.loss)
    plane = oracle_of(kind, examples, others, k=k, scale=scale)(scores)
    planes = slow.all_planes(kind, examples, others, scale, k)
    assert any(
        np.allclose(c, plane.coefficients) and loss == pytest.approx(plane.loss)
        for c, loss in planes
    )
    worst = max(loss - c @ scores for c, loss in planes)
    assert plane.loss - plane.coefficients @ scores == pytest.approx(worst, abs=1e-12)


@given(seed=SEEDS)
@settings(max_examples=20)
def test_the_walk_finds_the_worst_of_all_tables(seed):
    rng = np.random.default_rng(seed)
    examples, others = (int(n) for n in rng.integers(1, 40, 2))
    scale = SCALES[seed % 2](examples, others)
    size = scale.example / scale.loss * rng.choice([1, examples, examples**2])
    scores = some_scores(rng, examples + others, size)
    plane = oracle_of("precision-recall", examples, others, scale=scale)(scores)
    best = slow.tables_value(scores, examples, scale)
    assert plane.loss - plane.coefficients @ scores == pytest.approx(best, rel=1e-12)


@given(seed=SEEDS)
@settings(max_examples=20)
def test_worst_table(seed):
    rng = np.random.default_rng(seed)
    sizes, a, b = rng.integers(0, 8, 2), int(rng.integers(0, 4)), int(rng.integers(4))
    n = a + int(sizes[0]) + 2
    losable = np.sort(rng.random(sizes[0]) / n)
    findable = -np.sort(rng.random(sizes[1]) / n)
    found = kernels_hinge.worst_table(losable, findable, n, a, b)
    best = slow.worst_table(losable, findable, n, a, b)
    values = [
        slow.table_value(losable, findable, n, (a, b), table) for table in (found, best)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_one_class_is_about_the_examples_only():
    plane = oracle_of("one-class", 4, 0)(np.array([0.5, 1.5, -1.0, 1.0]))
    assert plane.coefficients.tolist() == [0.25, 0.0, 0.25, 0.0]
    assert plane.loss == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("precision@k", 3, 4), "1 to 7"),
        (("recall@k", 3, 4, 8), "1 to 7"),
        (("f1", 3, 4), "precision-recall"),
        (("balanced", 0, 4), "at least 1"),
        (("error", 3, 0), "at least 1"),
    ],
)
def test_mistakes_are_named(arguments, message):
    kind, examples, others, *k = arguments
    with pytest.raises(Mistake, match=message):
        oracle_of(kind, examples, others, k=k[0] if k else None)
    with pytest.raises(Mistake, match="at least one"):
        linear([])


def test_products_are_those_of_the_parts_stacked():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((7, 5)) * (rng.random((7, 5)) < 0.6)
    X[3] = 0
    both = linear([rows_from(X[:4]), rows_from(X[4:].astype(np.float32))])
    w, c = rng.standard_normal(5), np.array([1.0, 0.0, -2.0, 1.0, 0.0, 0.5, 3.0])
    assert np.allclose(both.product(w), slow.multiply(X, w), atol=1e-6)
    rows = np.flatnonzero(c)
    expected = slow.combine(X, rows, c[rows], np.zeros(5))
    assert np.allclose(both.back(c), expected, atol=1e-6)
    whole, out, gained = as_parts([rows_from(X)]), np.empty(7), np.ones(5)
    kernels_hinge.multiply(whole, w, out)
    kernels_hinge.combine(whole, rows.astype(np.uint32), c[rows], gained)
    assert np.allclose(out, slow.multiply(X, w))
    assert np.allclose(gained, slow.combine(X, rows, c[rows], np.ones(5)))


@given(seed=SEEDS)
@settings(max_examples=15)
def test_maximise_dual(seed):
    rng = np.random.default_rng(seed)
    k, total = int(rng.integers(1, 9)), float(rng.uniform(0.1, 5))
    V = rng.standard_normal((k, int(rng.integers(1, 6))))
    V[0] = 0.0
    G, losses = V @ V.T, np.append(0.0, rng.random(k - 1))
    alpha = np.append(total, np.zeros(k - 1))
    kernels_hinge.maximise_dual(G, losses, alpha, 1e-10, 100_000)
    assert alpha.min() >= 0.0
    assert alpha.sum() == pytest.approx(total)
    value = alpha @ losses - 0.5 * alpha @ G @ alpha
    assert value == pytest.approx(slow.maximise_dual(G, losses, total), abs=1e-7)


@given(a=st.floats(0, 9), b=st.floats(0, 50))
def test_margins_and_the_loss_they_come_from(a, b):
    scale = (0.3, 0.7, 0.2)
    table = np.array([a, b])
    margins = kernels_hinge.margins_of(Table(table, 9, *scale, 1.0))
    assert margins == pytest.approx(slow.margins_of(table, 9, scale))
    loss = kernels_hinge.product_loss(a, b, 9)
    assert loss == pytest.approx(slow.product_loss(a, b, 9))
    if a > 0.5:
        step = 1e-6
        down = (kernels_hinge.product_loss(a + step, b, 9) - loss) / step
        up = (kernels_hinge.product_loss(a, b + step, 9) - loss) / step
        assert margins[0] == pytest.approx(-scale[0] * down / scale[1], abs=1e-5)
        assert margins[1] == pytest.approx(scale[0] * up / scale[2], abs=1e-5)


def test_margins_that_follow_the_table_are_climbed_as_by_the_slow_version():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((90, 6)) / 3
    X[:30] += 0.3
    rows = [rows_from(X[:30]), rows_from(X[30:])]
    scale, C = tuple(literal_scale(30, 60)), 20.0
    boxes = C * np.repeat([scale[1], scale[2]], [30, 60])
    duals = boxes * np.repeat([1.0, 0.5], [30, 60])
    counts, order = np.array([0.0, 30.0]), np.arange(90, dtype=np.uint32)
    signs = np.repeat([1.0, -1.0], [30, 60])
    hinges = Hinges(order.copy(), signs, boxes, np.zeros(90))
    expected = duals.copy()
    weights = X[:30].T @ duals[:30] - X[30:].T @ duals[30:]
    state = (duals, weights, np.full(90, -1.0), Table(counts, 30, *scale, C))
    limits = np.array([-np.inf, np.inf])
    _, made, _, _ = kernels_hinge.climb(
        as_parts(rows), hinges, state, order, limits, 0.0, 0.0, 7, 1
    )
    assert made == 1
    expected = slow.climb_product(X, 30, scale, C, expected, [order])
    assert np.allclose(duals, expected, atol=2e-4 * C * scale[1])
    assert np.allclose(weights, X[:30].T @ duals[:30] - X[30:].T @ duals[30:])
    shares = duals / C / scale[1]
    assert counts == pytest.approx([30 - shares[:30].sum(), shares[30:].sum()])
