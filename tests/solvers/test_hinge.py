"""Weighted hinges: passes against slow ones, optima against other solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from classmark.arrays import Rows, rows_from, take
from classmark.problems import Mistake
from classmark.solvers import kernels_hinge
from classmark.solvers.hinge import FIXED, Hinges, as_parts, ascend
from oracles import hinge as slow

SEEDS = st.integers(0, 2**32 - 1)
SAME = ("weights", "duals", "objective", "gap", "n_iter", "slopes")


def problem(seed, n=12, d=5, more=4, tail=0):
    """Rows, one of them empty and two alike; hinges, some sharing a row, some of 0.

    tail : how many more columns most of the rows have, all of them.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    dense = rng.standard_normal((n, tail)) * (rng.random((n, 1)) < 0.7)
    X = np.hstack([X, dense])
    X[3], X[4] = 0, X[5]
    rows = np.concatenate([np.arange(n), rng.integers(0, n, more)]).astype(np.uint32)
    boxes = rng.exponential(0.5, n + more) * (rng.random(n + more) < 0.9)
    margins = rng.normal(0.8, 0.5, n + more)
    return X, Hinges(rows, rng.choice([-1.0, 1.0], n + more), boxes, margins)


def halves(X, cut=5):
    return [rows_from(X[:cut]), rows_from(X[cut:])]


@given(seed=SEEDS, tail=st.sampled_from([0, 70]))
@settings(max_examples=20)
def test_combining_and_looking_are_the_slow_ones(seed, tail):
    X, hinges = problem(seed, tail=tail)
    rng = np.random.default_rng(seed)
    parts = as_parts(halves(X))
    center = rng.standard_normal(X.shape[1])
    kernels_hinge.combine(parts, hinges.rows, hinges.margins, w := center.copy())
    slow.combine(X, hinges.rows, hinges.margins, expected := center.copy())
    assert np.allclose(w, expected)
    duals = hinges.boxes * rng.random(len(hinges.boxes))
    w = center + X[hinges.rows].T @ (hinges.signs * duals)
    slopes, expected = np.empty((2, len(duals)))
    seen = kernels_hinge.survey(parts, hinges, duals, w, center, slopes)
    assert seen == pytest.approx(slow.survey(X, hinges, duals, w, center, expected))
    assert np.allclose(slopes, expected)


@given(seed=SEEDS, tol=st.sampled_from([0.0, 0.1]), tail=st.sampled_from([0, 70]))
@settings(max_examples=20)
def test_climbing_is_the_slow_one(seed, tol, tail):
    X, hinges = problem(seed, n=40, d=12, more=0, tail=tail)
    X[4] = -X[6]  # equal rows have slopes of 0, or nearly: either way is right
    n, d = X.shape
    (fast_duals, duals), (fast_w, w) = np.zeros((2, n)), np.zeros((2, d))
    limits, fast_limits = np.array([[-np.inf, np.inf]] * 2)
    order = np.flatnonzero(hinges.boxes).astype(np.uint32)
    expected = slow.climb(X, hinges, duals, w, order, limits, tol, 0.0, 7, 3)
    state = (fast_duals, fast_w, np.full(n, -1.0), FIXED)
    found = kernels_hinge.climb(
        as_parts(halves(X)), hinges, state, order, fast_limits, tol, 0.0, 7, 3
    )
    assert found == pytest.approx(expected)
    assert np.allclose(fast_duals, duals)
    assert np.allclose(fast_w, w)
    assert np.allclose(fast_limits, limits)


@given(seed=SEEDS, centered=st.booleans(), start=st.sampled_from(["zero", "boxes"]))
@settings(max_examples=12)
def test_the_optimum_is_that_of_a_general_solver_and_meets_its_conditions(
    seed, centered, start
):
    X, hinges = problem(seed)
    center = np.random.default_rng(seed).standard_normal(X.shape[1]) * centered
    found = ascend(
        halves(X), hinges, center=center if centered else None, tol=1e-9,
        duals=hinges.boxes if start == "boxes" else None, max_iter=100_000,
    )  # fmt: skip
    best, w = slow.optimum(X, hinges, center)
    assert found.objective == pytest.approx(best, rel=1e-6, abs=1e-8)
    assert np.allclose(found.weights, w, atol=1e-3)
    slopes = hinges.signs * (X[hinges.rows] @ found.weights) - hinges.margins
    assert ((found.duals >= 0) & (found.duals <= hinges.boxes)).all()
    assert (slopes[found.duals < 0.99 * hinges.boxes] >= -1e-3).all()
    assert (slopes[found.duals > 0.01 * hinges.boxes] <= 1e-3).all()


