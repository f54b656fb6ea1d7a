"""Errors of one document: by layers, and by listed edges."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.measures.categories import ranking_error
from classmark.preferences.graph import NAMES, PreferenceGraph, decompose
from classmark.problems import Mistake

GOLDEN = Path(__file__).parent.parent / "golden" / "measures.json"


@given(st.integers(0, 2**32 - 1), st.sampled_from(NAMES))
def test_layers_err_as_their_listed_edges_do(seed, name):
    rng = np.random.default_rng(seed)
    graph = PreferenceGraph(7, levels=rng.integers(-1, 4, 7))
    scores = rng.integers(0, 5, 7).astype(float)
    explicit = ranking_error(scores, PreferenceGraph(7, graph.edges()), name)
    own = ranking_error(scores, graph, lambda g: decompose(g, name))
    assert ranking_error(scores, graph, name) == pytest.approx(explicit)
    assert own == pytest.approx(explicit)


def test_figure_2_of_the_paper():
    golden = json.loads(GOLDEN.read_text())["label_ranking_figure_2"]
    edges = [(init - 1, term - 1) for init, term in golden["edges"]]
    graph = PreferenceGraph(5, edges)
    for name in ("disagreement", "domination", "dominated"):
        wrong, total = golden[name]
        assert ranking_error([5.0, 4.0, 3.0, 2.0, 1.0], graph, name) == wrong / total


@pytest.mark.parametrize("name", NAMES)
def test_a_tie_violates_and_no_edge_does_not(name):
    assert ranking_error([1.0, 1.0], PreferenceGraph.multilabel(2, [0]), name) == 1
    assert ranking_error([1.0, 1.0], PreferenceGraph.multilabel(2, [0, 1]), name) == 0
    assert ranking_error([1.0, 1.0], PreferenceGraph.layers(2, []), name) == 0


def test_mistakes_are_named():
    graph = PreferenceGraph.multilabel(2, [0])
    with pytest.raises(Mistake, match=r"shape \(3,\), the graph 2 labels"):
        ranking_error([1.0, 2.0, 3.0], graph, "zero-one")
    with pytest.raises(Mistake, match="loss 'most' is not known"):
        ranking_error([1.0, 2.0], graph, "most")
