"""PageRank: three ways, one answer, the one that networkx and dense algebra give."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from classmark.arrays import Rows, rows_from
from classmark.datasets import load
from classmark.links.pagerank import METHODS, graph_of_edges, pagerank
from classmark.problems import Mistake
from oracles import links as slow

ways = pytest.mark.parametrize("method", METHODS)
WEBS = {
    "a chain that ends": [[0, 1, 0], [0, 0, 1], [0, 0, 0]],
    "a ring": np.roll(np.eye(9), 1, axis=1),
    "only self-links": np.eye(10),
    "a self-link and a way out": [[1, 1, 0], [0, 1, 0], [1, 0, 0]],
    "no link at all": np.zeros((9, 9)),
    "one page": [[0]],
    "one page that links to itself": [[1]],
    "two islands": np.kron(np.eye(2), np.ones((5, 5))),
    "weights": np.arange(100.0).reshape(10, 10) % 7,
}


def known_answer(A, damping=0.85, teleport=None):
    graph = nx.from_numpy_array(np.asarray(A, float), create_using=nx.DiGraph)
    personal = None if teleport is None else dict(enumerate(teleport))
    found = nx.pagerank(graph, damping, personal, tol=1e-15, max_iter=2000)
    return np.array([found[i] for i in range(len(A))])


@ways
@pytest.mark.parametrize("name", WEBS)
def test_it_is_what_networkx_says(name, method):
    A = np.asarray(WEBS[name], float)
    x = pagerank(A, method=method)
    assert x.dtype == np.float64
    assert np.abs(x - known_answer(A)).sum() < 1e-9


@ways
@pytest.mark.parametrize("damping", [0.0, 0.3, 0.85, 0.99])
def test_a_personal_rank_is_what_networkx_says(damping, method):
    rng = np.random.default_rng(5)
    A = (rng.random((40, 40)) < 0.06) * 1.0
    A[[3, 30]] = 0.0
    v = np.zeros(40)
    v[[2, 3, 7]] = 0.5, 0.25, 0.25
    x = pagerank(A, damping, v, method)
    assert np.abs(x - known_answer(A, damping, v)).sum() < 1e-9
    assert np.abs(x - slow.pagerank(A, v, damping)).sum() < 1e-9


@ways
def test_from_a_page_without_links_a_personal_reader_goes_home(method):
    x = pagerank([[0, 1, 0], [0, 0, 0], [1, 0, 0]], 0.5, [1, 0, 0], method)
    assert x == pytest.approx([2 / 3, 1 / 3, 0])


def test_the_answer_is_as_near_as_was_asked():
    rng = np.random.default_rng(1)
    A = (rng.random((60, 60)) < 0.05) * rng.random((60, 60))
    v = np.full(60, 1 / 60)
    truth = slow.pagerank(A, v, 0.95)
    for tol in (1e-2, 1e-5, 1e-9):
        for method in METHODS:
            found = pagerank(A, 0.95, method=method, tol=tol)
            assert np.abs(found - truth).sum() <= tol


@pytest.mark.parametrize(
    "shape",
    [
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_array,
        rows_from,
        np.float32,
        bool,
        list,
    ],
)
def test_any_kind_of_matrix_will_do(shape):
    A = (np.random.default_rng(2).random((12, 12)) < 0.3) * 1.0
    given = A.astype(shape) if shape in (np.float32, bool) else shape(A)
    assert np.allclose(pagerank(given), pagerank(A), atol=1e-15)


def test_equal_weights_and_stored_zeros_change_nothing():
    A = (np.random.default_rng(3).random((12, 12)) < 0.3) * 1.0
    x = pagerank(A)
    assert np.allclose(pagerank(A * 3.5), x, atol=1e-15)
    full = sparse.csr_array(A + 1.0)
    full.data -= 1.0
    assert full.nnz == 144
    assert np.allclose(pagerank(full), x, atol=1e-15)
    nothing = sparse.csr_array(np.ones((3, 3)))
    nothing.data[:] = 0.0
    assert np.allclose(pagerank(nothing), 1 / 3)


def test_given_matrices_are_not_changed():
    A = sparse.csr_array(np.array([[0, 2.0], [1.0, 1.0]]))
    v = np.array([0.25, 0.75])
    for method in METHODS:
        pagerank(A, 0.5, v, method)
        pagerank(A, 0.0, v, method)[:] = 7.0
    assert A.data.tolist() == [2.0, 1.0, 1.0]
    assert v.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"A": np.ones((2, 3))}, r"A has the shape \(2, 3\).*square"),
        ({"A": [1.0, 2.0]}, r"A has the shape \(2,\)"),
        ({"A": np.empty((0, 0))}, "A has no page"),
        ({"A": [[0, 1], [-2, 0]]}, r"A\[1, 0\] is -2.*not negative"),
        ({"A": [[0, 1], [np.nan, 0]]}, "A, row 1: the value is not finite"),
        (
            {
                "A": Rows(
                    np.array([0, 1]), np.zeros(1, np.uint32), np.array([np.inf]), 1
                )
            },
            "A, row 0: the value is not finite",
        ),
        ({"A": [["a"]]}, "numbers are needed"),
        ({"damping": 1.0}, "damping is 1.0.*below 1"),
        ({"damping": -0.1}, "damping is -0.1"),
        ({"damping": float("nan")}, "damping is nan"),
        ({"method": "guess"}, "method='guess' is not known: use power, gauss-seidel"),
        ({"tol": 0.0}, "tol is 0.0"),
        ({"tol": 1e-16}, "finer than double precision"),
        ({"tol": 1e-16, "method": "gauss-seidel"}, "finer than double precision"),
        ({"teleport": [1.0]}, "teleport has the shape .1,.*each of the 2 pages"),
        ({"teleport": ["a", "b"]}, "teleport has .*holds"),
        ({"teleport": [1.5, -0.5]}, r"teleport\[1\] is -0.5: give probabilities"),
        ({"teleport": [np.nan, 1.0]}, r"teleport\[0\] is nan"),
        ({"teleport": [0.5, 0.4]}, "teleport sums to 0.9.*divide by the sum"),
        ({"teleport": [0, 0]}, "teleport sums to 0"),
    ],
)
def test_mistakes_are_named(arguments, said):
    with pytest.raises(Mistake, match=said):
        pagerank(**({"A": [[0, 1], [1, 0]]} | arguments))


@pytest.mark.parametrize(
    ("name", "pages", "first"),
    [
        ("graph-wiki-vote", 7_115, "4037"),
        ("graph-polblogs", 1_490, None),
        ("debian-depends-graph", 59_052, "libc6"),
    ],
)
def test_three_ways_agree_on_known_webs(data, name, pages, first):
    known = load(name, data)
    A, ids = graph_of_edges((link[:2] for link in known.links), known.train.ids)
    found = {method: pagerank(A, method=method) for method in METHODS}
    power = found.pop("power")
    assert A.shape == (pages, pages)
    for x in found.values():
        assert np.abs(x - power).sum() < 1e-8
    if first is not None:
        assert ids[int(np.argmax(power))] == first