@pytest.mark.parametrize("passes", [0, 1, 3, 1000])
@pytest.mark.parametrize("start", [None, "boxes"])
def test_objective_and_gap_are_true_wherever_it_stops(passes, start):
    X, hinges = problem(5, n=40, d=8)
    center = np.linspace(-1, 1, 8)
    duals = None if start is None else hinges.boxes
    found = ascend(
        [rows_from(X)], hinges, center=center, duals=duals, max_iter=passes, tol=1e-10
    )
    expected = slow.primal(X, hinges, found.weights, center)
    assert found.objective == pytest.approx(expected, rel=1e-12)
    dual = slow.dual_value(X, hinges, found.duals, center)
    assert found.gap == pytest.approx(expected - dual, abs=1e-9)
    assert found.n_iter == passes or (passes == 1000 and found.n_iter < 1000)
    assert (found.gap <= 1e-10 * found.objective) == (passes == 1000)


def test_the_gap_falls_with_the_tolerance():
    X, hinges = problem(6, n=200, d=20)
    for tol in (1e-1, 1e-2, 1e-4, 1e-8, 1e-12):
        found = ascend(halves(X), hinges, tol=tol, max_iter=100_000)
        assert 0 <= found.gap <= tol * found.objective


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_it_is_liblinear_with_a_weight_for_each_row(kind):
    rng = np.random.default_rng(1)
    X = (rng.standard_normal((300, 40)) * (rng.random((300, 40)) < 0.3)).astype(kind)
    signs = np.where(X @ rng.standard_normal(40) > rng.standard_normal(300), 1.0, -1.0)
    hinges = Hinges(
        np.arange(300, dtype=np.uint32), signs, rng.exponential(0.3, 300), np.ones(300)
    )
    svc = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6)
    w = svc.fit(X, signs, sample_weight=hinges.boxes).coef_.ravel()
    found = ascend(halves(X, 100), hinges, tol=1e-8, max_iter=10_000)
    theirs = slow.primal(X.astype(float), hinges, w, np.zeros(40))
    assert found.objective == pytest.approx(theirs, rel=1e-6)
    assert np.allclose(found.weights, w, atol=1e-3)


def test_one_part_and_two_are_the_same_and_a_seed_decides_the_order():
    X, hinges = problem(8, n=60)
    one = ascend([rows_from(X)], hinges, random_state=4)
    for two in (ascend(halves(X, cut), hinges, random_state=4) for cut in (0, 7, 60)):
        for name in SAME:
            assert np.array_equal(getattr(one, name), getattr(two, name))
    assert not np.array_equal(one.duals, ascend([rows_from(X)], hinges).duals)


def test_the_order_of_rows_does_not_matter():
    X, hinges = problem(9, n=80)
    moved = np.random.default_rng(0).permutation(len(hinges.rows))
    other = Hinges(*(part[moved] for part in hinges))
    a = ascend([rows_from(X)], hinges, tol=1e-10, max_iter=100_000)
    b = ascend([rows_from(X)], other, tol=1e-10, max_iter=100_000)
    assert a.objective == pytest.approx(b.objective, rel=1e-9)
    assert np.allclose(a.weights, b.weights, atol=1e-4)


def test_a_warm_start_meets_a_cold_one_with_fewer_passes():
    X, hinges = problem(10, n=150, d=12)
    cold = ascend([rows_from(X)], hinges, tol=1e-8, max_iter=100_000)
    boxes = 1.02 * hinges.boxes
    more = hinges._replace(boxes=boxes)
    warm = ascend([rows_from(X)], more, duals=1.02 * cold.duals, tol=1e-4)
    again = ascend([rows_from(X)], more, tol=1e-4)
    assert warm.objective == pytest.approx(again.objective, rel=2e-4)
    assert warm.n_iter < again.n_iter
    same = ascend([rows_from(X)], hinges, duals=cold.duals, tol=1e-8)
    assert same.n_iter == 0
    assert np.allclose(same.weights, cold.weights)


def test_a_center_shifts_the_margins():
    X, hinges = problem(11, n=60)
    center = np.random.default_rng(2).standard_normal(X.shape[1])
    shifted = hinges._replace(
        margins=hinges.margins - hinges.signs * (X[hinges.rows] @ center)
    )
    a = ascend([rows_from(X)], hinges, center=center, tol=1e-10, max_iter=100_000)
    b = ascend([rows_from(X)], shifted, tol=1e-10, max_iter=100_000)
    assert a.objective == pytest.approx(b.objective)
    assert np.allclose(a.weights, center + b.weights, atol=1e-5)


