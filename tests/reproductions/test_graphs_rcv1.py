"""The graphs of the RCV1 experiment, and what is claimed of its table."""

import pytest

from classmark.preferences.graph import NAMES
from classmark.taxonomy.tree import Taxonomy
from reproductions.graphs_rcv1 import Row, claims, collection, graphs_of


def test_inner_topics_get_a_leaf_and_the_root_none():
    tree = Taxonomy([("r", "a"), ("r", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1")])
    first, second = graphs_of(tree, [["a", "a1"], ["b"]])
    assert first.n_labels == 5  # a1, a2, b1, and the leaves of a and b
    assert sorted(first.levels.tolist()) == [0, 0, 1, 1, 2]
    assert sorted(second.levels.tolist()) == [0, 0, 0, 1, 2]
    assert first.n_edges == 4 + 2 * 2


def test_claims_follow_the_numbers():
    def row(method, value, chance):
        same = dict.fromkeys(NAMES, value)
        return Row(method, same, same, dict.fromkeys(NAMES, chance), [1.0])

    rows = [
        row("zero-one", 0.5, 0.01),
        row("disagreement", 0.41, 0.6),
        row("domination", 0.4, 1.0),
        row("dominated", 0.3, 0.001),
    ]
    assert claims(rows)[0] == (
        "zero-one error, domination is best: does not hold, dominated is least; surely "
        "worse (p < 0.05): zero-one; better: dominated"
    )
    assert (
        "holds; surely worse (p < 0.05): zero-one; better: none" in claims(rows[:3])[2]
    )


def test_the_collection_has_the_papers_labels_and_about_its_edges(data):
    loaded = collection(data)
    assert loaded.X.shape == (2316, 3200)
    assert loaded.X.data.min() == 1
    assert loaded.graphs[0].n_labels == 103
    assert loaded.edges == pytest.approx(946, abs=1)
