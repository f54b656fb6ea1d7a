"""The loss of a collection: labels, grades, layers, listed edges, a user's groups."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from classmark.preferences.graph import NAMES, PreferenceGraph, decompose
from classmark.preferences.losses import loss_from
from classmark.problems import Mistake


def listed(graph):
    return PreferenceGraph(graph.n_labels, graph.edges())


def layered(rng, n=5, k=6):
    return [PreferenceGraph(k, levels=rng.integers(-1, 4, k)) for _ in range(n)]


def same(one, other):
    for name in ("losses", "into", "out_of"):
        assert np.allclose(getattr(one, name), getattr(other, name), rtol=1e-10)


@given(st.integers(0, 2**32 - 1), st.sampled_from(NAMES))
def test_implicit_layers_listed_edges_and_a_function_agree(seed, name):
    rng = np.random.default_rng(seed)
    graphs = layered(rng)
    scores = rng.normal(size=(5, 6)) * 2
    implicit = loss_from(graphs, name)
    explicit = loss_from([listed(graph) for graph in graphs], name)
    own = loss_from(graphs, lambda graph: decompose(graph, name))
    mixed = loss_from([g if i % 2 else listed(g) for i, g in enumerate(graphs)], name)
    assert not len(implicit.listed.inits)
    assert not explicit.layers.nnz
    for other in (explicit, own, mixed):
        same(implicit.prices(scores), other.prices(scores))


@given(st.integers(0, 2**32 - 1), st.sampled_from(NAMES))
def test_grades_are_layers(seed, name):
    rng = np.random.default_rng(seed)
    grades = rng.choice([0.0, 0.5, 3.0, 1000.0], (4, 5))
    scores = rng.normal(size=(4, 5))
    graphs = [
        PreferenceGraph(5, levels=np.searchsorted([0.5, 3.0, 1000.0], row, "right"))
        for row in grades
    ]
    same(loss_from(grades, name).prices(scores), loss_from(graphs, name).prices(scores))


def test_many_grades_in_the_collection_stay_few_in_a_document():
    grades = np.diag(np.arange(1.0, 41.0))
    assert loss_from(grades, "domination").layers.values.tolist() == [1] * 40


@given(st.integers(0, 2**32 - 1), st.sampled_from(NAMES))
def test_slope_is_the_numerical_slope(seed, name):
    rng = np.random.default_rng(seed)
    loss = loss_from(layered(rng, n=1), name)
    f = rng.normal(size=6)
    found = loss.prices(f[np.newaxis])
    numerical = approx_fprime(f, lambda g: loss.prices(g[np.newaxis]).losses[0], 1e-7)
    assert np.allclose((found.into - found.out_of)[0], numerical, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_layers_never_list_their_edges(name, monkeypatch):
    def refuse(self):
        raise AssertionError(self)

    monkeypatch.setattr(PreferenceGraph, "edges", refuse)
    loss_from([PreferenceGraph.layers(3, [[1], [0, 2]])], name).prices(np.zeros((1, 3)))


def test_a_weight_of_two_is_an_edge_twice():
    graph = PreferenceGraph(3, [(0, 1, 2.0), (0, 2)])
    price = loss_from([graph], "domination").prices(np.zeros((1, 3)))
    assert price.losses[0] == pytest.approx(math.log(1 + 2 + 1))
    assert price.into[0] == pytest.approx([0, 2 / 4, 1 / 4])


def test_documents_are_priced_from_any_place():
    graphs = layered(np.random.default_rng(3))
    scores = np.random.default_rng(4).normal(size=(5, 6))
    loss = loss_from([listed(graphs[0]), *graphs[1:]], "dominated")
    whole = loss.prices(scores).losses
    parts = [loss.prices(scores[:2]).losses, loss.prices(scores[2:], 2).losses]
    assert np.concatenate(parts).tolist() == whole.tolist()


def test_mistakes_are_named():
    graphs = [PreferenceGraph(3, [(0, 1)])] * 2
    with pytest.raises(Mistake, match="loss 'all' is not known"):
        loss_from(graphs, "all")
    with pytest.raises(Mistake, match="2 graphs, X has 3 rows"):
        loss_from(graphs, "zero-one", 3)
    with pytest.raises(Mistake, match=r"document 0: .*group 0 has the edge \(1, 0\)"):
        loss_from(graphs, lambda _: [[(1, 0)]])
    with pytest.raises(Mistake, match="document 0: the loss's group 1 has no"):
        loss_from(graphs, lambda g: [g.edges(), []])
