"""Pairs never listed: their prices, and the optimum that all pairs listed have."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from classmark.arrays import rows_from
from classmark.ltr.judged import judged
from classmark.problems import Mistake
from classmark.solvers import kernels_pairs as fast
from classmark.solvers.pairs import (
    GradedPairs,
    ListedPairs,
    average_precision_oracle,
    hinges_of_pairs,
)
from oracles import pairs as slow


def problem(seed, queries=3, grades=4, rows=20, width=3):
    random = np.random.default_rng(seed)
    y = random.integers(grades, size=rows)
    qid = random.integers(queries, size=rows)
    X = random.normal(size=(rows, width)).round(1) + 0.3 * y[:, np.newaxis]
    return judged(X, y, qid, random.exponential(size=rows).round(2)), random


def graded(seed, weighted, **sizes):
    given_, random = problem(seed, **sizes)
    shares = random.exponential(size=len(given_.starts) - 1)
    size = len(given_.distinct)
    table = random.exponential(size=(size, size)) if weighted else None
    pairs = GradedPairs(given_.runs, given_.counts, shares, table)
    return given_, pairs, shares, table, random


def listed(given_, shares, table):
    """Every pair, and what it counts, from the definition."""
    level = np.searchsorted(given_.distinct, given_.grades)
    found = [
        (i, j, given_.counts[i] * shares[given_.queries[i]]
         * (1.0 if table is None else table[level[i], level[j]]))
        for i in range(len(level))
        for j in range(len(level))
        if given_.queries[i] == given_.queries[j] and level[i] > level[j]
    ]  # fmt: skip
    winners, losers, counts = (np.array(part) for part in zip(*found, strict=True))
    return ListedPairs(winners, losers, counts)


SIZES = st.tuples(st.integers(1, 4), st.integers(2, 9), st.integers(2, 40))


@given(st.integers(0, 10**6), st.booleans(), SIZES, st.sampled_from([0.01, 0.4, 1.5]))
def test_kernels_price_as_pairs_one_by_one_do(seed, weighted, sizes, width):
    queries, grades, rows = sizes
    given_, pairs, *_, random = graded(
        seed, weighted, queries=queries, grades=grades, rows=rows
    )
    scores = random.normal(size=rows).round(1)  # many ties, many margins of exactly 1
    orders = np.zeros_like(pairs.orders)
    slow.arrange(scores, given_.runs.bounds, pairs.joins, orders)
    fast.arrange(scores, given_.runs.bounds, pairs.joins, pairs.orders)
    for m, (depth, a, b, c, d) in enumerate(pairs.joins):
        for low, high in ((a, b), (c, d)):
            own = pairs.orders[depth, low:high]
            assert sorted(own) == list(range(low, high)), m
            assert (scores[own] == scores[orders[depth, low:high]]).all()
    held = pairs.joins, pairs.prices, pairs.counts
    mine, theirs = np.empty((2, rows))
    sums = fast.price(scores, pairs.orders, *held, width, mine)
    assert sums == pytest.approx(slow.price(scores, orders, *held, width, theirs))
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    loss = fast.log_linear(scores, *held, mine)
    assert loss == pytest.approx(slow.log_linear(scores, *held, theirs))
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.05, 0.4, 1.5]))
def test_the_second_derivative_is_that_of_pairs_one_by_one(seed, weighted, width):
    given_, pairs, *_, random = graded(seed, weighted)
    scores, x = random.normal(size=(2, len(given_.grades)))
    product = pairs.bend(scores, width)(x).copy()
    expected = np.empty(len(x))
    held = pairs.joins, pairs.prices, pairs.counts
    slow.bend(scores, pairs.orders, *held, width, x, expected)
    np.testing.assert_allclose(product, expected, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 10**6), st.booleans())
def test_joins_cover_every_pair_once(seed, weighted):
    given_, pairs, shares, table, random = graded(seed, weighted, rows=30)
    all_ = listed(given_, shares, table)
    assert len(pairs) == len(all_.winners)
    scores, x = random.normal(size=(2, 30))
    for width in (0.1, 1.5):
        one, other = pairs.price(scores, width), all_.price(scores, width)
        assert one[:2] == pytest.approx(other[:2])
        np.testing.assert_allclose(one[2], other[2], atol=1e-9)
        np.testing.assert_allclose(
            pairs.bend(scores, width)(x), all_.bend(scores, width)(x), atol=1e-9
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_are_numerically_right(weighted):
    given_, pairs, *_, random = graded(5, weighted)
    scores = random.normal(size=len(given_.grades))
    priced = pairs.price(scores, 0.7)
    arrays = pairs.joins, pairs.prices, pairs.counts
    slope = approx_fprime(scores, lambda s: slow.smoothed(s, *arrays, 0.7))
    np.testing.assert_allclose(-slope, priced.coefficients, rtol=1e-4, atol=1e-4)
    x = random.normal(size=len(scores))
    step = 1e-6
    after = pairs.price(scores + step * x, 0.7).coefficients
    change = (priced.coefficients - after) / step
    np.testing.assert_allclose(pairs.bend(scores, 0.7)(x), change, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_is_of_pairs_as_probable_as_they_count(weighted):
    given_, pairs, shares, table, random = graded(3, weighted, rows=8, queries=2)
    plain = listed(given_, shares, table)
    drawn = pairs.sample(40_000, random)
    counts = plain.counts / given_.counts[plain.winners]
    assert drawn.total == pytest.approx(counts.sum())
    key = drawn.winners * 8 + drawn.losers
    seen = np.bincount(key, minlength=64)[plain.winners * 8 + plain.losers] / 40_000
    assert seen.sum() == 1.0
    np.testing.assert_allclose(seen, counts / counts.sum(), atol=0.015)


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.01, 0.3, 10.0, 100.0]))
@example(seed=687679, weighted=True, C=100.0)  # steps past the flat place went round
@example(seed=76122, weighted=True, C=100.0)
def test_the_optimum_is_that_of_liblinear_on_listed_pairs(seed, weighted, C):
    from sklearn.svm import LinearSVC

    given_, pairs, shares, table, _ = graded(seed, weighted)
    found = hinges_of_pairs(given_.rows, pairs, C, tol=1e-5)
    assert found.gap <= 1e-5 * found.objective
    plain = listed(given_, shares, table)
    X = given_.rows.to_scipy().toarray()
    apart = X[plain.winners] - X[plain.losers]
    sign = np.where(np.arange(len(apart)) % 2, 1.0, -1.0)
    if len(apart) == 1:
        apart, sign, count = np.repeat(apart, 2, 0), np.array([1.0, -1.0]), [0.5, 0.5]
    else:
        count = plain.counts
    svm = LinearSVC(
        loss="hinge", C=C, fit_intercept=False, tol=1e-7, max_iter=10**6, random_state=0
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        svm.fit(apart * sign[:, np.newaxis], sign, sample_weight=count)
    w = svm.coef_.ravel()
    theirs = 0.5 * w @ w + C * (np.maximum(0.0, 1.0 - apart @ w) @ np.asarray(count))
    assert found.objective <= theirs * (1.0 + 1e-4) + 1e-9
    if not warned:  # liblinear has come to its optimum, too
        assert found.objective == pytest.approx(theirs, rel=1e-4, abs=1e-9)


def test_listed_pairs_lead_to_the_same_weights():
    given_, pairs, shares, table, _ = graded(11, weighted=True, rows=60)
    one = hinges_of_pairs(given_.rows, pairs, 0.5, tol=1e-6)
    other = hinges_of_pairs(given_.rows, listed(given_, shares, table), 0.5, tol=1e-6)
    np.testing.assert_allclose(one.weights, other.weights, atol=2e-3)
    assert one.objective == pytest.approx(other.objective, rel=1e-5)


def test_many_features_go_without_a_sample_and_end_alike(monkeypatch):
    given_, pairs, *_ = graded(2, weighted=False, rows=80, width=6)
    one = hinges_of_pairs(given_.rows, pairs, 2.0, tol=1e-6)
    monkeypatch.setattr("classmark.solvers.pairs.WIDE", 0)
    other = hinges_of_pairs(given_.rows, pairs, 2.0, tol=1e-6)
    assert one.objective == pytest.approx(other.objective, rel=1e-5)


def test_a_step_limit_is_told_by_the_gap():
    given_, pairs, *_ = graded(2, weighted=False, rows=80)
    short = hinges_of_pairs(given_.rows, pairs, 10.0, tol=1e-6, max_iter=1)
    best = hinges_of_pairs(given_.rows, pairs, 10.0, tol=1e-6)
    assert short.n_iter == 1
    assert short.gap > 1e-6 * short.objective
    assert short.objective - short.gap <= best.objective * (1 + 1e-9)


def test_an_empty_price_is_refused():
    given_, pairs, *_ = graded(2, weighted=False)
    for C in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(Mistake, match=r"C is .*: give a number over 0"):
            hinges_of_pairs(given_.rows, pairs, C)


def peak(rows, queries):
    random = np.random.default_rng(0)
    X = rows_from(random.normal(size=(rows, 5)))
    y, qid = random.integers(5, size=rows), random.integers(queries, size=rows)
    given_ = judged(X, y, qid)
    tracemalloc.start()
    pairs = GradedPairs(given_.runs, given_.counts, np.ones(queries))
    hinges_of_pairs(given_.rows, pairs, 0.01)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most, len(pairs)


@pytest.mark.compiled_only
def test_memory_grows_as_the_rows_do_not_as_the_pairs():
    hinges_of_pairs(*_compiled())
    small, few = peak(20_000, 4)
    large, many = peak(40_000, 4)
    assert many > 3.9 * few
    assert large < 2.2 * small
    assert large < 40_000 * 300  # bytes; the pairs' own weights alone would be 600 MB
    assert many * 8 > 600 * 2**20


def _compiled():
    given_, pairs, *_ = graded(1, weighted=False)
    return given_.rows, pairs, 1.0


@given(st.integers(0, 10_000))
def test_the_order_that_average_precision_likes_least_is_found_exactly(seed):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 5, size=(3, 2))
    ends = np.cumsum([0, *sizes.ravel()])
    queries = np.column_stack([ends[:-2:2], ends[1::2], ends[2::2]])
    scores = random.normal(size=ends[-1]).round(1) * random.choice([0.1, 1.0])
    prices = random.exponential(size=3)
    plane = average_precision_oracle(queries, prices)(scores)
    value = plane.loss - plane.coefficients @ scores
    assert value == pytest.approx(slow.worst_orders(scores, queries, prices))
    assert plane.coefficients.sum() == pytest.approx(0.0)
