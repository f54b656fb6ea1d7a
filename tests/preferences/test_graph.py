"""Graphs, their edges and their groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.preferences.graph import NAMES, PreferenceGraph, decompose
from classmark.preferences.labels import levels_from
from classmark.problems import Mistake

LEVELS = st.lists(st.integers(-1, 3), min_size=1, max_size=6)


def layered(levels):
    return PreferenceGraph(len(levels), levels=np.array(levels))


@given(LEVELS)
def test_edges_of_layers_are_all_pairs_of_a_higher_over_a_lower(levels):
    graph = layered(levels)
    expected = [
        (u, v)
        for u in range(len(levels))
        for v in range(len(levels))
        if levels[u] > levels[v] >= 0
    ]
    assert graph.edges() == expected
    assert graph.n_edges == len(expected)


@given(LEVELS, st.sampled_from(NAMES))
def test_a_decomposition_has_each_edge_once(levels, name):
    graph = layered(levels)
    groups = decompose(graph, name)
    assert sorted(edge for group in groups for edge in group) == graph.edges()
    assert all(groups)


def test_what_stands_together():
    graph = PreferenceGraph(3, [(0, 1), (0, 2), (1, 2)])
    assert decompose(graph, "zero-one") == [[(0, 1), (0, 2), (1, 2)]]
    assert decompose(graph, "disagreement") == [[(0, 1)], [(0, 2)], [(1, 2)]]
    assert decompose(graph, "domination") == [[(0, 1), (0, 2)], [(1, 2)]]
    assert decompose(graph, "dominated") == [[(0, 1)], [(0, 2), (1, 2)]]
    assert decompose(graph, lambda g: [g.edges()[:1]]) == [[(0, 1)]]
    assert decompose(PreferenceGraph(2), "zero-one") == []


def test_cycles_are_allowed():
    assert PreferenceGraph(3, [(0, 1), (1, 2), (2, 0)]).n_edges == 3


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([(0, 0)], r"edge \(0, 0\)"),
        ([(0, 1), (1, 0)], r"edges \(0, 1\) and \(1, 0\)"),
        ([(0, 1), (0, 1)], r"edge \(0, 1\) is given twice"),
        ([(0, 9)], r"edge \(0, 9\)"),
        ([(0, 1, -2.0)], "weight is -2.0"),
    ],
)
def test_malformed_edges_are_named(edges, said):
    with pytest.raises(Mistake, match=said):
        PreferenceGraph(3, edges)


def test_malformed_layers_and_groups_are_named():
    with pytest.raises(Mistake, match="label 1 is in an earlier layer"):
        PreferenceGraph.layers(3, [[0, 1], [1]])
    with pytest.raises(Mistake, match="label 7 is out of range"):
        PreferenceGraph.multilabel(3, [7])
    with pytest.raises(Mistake, match="'total' is not known"):
        decompose(PreferenceGraph(2), "total")
    with pytest.raises(Mistake, match="not in the graph"):
        decompose(PreferenceGraph(2, [(0, 1)]), lambda _: [[(1, 0)]])


def test_grades_become_levels_and_graphs_too():
    by_grade = levels_from(np.array([[5.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    assert by_grade.values.tolist() == [2.0, 1.0, 1.0]
    graphs = [
        PreferenceGraph.layers(3, [[0], [2], [1]]),
        PreferenceGraph.multilabel(3, [1]),
    ]
    by_graph = levels_from(graphs, 2)
    assert (by_graph.columns == by_grade.columns).all()
    assert (by_graph.values == by_grade.values).all()


def test_graphs_that_do_not_fit_are_named():
    two, three = PreferenceGraph.multilabel(2, [0]), PreferenceGraph.multilabel(3, [0])
    with pytest.raises(Mistake, match="document 1: the graph has 3 labels"):
        levels_from([two, three])
    with pytest.raises(Mistake, match="1 graphs, X has 2 rows"):
        levels_from([two], 2)
    with pytest.raises(Mistake, match="not layered"):
        levels_from([PreferenceGraph(2, [(0, 1)])])
