"""Each kernel gives what its slow version gives."""

import numpy as np
import pytest

from classmark.arrays import rows_from, transpose
from classmark.clusters import kernels as fast
from oracles import clusters as slow


def documents(seed, n=30, width=12):
    rng = np.random.default_rng(seed)
    X = rng.random((n, width)) * (rng.random((n, width)) < 0.4)
    X[:, 0] += 0.1
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("first", [0, 5])
def test_nearest_is_the_greatest_product_over_blocks(first):
    X, rng = documents(1), np.random.default_rng(2)
    rows = rows_from(X)
    met = [
        [np.zeros(30, np.int64), np.full(30, -np.inf), np.full(30, -np.inf)]
        for _ in range(2)
    ]
    for begin in (first, first + 7):
        W = rng.random((12, 7))
        fast.nearest(rows.starts, rows.columns, rows.values, W, begin, *met[0])
        slow.nearest(X, W, begin, *met[1])
    assert met[0][0].tolist() == met[1][0].tolist()
    assert np.allclose(met[0][1:], met[1][1:])


def test_products_by_lists_are_products():
    X = documents(3)
    rows = rows_from(X)
    lists = transpose(rows)
    out, expected = np.ones(30), np.ones(30)
    fast.products(*rows.row(4), lists.starts, lists.columns, lists.values, out)
    slow.products(X[4], X, expected)
    assert np.allclose(out, expected)


@pytest.mark.parametrize("linkage", ["average", "ward"])
def test_a_chain_merges_the_nearest_two(linkage):
    X = documents(4)
    ward = linkage == "ward"
    D = 2 - 2 * X @ X.T if ward else 1 - X @ X.T
    np.fill_diagonal(D, np.inf)
    left, right = np.empty(29, np.int64), np.empty(29, np.int64)
    heights = np.empty(29)
    fast.chain(D, np.ones(30), ward, left, right, heights)
    found = np.sort(np.sqrt(heights) if ward else heights)
    assert np.allclose(found, slow.chain(X, linkage))


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
def test_linking_joins_every_close_pair(threshold):
    X = documents(5)
    X[[3, 17]] = 0
    rows = rows_from(X)
    parent, expected = np.arange(30, dtype=np.uint32), np.arange(30)
    fast.link(rows.starts, rows.columns, rows.values, 12, threshold, parent)
    for _ in range(30):
        parent = parent[parent]
    slow.link(X, threshold, expected)
    assert parent.tolist() == expected.tolist()
