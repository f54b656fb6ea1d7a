"""Labels in every shape come out as the same Rows."""

import numpy as np
import pytest
from scipy import sparse

from classmark.preferences.labels import labels_from, number_labels
from classmark.problems import Mistake

INDICATOR = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    "Y",
    [
        INDICATOR,
        INDICATOR.astype(bool),
        sparse.csr_matrix(INDICATOR),
        sparse.coo_array(INDICATOR),
        [[1, 2], [], [0]],
        [{2, 1}, set(), (0,)],
        [np.array([2, 1, 1]), np.array([], int), [0]],
    ],
)
def test_all_shapes_agree(Y):
    assert (labels_from(Y, 3, 3).to_scipy().toarray() == INDICATOR).all()


def test_one_label_each_as_a_flat_array():
    assert labels_from(np.array([2, 0])).columns.tolist() == [2, 0]


def test_grades_are_kept_and_zeros_dropped():
    rows = labels_from(sparse.csr_array((np.array([2.0, 0.0]), ([0, 0], [0, 1]))))
    assert rows.values.tolist() == [2.0]


def test_labels_never_used_still_count():
    assert labels_from([[0]], n_labels=7).shape == (1, 7)


@pytest.mark.parametrize(
    ("Y", "said"),
    [
        ([[0], [-1]], "row 1: label -1"),
        ([[0], [3]], "row 1: label 3 is out of range: use 0 to 2"),
        ([["a"]], "row 0"),
        (["ab"], "text"),
        ([[0.5]], "not a label index"),
        (np.array([[0, -1]]), "negative"),
    ],
)
def test_bad_labels_are_named(Y, said):
    with pytest.raises(Mistake, match=said):
        labels_from(Y, n_labels=3)


def test_wrong_sizes_are_named():
    with pytest.raises(Mistake, match="Y has 1 rows, X has 2"):
        labels_from([[0]], n_documents=2)
    with pytest.raises(Mistake, match="3 labels, 2 were expected"):
        labels_from(INDICATOR, n_labels=2)


def test_names_are_numbered_and_unknown_ones_refused():
    assert number_labels([["b", "a", "b"]], ["a", "b"]) == [[0, 1]]
    with pytest.raises(Mistake, match="row 0: 'c'"):
        number_labels([["c"]], ["a"])
