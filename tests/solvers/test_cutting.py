"""Cutting planes and the ascent of SVM_pr, against each other and a general QP."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classmark.arrays import rows_from
from classmark.problems import Mistake
from classmark.solvers import cutting_planes as planes
from classmark.solvers.cutting_planes import (
    IDLE,
    Plane,
    WorkingSet,
    ascend_precision,
    balanced_scale,
    cutting_planes,
    linear,
    literal_scale,
    oracle_of,
)
from classmark.solvers.hinge import Hinges, ascend
from oracles import cutting as slow

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ["precision-recall", "precision@k", "recall@k", "balanced", "error"]


def problem(seed, examples=12, others=50, d=8):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.standard_normal((examples + others, d))) ** 3
    X[:examples, 0] += 2.0
    X[examples : examples + others // 5, 0] += 2.0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return [rows_from(X[:examples]), rows_from(X[examples:])], X


def hinges(sizes, boxes, margins):
    return Hinges(
        np.arange(sum(sizes), dtype=np.uint32),
        np.repeat([1.0, -1.0], sizes),
        np.repeat(np.asarray(boxes, float), sizes),
        np.repeat(np.asarray(margins, float), sizes),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [0.5, 100.0])
@given(seed=SEEDS)
@settings(max_examples=4)
def test_planes_reach_the_optimum_over_all_labellings(kind, C, seed):
    parts, X = problem(seed, 3, 4, 4)
    scale = literal_scale(3, 4)
    oracle = oracle_of(kind, 3, 4, k=2)
    found = cutting_planes(linear(parts), oracle, C, tol=1e-6)
    best = slow.lowest(X, slow.all_planes(kind, 3, 4, scale, 2), C)
    assert found.gap <= 1e-6 * found.objective
    assert found.objective == pytest.approx(best, rel=1e-4)
    assert np.allclose(found.weights, X.T @ found.coefficients)
    scores = X @ found.weights
    plane = oracle(scores)
    slack = max(0.0, plane.loss - plane.coefficients @ scores)
    value = 0.5 * found.weights @ found.weights + C * slack
    assert found.objective == pytest.approx(value, rel=1e-9)


@pytest.mark.compiled_only
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize(
    ("kind", "margins"),
    [("balanced", (0.25 / 12, 0.25 / 50)), ("error", (1.0, 1.0))],
)
def test_planes_and_the_hinge_dual_meet(C, kind, margins):
    """OP 5 has box C/n and the margins λ; with Δ = 2 (b + c) OP 4 is OP 3."""
    parts, _ = problem(1)
    found = cutting_planes(linear(parts), oracle_of(kind, 12, 50), C, tol=1e-5)
    expected = ascend(
        parts, hinges((12, 50), [C / 62] * 2, margins), tol=1e-6, max_iter=10_000
    )
    assert found.objective == pytest.approx(expected.objective, rel=2e-5)
    near = np.linalg.norm(found.weights - expected.weights)
    assert near <= 2e-2 * np.linalg.norm(expected.weights)


@pytest.mark.parametrize("C", [0.3, 3.0, 300.0])
def test_proposition_1_one_class_is_its_structural_form(C):
    parts, _ = problem(2)
    found = cutting_planes(
        linear(parts[:1]), oracle_of("one-class", 12, 0), C, tol=1e-6
    )
    each = ascend(parts[:1], hinges((12, 0), [C / 12] * 2, [1, 1]), tol=1e-7)
    assert found.objective == pytest.approx(each.objective, rel=3e-6)


@pytest.mark.compiled_only
@pytest.mark.parametrize("scaled", [literal_scale, balanced_scale])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("examples", [1, 12, 60])
def test_the_ascent_of_precision_meets_the_planes(scaled, C, examples):
    parts, X = problem(3, examples=examples)
    scale = scaled(examples, 50)
    oracle = oracle_of("precision-recall", examples, 50, scale=scale)
    found = ascend_precision(parts, C, scale=scale, tol=1e-4)
    planes = cutting_planes(linear(parts), oracle, C, tol=1e-4)
    assert max(found.gap / found.objective, planes.gap / planes.objective) <= 1e-4
    assert found.objective == pytest.approx(planes.objective, rel=2e-4)
    signs = np.repeat([1.0, -1.0], [examples, 50])
    assert np.allclose(found.weights, X.T @ (signs * found.duals))
    boxes = C * np.repeat([scale.example, scale.other], [examples, 50])
    assert ((found.duals >= 0) & (found.duals <= boxes * (1 + 1e-9))).all()


@given(seed=SEEDS, C=st.sampled_from([0.5, 20.0, 500.0]))
@settings(max_examples=8)
def test_the_ascent_of_precision_reaches_the_optimum_over_all_labellings(seed, C):
    parts, X = problem(seed, 3, 4, 4)
    found = ascend_precision(parts, C, tol=1e-6)
    planes = slow.all_planes("precision-recall", 3, 4, literal_scale(3, 4))
    assert found.objective == pytest.approx(slow.lowest(X, planes, C), rel=1e-4)
    assert found.gap <= 1e-6 * found.objective


def test_many_examples_need_no_planes():
    """Fractional tables are near to whole ones: the ascent alone closes the gap."""
    parts, _ = problem(4, examples=100, others=200)
    with mock.patch.object(planes, "cutting_planes"):
        cold = ascend_precision(parts, 1.0, tol=1e-3)
    assert cold.gap <= 1e-3 * cold.objective
    again = ascend_precision(parts, 1.0, tol=1e-3)
    assert (again.weights == cold.weights).all()


def test_a_start_that_holds_saves_planes():
    parts, _ = problem(5)
    X, oracle = linear(parts), oracle_of("balanced", 12, 50)
    cold = cutting_planes(X, oracle, 50.0, tol=1e-3)
    exact = ascend(parts, hinges((12, 50), [50 / 62] * 2, [0.25 / 12, 0.25 / 50]),
                   tol=1e-9, max_iter=10_000)  # fmt: skip
    signs = np.repeat([1.0, -1.0], [12, 50])
    margins = np.repeat([0.25 / 12, 0.25 / 50], [12, 50])
    average = Plane(signs * exact.duals / 50.0, float(exact.duals @ margins) / 50.0)
    warm = cutting_planes(X, oracle, 50.0, tol=1e-3, start=average)
    assert warm.n_iter < cold.n_iter
    assert warm.objective == pytest.approx(cold.objective, rel=1e-3)


def test_a_limit_of_planes_is_told_by_the_gap():
    parts, _ = problem(6)
    X, oracle = linear(parts), oracle_of("error", 12, 50)
    short = cutting_planes(X, oracle, 100.0, tol=1e-6, max_iter=3)
    long = cutting_planes(X, oracle, 100.0, tol=1e-6)
    assert short.n_iter == 3 < long.n_iter
    assert short.gap > 1e-6 * short.objective
    assert short.objective - short.gap <= long.objective <= short.objective
    with pytest.raises(Mistake, match="C is 0"):
        cutting_planes(X, oracle, 0)


def test_empty_and_equal_rows_do_no_harm():
    X = np.zeros((6, 3))
    X[0, 0] = X[2, 1] = X[3, 1] = 1.0
    parts = [rows_from(X[:2]), rows_from(X[2:])]
    planes = slow.all_planes("precision-recall", 2, 4, literal_scale(2, 4))
    best = slow.lowest(X, planes, 30.0)
    for found in (
        ascend_precision(parts, 30.0, tol=1e-6),
        cutting_planes(
            linear(parts), oracle_of("precision-recall", 2, 4), 30.0, tol=1e-6
        ),
    ):
        assert found.objective == pytest.approx(best, rel=1e-5)


def test_the_ascent_says_what_it_needs():
    parts, _ = problem(7)
    with pytest.raises(Mistake, match="examples and others"):
        ascend_precision(parts[:1], 1.0)
    with pytest.raises(Mistake, match="C is -1"):
        ascend_precision(parts, -1.0)


def test_planes_of_no_use_are_dropped_and_the_room_grows():
    working, rng = WorkingSet(4, 1.0), np.random.default_rng(0)
    for _ in range(60):
        c = rng.standard_normal(4)
        working.add(c, rng.random(), c)  # X is the identity
    working.solve(1e-12)
    before = working.lowest()[1]
    assert working.size == 61
    for _ in range(IDLE + 1):
        working.solve(1e-12)
    assert working.size == 1 + int((working.alpha[1 : working.size] > 0).sum())
    assert working.lowest()[1] == pytest.approx(before, rel=1e-9)
