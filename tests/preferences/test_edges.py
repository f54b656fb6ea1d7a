"""Graphs from edges said one by one, by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.preferences.graph import (
    PreferenceGraph,
    amended,
    from_edges,
    weighted_groups,
)
from classmark.preferences.labels import are_layered, favoured, graphs_from
from classmark.problems import Mistake

NAMES = ["bees", "wax", "rye"]


def test_edges_find_their_documents():
    said = [("d2", "rye", "bees", 2.0), ("d1", "bees", "wax"), ("d2", "rye", "wax")]
    first, second, third = from_edges(said, ["d1", "d2", "d3"], NAMES)
    assert first.edges() == [(0, 1)]
    assert second.edges() == [(2, 0), (2, 1)]
    assert second.weights.tolist() == [2.0, 1.0]
    assert third.edges() == []


def test_what_labels_say_is_kept_or_replaced():
    """Labels: wax primary, rye secondary, bees not; the expert: bees over wax."""
    base = graphs_from(np.array([[0.0, 2.0, 1.0], [0.0, 2.0, 1.0]]))
    said = [("d1", "bees", "wax", 3.0)]
    changed, kept = from_edges(said, ["d1", "d2"], NAMES, base)
    assert changed.edges() == [(0, 1), (1, 2), (2, 0)]
    assert changed.weights.tolist() == [3.0, 1.0, 1.0]
    assert kept is base[1]


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([("d9", "bees", "wax")], "document 'd9', 'bees' over 'wax': the document"),
        (
            [("d1", "bees", "oak")],
            "document 'd1', 'bees' over 'oak': .* no label 'oak'",
        ),
        ([("d1", "bees", "bees")], "document 'd1', 'bees' over 'bees': .* itself"),
        ([("d1", "bees", "wax", 0)], r"document 'd1', .*weight is 0\.0"),
        ([("d1", "bees", "wax")] * 2, "'bees' over 'wax': it is given twice"),
        ([("d1", "bees", "wax"), ("d1", "wax", "bees")], "'wax' over 'bees': the con"),
        ([("d1", "bees")], "has 2 parts"),
    ],
)
def test_a_malformed_edge_is_named_with_its_document(edges, said):
    with pytest.raises(Mistake, match=said):
        from_edges(edges, ["d1"], NAMES)


def test_base_has_a_graph_per_document():
    with pytest.raises(Mistake, match="1 graphs for 2 documents"):
        from_edges([], ["a", "b"], NAMES, [PreferenceGraph(3)])


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
