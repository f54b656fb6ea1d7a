"""Arrays that grow keep what they hold; Rows do what scipy does slowly and surely."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from classmark.arrays import (
    BLOCK,
    Growing,
    beside,
    dense_tail,
    distinct,
    keep_columns,
    rows_from,
    stack,
    take,
    transpose,
)
from classmark.problems import Mistake


def matrices():
    shapes = st.tuples(st.integers(1, 8), st.integers(1, 6), st.integers(0, 2**32 - 1))
    return shapes.map(
        lambda s: sparse.random_array(
            s[:2], density=0.4, format="csr", rng=np.random.default_rng(s[2])
        )
    )


@given(matrices())
def test_there_and_back(X):
    assert (rows_from(X).to_scipy() != X).nnz == 0


@given(matrices())
def test_transpose_is_scipys(X):
    turned = transpose(rows_from(X))
    assert (turned.to_scipy() != X.T.tocsr()).nnz == 0
    assert all((np.diff(turned.row(i)[0]) > 0).all() for i in range(len(turned)))


@given(matrices(), st.data())
def test_take_is_indexing(X, data):
    which = data.draw(st.lists(st.integers(0, X.shape[0] - 1)))
    assert (take(rows_from(X), which).to_scipy() != X[which]).nnz == 0


@given(matrices(), st.data())
def test_keep_columns_is_indexing(X, data):
    which = sorted(data.draw(st.sets(st.integers(0, X.shape[1] - 1))))
    assert (keep_columns(rows_from(X), which).to_scipy() != X[:, which]).nnz == 0


@given(matrices())
def test_stack_is_vstack(X):
    rows = rows_from(X)
    together = stack([rows, rows])
    assert (together.to_scipy() != sparse.vstack([X, X])).nnz == 0
    assert stack([]).shape == (0, 0)


@given(matrices(), matrices())
def test_beside_is_hstack(X, Y):
    Y = sparse.vstack([Y] * X.shape[0]).tocsr()[: X.shape[0]]
    both = beside(rows_from(X), rows_from(Y))
    assert (both.to_scipy() != sparse.hstack([X, Y])).nnz == 0
    assert all((np.diff(both.row(i)[0]) > 0).all() for i in range(len(both)))


@given(matrices(), matrices(), st.integers(0, 5))
def test_beside_takes_columns_that_were_left_empty(X, Y, first):
    Y = sparse.vstack([Y] * X.shape[0]).tocsr()[: X.shape[0]]
    first = min(first, X.shape[1])
    sides, empty = (X[:, :first], X[:, first:]), sparse.csr_matrix(Y.shape)
    left = sparse.hstack([sides[0], empty, sides[1]]).tocsr()
    both = beside(rows_from(left), rows_from(Y), first)
    expected = sparse.hstack([sides[0], Y, sides[1]]).tocsr()
    assert both.shape == expected.shape
    assert (both.to_scipy() != expected).nnz == 0
    assert all((np.diff(both.row(i)[0]) > 0).all() for i in range(len(both)))


def test_rows_beside_fewer_rows_are_refused():
    with pytest.raises(Mistake, match="2 rows beside 1"):
        beside(rows_from([[1.0], [2.0]]), rows_from([[1.0]]))


def test_take_in_several_runs_is_indexing():
    X = sparse.random_array((300, 1000), density=0.4, format="csr", rng=0)
    which = np.random.default_rng(0).integers(0, 300, 900)
    taken = take(rows_from(X), which)
    assert taken.nnz > 4 * BLOCK
    assert (taken.to_scipy() != X[which]).nnz == 0


def test_take_by_mask():
    rows = rows_from([[1.0], [2.0], [3.0]])
    assert take(rows, np.array([True, False, True])).values.tolist() == [1.0, 3.0]


def test_unsorted_and_repeated_columns_are_put_right_without_touching_the_input():
    X = sparse.csr_array((np.ones(3), np.array([2, 0, 2]), np.array([0, 3])), (1, 3))
    before = X.data.copy()
    assert rows_from(X).to_scipy().toarray().tolist() == [[1.0, 0.0, 2.0]]
    assert (X.data == before).all()


def test_float32_stays_and_integers_become_float64():
    assert rows_from(np.ones((1, 1), np.float32)).values.dtype == np.float32
    assert rows_from(np.ones((1, 1), np.int8)).values.dtype == np.float64


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([1.0, 2.0], "reshape"),
        ([["a"]], "numbers"),
        ([[0.0], [np.nan]], "row 1"),
        (sparse.csr_array(np.array([[1.0], [0.0], [np.inf]])), "row 2"),
    ],
)
def test_bad_input_is_named(X, said):
    with pytest.raises(Mistake, match=said):
        rows_from(X)


def test_growing_keeps_what_it_has_and_seldom_moves():
    grown, moved, before = Growing(np.zeros((0, 2))), 0, None
    for i in range(1000):
        grown.append(np.full((1, 2), i))
        moved += grown.room is not before
        before = grown.room
    assert grown.array[:, 1].tolist() == list(range(1000))
    assert moved < 10


def test_rows_that_were_added_can_be_written():
    rounds = Growing(np.empty((0, 3)))
    for n in (3, 20, 0, 50):
        rounds.extend(n)[:] = n
    assert len(rounds) == 73
    assert rounds.array[:, 0].tolist() == [3.0] * 3 + [20.0] * 20 + [50.0] * 50


def test_a_dense_tail_is_that_of_most_rows():
    X = np.zeros((40, 100))
    X[1:, 30:] = 1.0
    X[::3, 29] = 1.0  # a word beside the tail
    X[5, 80] = 0.0  # a number that is 0: this row has no tail
    assert dense_tail(rows_from(X)) == 70
    assert dense_tail(rows_from(X[:, :60])) == 0
    assert dense_tail(rows_from(X[:0])) == 0


def test_different_values_are_those_of_a_set():
    rng = np.random.default_rng(0)
    for size in (0, 1, 50):
        values = rng.integers(9, size=size)
        assert distinct(values).tolist() == sorted(set(values.tolist()))
    assert distinct(np.array([[2, 1], [1, 2]], np.uint32)).dtype == np.uint32


def test_different_values_of_many_take_the_time_of_sorting():
    values = np.arange(200_000) * 344_899 + np.arange(200_000) % 20_000
    twice = np.append(values, values)

    def quickest(work):
        times = []
        for _ in range(3):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
        return min(times)

    sorting = quickest(lambda: np.sort(twice, kind="stable"))
    assert quickest(lambda: distinct(twice)) < 5 * sorting + 0.02
