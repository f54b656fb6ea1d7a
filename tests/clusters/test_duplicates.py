"""Near-duplicates are exactly the pairs that brute force finds, joined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_matrix
from sklearn.metrics import adjusted_rand_score

from classmark.clusters.agglomerative import near_duplicates
from classmark.problems import Mistake
from oracles import clusters as slow


def copies(seed, n=60):
    """Documents, many of them another one with a word changed."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (n, 25)).astype(float)
    for i in range(n // 2, n):
        X[i] = X[int(rng.integers(i))]
        X[i, int(rng.integers(25))] += int(rng.integers(2))
    return X


def unit(X):
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.31, 0.52, 0.83, 0.957]))
def test_groups_are_those_of_brute_force(seed, threshold):
    X = copies(seed)
    expected = np.arange(len(X))
    slow.link(unit(X), threshold, expected)
    found = near_duplicates(csr_matrix(X), threshold)
    assert adjusted_rand_score(found, expected) == 1.0
    assert found.tolist() == near_duplicates(X.astype(np.float32), threshold).tolist()


@given(st.integers(0, 2**32 - 1))
def test_average_groups_are_those_of_the_whole_tree(seed):
    X = copies(seed) + np.random.default_rng(seed).random((60, 25)) * 0.01
    tree = linkage(unit(X), "average", "cosine")
    expected = fcluster(tree, 1 - 0.83, "distance")
    found = near_duplicates(X, 0.83, linkage="average")
    assert adjusted_rand_score(found, expected) == 1.0


def test_the_same_text_and_no_text():
    X = [[0.0, 0.0], [1.0, 2.0], [0.0, 0.0], [2.0, 4.0], [3.0, 0.0]]
    assert near_duplicates(X, 1.0).tolist() == [0, 1, 2, 1, 3]


@pytest.mark.parametrize("threshold", [0.0, 1.1, float("nan")])
def test_no_such_cosine(threshold):
    with pytest.raises(Mistake, match="threshold is"):
        near_duplicates(np.eye(2), threshold)


def test_no_such_linkage():
    with pytest.raises(Mistake, match="linkage is 'ward'"):
        near_duplicates(np.eye(2), linkage="ward")
