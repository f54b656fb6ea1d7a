"""Documents on a tree, on several trees and on a graph."""

import numpy as np
import pytest

from classmark.hierarchies.places import places_of
from classmark.problems import Mistake
from classmark.taxonomy.tree import Dummy, Taxonomy

TREE = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("b", 2)])


def test_a_leaf_with_two_parents_is_below_both():
    places = places_of(TREE, [2])
    node = {name: at for at, name in enumerate(places.tree.nodes)}
    above = places.nodes_of().toarray()[0]
    assert [above[node[name]] for name in ("r", "a", "b", 2, 1)] == [1, 1, 1, 1, 0]
    assert places.inner.tolist() == [node["r"], node["a"], node["b"]]


def test_documents_of_an_inner_category_have_a_leaf_of_their_own():
    places = places_of(TREE, ["b", ["a", 1]])
    assert places.classes == [1, 2, Dummy("b"), Dummy("a")]
    assert places.named == [1, 2, "b", "a"]
    assert places.sizes.tolist() == [1, 0, 1, 1]


def test_several_roots_hang_on_a_virtual_one():
    places = places_of(Taxonomy([("a", 1), ("b", 2)]), [1, 2])
    assert places.root == 4
    assert places.size == 5
    assert places.daughters(4).tolist() == [0, 2]
    assert places.nodes_of().toarray()[:, 4].tolist() == [1, 1]


@pytest.mark.parametrize("y", [np.array([1, 2]), (1, 2), [{1}, frozenset({2})]])
def test_labels_come_in_many_forms(y):
    assert places_of(TREE, y).documents.columns.tolist() == [0, 1]


def test_a_tuple_may_be_a_category_or_several():
    tree = Taxonomy([("r", ("r", 1)), ("r", "b")])
    places = places_of(tree, [("r", 1), ("b", ("r", 1))])
    assert places.documents.starts.tolist() == [0, 1, 3]


def test_an_unknown_category_is_named():
    with pytest.raises(Mistake, match="row 1: 'x' is not a category"):
        places_of(TREE, [1, "x"])


def test_above_is_what_a_walk_upwards_finds():
    rng = np.random.default_rng(0)
    edges = [(int(rng.integers(v)), v) for v in range(1, 60)]
    edges += [(int(rng.integers(v)), v) for v in range(40, 60)]
    for tree in (
        Taxonomy(edges),
        Taxonomy(edges, nodes=["alone"]),
        Taxonomy([], nodes=[1]),
    ):
        places = places_of(tree, [])
        found = places.above.to_scipy().toarray()
        assert found.shape == (len(places.leaves), places.size)
        for at, name in enumerate(tree.leaves):
            wanted = {*tree.numbers([name, *tree.ancestors(name)]), places.root}
            assert set(np.flatnonzero(found[at])) == wanted
        assert set(np.unique(found)) <= {0.0, 1.0}
