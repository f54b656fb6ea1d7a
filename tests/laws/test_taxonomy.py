"""Laws of trees, on forests and on graphs with several parents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.problems import Mistake
from classmark.taxonomy import Taxonomy
from classmark.taxonomy.edits import merge, prune, rename
from classmark.taxonomy.tree import (
    nearest_distances,
    path_distances,
)
from oracles import taxonomy as slow


@st.composite
def forests(draw, *, most_parents=1):
    """Nodes 0 … n−1, each below nodes of smaller number; the edges in any order."""
    size = draw(st.integers(1, 14))
    edges = []
    for node in range(1, size):
        above = st.lists(st.integers(0, node - 1), max_size=most_parents, unique=True)
        edges += [(parent, node) for parent in draw(above)]
    return Taxonomy(draw(st.permutations(edges)), nodes=range(size))


TREES = forests()
GRAPHS = forests(most_parents=3)


@given(GRAPHS)
def test_paths_and_distances_equal_the_walk(tree):
    parent = slow.first_parents(tree.edges, tree.nodes)
    for u in tree:
        assert tree.path(u) == slow.path(parent, u)
        for v in tree:
            assert tree.distance(u, v) == slow.distance(parent, u, v)


@given(GRAPHS)
def test_distance_is_a_metric(tree):
    every = np.arange(len(tree))
    d = path_distances(tree.lineage, every[:, None], every[None, :])
    assert (np.diag(d) == 0).all()
    assert (d[~np.eye(len(tree), dtype=bool)] > 0).all()
    assert (d == d.T).all()
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :]).all()


@given(GRAPHS, st.data())
def test_lowest_common_ancestor(tree, data):
    u, v = (data.draw(st.sampled_from(tree.nodes)) for _ in range(2))
    assert tree.lowest_common_ancestor(u, u) == u
    common = tree.lowest_common_ancestor(u, v)
    assert common == tree.lowest_common_ancestor(v, u)
    shared = [w for w in tree.path(u) if w in tree.path(v)]
    assert common == (shared[-1] if shared else None)


@given(GRAPHS, st.data())
def test_nearest_is_the_least_distance(tree, data):
    sources = data.draw(st.lists(st.sampled_from(tree.nodes), min_size=1))
    near = nearest_distances(tree.lineage, tree.numbers(sources))
    assert near.tolist() == [min(tree.distance(v, s) for s in sources) for v in tree]


def ups(dag, node):
    """Fewest edges up to each ancestor, by any parents; None is the virtual root."""
    steps = {node: 0}
    queue = [node]
    for each in queue:
        for parent in dag.parents(each) or ([None] if each is not None else []):
            if steps.get(parent, 99) > steps[each] + 1:
                steps[parent] = steps[each] + 1
                if parent is not None:
                    queue.append(parent)
    return steps


@given(GRAPHS, st.data())
def test_nearest_over_all_parents_meets_in_a_common_ancestor(dag, data):
    sources = data.draw(st.lists(st.sampled_from(dag.nodes), min_size=1))
    each = {node: ups(dag, node) for node in dag}
    expected = [
        min(
            steps + each[source][above]
            for source in sources
            for above, steps in each[node].items()
            if above in each[source]
        )
        for node in dag
    ]
    assert dag.nearest(dag.numbers(sources)).tolist() == expected


@given(TREES, st.data())
def test_in_a_tree_nearest_is_the_tree_distance(tree, data):
    sources = tree.numbers(data.draw(st.lists(st.sampled_from(tree.nodes))))
    assert np.array_equal(
        tree.nearest(sources), nearest_distances(tree.lineage, sources)
    )


@given(TREES, st.data(), st.integers(2, 6))
def test_layers_partition_the_leaves(tree, data, number):
    correct = data.draw(st.lists(st.sampled_from(tree.leaves), min_size=1, unique=True))
    layers = tree.preference_layers(correct, layers=number)
    assert sorted([leaf for layer in layers for leaf in layer]) == sorted(tree.leaves)
    assert sorted(layers[0]) == sorted(correct)
    assert len(layers) <= number
    parent = slow.first_parents(tree.edges, tree.nodes)
    expected = slow.layers(parent, correct, number)
    assert list(map(sorted, layers)) == list(map(sorted, expected))


@given(TREES, st.data())
def test_layers_with_inner_answers_partition_the_leaves_and_dummies(tree, data):
    correct = data.draw(st.lists(st.sampled_from(tree.nodes), min_size=1, unique=True))
    layers = tree.preference_layers(correct)
    listed = [leaf for layer in layers for leaf in layer]
    assert len(set(listed)) == len(listed)
    assert set(tree.leaves) <= set(listed)
    assert layers[0]


@given(GRAPHS, st.data())
def test_prune_keeps_the_leaves_in_their_order(tree, data):
    inner = [node for node in tree if not tree.is_leaf(node)]
    gone = data.draw(st.sets(st.sampled_from(inner))) if inner else set()
    pruned = prune(tree, gone)
    assert pruned.leaves == tree.leaves
    assert pruned.nodes == [node for node in tree if node not in gone]
    for leaf in tree.leaves:
        above = [node for node in tree.ancestors(leaf) if node not in gone]
        assert set(pruned.ancestors(leaf)) == set(above)


@given(GRAPHS, st.data())
def test_rename_and_back(tree, data):
    node = data.draw(st.sampled_from(tree.nodes))
    assert rename(rename(tree, node, "other"), "other", node) == tree


@given(GRAPHS, st.data())
def test_merge_removes_one_node(tree, data):
    node, into = (data.draw(st.sampled_from(tree.nodes)) for _ in range(2))
    if node == into or node in tree.ancestors(into):
        with pytest.raises(Mistake):
            merge(tree, node, into)
    else:
        merged = merge(tree, node, into)
        assert set(merged.nodes) == set(tree.nodes) - {node}
        assert set(merged.descendants(into)) >= set(tree.descendants(node)) - {into}
