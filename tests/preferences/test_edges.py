"""Graphs with edges added, and what their labels are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from classmark.preferences.graph import PreferenceGraph, amended, weighted_groups
from classmark.preferences.labels import are_layered, favoured, graphs_from


@given(
    st.lists(st.integers(-1, 2), min_size=4, max_size=4),
    st.dictionaries(
        st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda e: e[0] < e[1]),
        st.tuples(st.booleans(), st.floats(0.1, 10)),
    ),
)
def test_an_amended_graph_has_what_was_said_and_the_rest_as_before(levels, said):
    graph = PreferenceGraph(4, levels=np.array(levels))
    edges = {pair[:: 1 if up else -1]: w for pair, (up, w) in said.items()}
    found = amended(graph, edges)
    weights = found.edge_weights()
    compared = {frozenset(edge) for edge in edges}
    before = {e: 1.0 for e in graph.edges() if frozenset(e) not in compared}
    assert weights == before | edges


def test_a_graph_of_labels_is_amended_by_an_expert():
    """Labels: 1 primary, 2 secondary, 0 not; the expert: 0 over 1."""
    (graph,) = graphs_from(np.array([[0.0, 2.0, 1.0]]))
    changed = amended(graph, {(0, 1): 3.0})
    assert changed.edges() == [(0, 1), (1, 2), (2, 0)]
    assert changed.weights.tolist() == [3.0, 1.0, 1.0]
    assert amended(graph, {}) is graph


def test_labels_grades_and_graphs_become_graphs():
    assert graphs_from([[1], []], n_labels=2)[0].edges() == [(1, 0)]
    graded = graphs_from(np.array([[2.0, 0.0, 1.0]]))
    assert are_layered(graded)
    assert graded[0].edges() == [(0, 1), (0, 2), (2, 1)]
    assert graphs_from(graded) == graded


def test_favoured_labels_win_more_than_they_lose():
    graphs = [
        PreferenceGraph(3, [(0, 1), (1, 2)]),
        PreferenceGraph(3, levels=np.array([0, 2, 1])),
        PreferenceGraph(3, levels=np.array([-1, 1, 0])),
        PreferenceGraph(3),
    ]
    expected = [[1, 0, 0], [0, 2, 1], [-1, 1, 0], [0, 0, 0]]
    assert favoured(graphs).to_scipy().toarray().tolist() == expected


def test_groups_weigh_the_mean_of_their_edges():
    graph = PreferenceGraph(3, [(0, 1, 3.0), (2, 1, 1.0), (0, 2, 5.0)])
    groups, weights = weighted_groups(
        graph, ["dominated", "disagreement"], np.array([1.0, 1.0, 0.5])
    )
    assert groups == [[(0, 1), (2, 1)], [(0, 2)], [(0, 1)], [(2, 1)], [(0, 2)]]
    assert weights == [1.75, 5.0, 3.0, 0.5, 5.0]