@pytest.mark.parametrize(("examples", "others"), [(1, 1), (1, 30), (2, 1)])
def test_few_examples_are_rocchio_in_one_look(examples, others):
    rng = np.random.default_rng(examples)
    X = np.abs(rng.standard_normal((examples + others, 50)))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    n, share = len(X), 0.2
    boxes = np.full(n, share / examples)
    boxes[examples:] = share / others
    signs = np.repeat([1.0, -1.0], [examples, others])
    hinges = Hinges(np.arange(n, dtype=np.uint32), signs, boxes, np.ones(n))
    found = ascend(halves(X, examples), hinges, duals=boxes)
    rocchio = share * (X[:examples].mean(axis=0) - X[examples:].mean(axis=0))
    assert found.n_iter == 0
    assert found.gap == pytest.approx(0.0, abs=1e-12)
    assert np.allclose(found.weights, rocchio, atol=1e-12)


def test_hinges_without_features_or_weight_and_none_at_all():
    X = rows_from(np.array([[0.0, 0.0], [1.0, 0.0]]))
    hinges = Hinges(
        np.array([0, 0, 0, 1], np.uint32),
        np.array([1.0, -1.0, 1.0, 1.0]),
        np.array([2.0, 3.0, 5.0, 0.0]),
        np.array([1.0, 0.5, -1.0, 1.0]),
    )
    for duals in (None, hinges.boxes):
        found = ascend([X], hinges, duals=duals)
        assert found.objective == pytest.approx(3.5)
        assert found.gap == 0
        assert found.duals.tolist() == [2.0, 3.0, 0.0, 0.0]
        assert found.weights.tolist() == [0.0, 0.0]
    none = ascend([X], Hinges(*(part[:0] for part in hinges)))
    assert (none.objective, none.gap, none.n_iter) == (0.0, 0.0, 0)


def test_parts_may_be_read_only_and_of_two_kinds_and_widths():
    X, hinges = problem(13)
    X[:5, -1] = 0
    small, large = halves(X)
    narrow = Rows(small.starts, small.columns, small.values.astype(np.float32), 4)
    for array in (large.starts, large.columns, large.values):
        array.flags.writeable = False
    found = ascend([narrow, large], hinges, tol=1e-8, max_iter=10_000)
    expected = ascend([rows_from(X)], hinges, tol=1e-8, max_iter=10_000)
    assert found.objective == pytest.approx(expected.objective, rel=1e-5)
    assert narrow.values.dtype == np.float32
    assert len(found.weights) == 5


def test_what_is_given_stays_as_it_is():
    X, hinges = problem(14)
    center, duals = np.ones(X.shape[1]), hinges.boxes.copy()
    kept = [part.copy() for part in hinges]
    ascend(halves(X), hinges, center=center, duals=duals, tol=1e-8)
    assert (center == 1).all()
    assert np.array_equal(duals, hinges.boxes)
    for a, b in zip(hinges, kept, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.array([0, 9])}, r"rows\[1\] is 9, but there are 3"),
        ({"rows": np.array([-1, 0])}, r"rows\[0\] is -1"),
        ({"rows": np.array([0.5, 1.0])}, "row numbers"),
        ({"signs": np.array([1.0, 0.0])}, r"signs\[1\] is 0"),
        ({"boxes": np.array([1.0, -1.0])}, r"boxes\[1\] is -1"),
        ({"boxes": np.array([np.inf, 1.0])}, r"boxes\[0\] is inf"),
        ({"margins": np.array([np.nan, 1.0])}, r"margins\[0\] is nan"),
        ({"margins": np.ones(3)}, r"margins has shape \(3,\)"),
    ],
)
def test_hinges_that_cannot_be_used_are_named(change, message):
    hinges = Hinges(np.arange(2, dtype=np.uint32), *np.ones((3, 2)))
    with pytest.raises(Mistake, match=message):
        ascend([rows_from(np.eye(3))], hinges._replace(**change))


def test_other_arguments_that_cannot_be_used_are_named():
    hinges, X = Hinges(np.arange(2, dtype=np.uint32), *np.ones((3, 2))), np.eye(3)
    with pytest.raises(Mistake, match="parts: 3 given"):
        ascend([rows_from(X)] * 3, hinges)
    with pytest.raises(Mistake, match="center: give 3"):
        ascend([rows_from(X)], hinges, center=np.ones(2))
    with pytest.raises(Mistake, match="duals: give 2"):
        ascend([rows_from(X)], hinges, duals=np.ones(3))


def test_many_hinges_are_visited_in_stretches(monkeypatch):
    X, hinges = problem(15, n=100)
    whole = ascend([rows_from(X)], hinges, tol=1e-6)
    monkeypatch.setattr("classmark.solvers.hinge.VISITS", 1)
    cut = ascend([take(rows_from(X), np.arange(100))], hinges, tol=1e-6)
    for name in SAME:
        assert np.allclose(getattr(whole, name), getattr(cut, name), rtol=1e-9)
