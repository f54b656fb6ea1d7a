import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.problems import Mistake
from classmark.taxonomy import Category, Taxonomy
from classmark.taxonomy.edits import (
    add,
    break_cycles,
    merge,
    move,
    prune,
    remove,
    rename,
    without_cycles,
)


@pytest.fixture
def tree():
    return Taxonomy([("r", "a"), ("r", "b"), ("a", "c"), ("c", 1), ("c", 2), ("b", 3)])


def test_prune_lifts_over_several_removed(tree):
    assert prune(tree, ["a", "c"]).edges == [("r", "b"), ("r", 1), ("r", 2), ("b", 3)]
    assert prune(tree, ["r"]).roots == ["a", "b"]
    assert prune(tree, []).leaves == tree.leaves
    with pytest.raises(Mistake, match="3 is a leaf"):
        prune(tree, [3])


def test_prune_keeps_all_parents_of_a_graph():
    graph = Taxonomy([("r", "a"), ("s", "a"), ("a", 1)])
    assert prune(graph, ["a"]).parents(1) == ["r", "s"]


def test_move(tree):
    assert move(tree, "c", "b").path(1) == ["r", "b", "c", 1]
    assert move(tree, "c", None).roots == ["r", "c"]
    with pytest.raises(Mistake, match="cycle"):
        move(tree, "a", "c")


def test_add(tree):
    assert add(tree, 4, under="b").children("b") == [3, 4]
    assert add(tree, 4).roots == ["r", 4]
    with pytest.raises(Mistake, match="already"):
        add(tree, 3)


def test_remove(tree):
    assert remove(tree, 3).leaves == ["b", 1, 2]
    assert remove(tree, "a", whole=True).nodes == ["r", "b", 3]
    assert remove(tree, "r", whole=True).nodes == []
    with pytest.raises(Mistake, match="whole=True"):
        remove(tree, "a")


def test_rename(tree):
    renamed = rename(tree, "a", "z")
    assert renamed.path(1) == ["r", "z", "c", 1]
    assert renamed.number("z") == tree.number("a")
    with pytest.raises(Mistake, match="use merge"):
        rename(tree, "a", "b")


def test_merge(tree):
    assert merge(tree, "b", "a").children("a") == ["c", 3]
    assert merge(tree, "c", "a").children("a") == [1, 2]
    with pytest.raises(Mistake, match="'c' is below 'a'"):
        merge(tree, "a", "c")
    with pytest.raises(Mistake, match="into itself"):
        merge(tree, "a", "a")


def test_the_old_tree_is_untouched(tree):
    before = tree.edges
    prune(tree, ["a"])
    move(tree, "c", "b")
    assert tree.edges == before


graphs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40)


def by_recursion(edges):
    """The edges that a depth-first walk, written plainly, finds to lead back."""
    nodes = list(dict.fromkeys(node for edge in edges for node in edge))
    below = {v: list(dict.fromkeys(c for p, c in edges if p == v)) for v in nodes}
    back, done = [], set()

    def walk(node, way):
        for child in below[node]:
            if child in way:
                back.append((node, child))
            elif child not in done:
                walk(child, (*way, child))
        done.add(node)

    roots = [v for v in nodes if all(child != v for _, child in edges)]
    for node in (*roots, *nodes):
        if node not in done:
            walk(node, (node,))
    return back


@given(graphs)
def test_what_is_left_of_a_graph_has_no_cycle_and_no_cut_was_idle(edges):
    left, cut = break_cycles(edges)
    back = by_recursion(edges)
    assert cut == [edge for edge in dict.fromkeys(edges) if edge in back]
    assert set(left) | set(cut) == set(edges)
    assert not set(left) & set(cut)
    graph = nx.DiGraph(left)
    assert not left or nx.is_directed_acyclic_graph(graph)
    for parent, child in cut:
        assert child == parent or nx.has_path(graph, child, parent)
    tree = nx.DiGraph(edges)
    reached = {v for v in tree if not tree.in_degree(v)}
    graph.add_nodes_from(tree)
    assert {v for v in graph if not graph.in_degree(v)} >= reached
    if edges and nx.is_directed_acyclic_graph(tree):
        assert not cut


def test_a_long_chain_is_no_matter_of_recursion():
    n = 200_000
    edges = [(i, i + 1) for i in range(n)]
    assert break_cycles([*edges, (n, 5)]) == (edges, [(n, 5)])


def test_categories_lose_the_parents_that_close_a_cycle_alone():
    loop = [
        Category("top"),
        Category("a", "A", parents=("b", "top")),
        Category("b", parents=("a",)),
        Category("c", parents=("c", "a")),
    ]
    mended, cut = without_cycles(loop)
    assert cut == [("b", "a"), ("c", "c")]
    assert mended[1] == Category("a", "A", parents=("top",))
    assert [each.parents for each in mended] == [(), ("top",), ("a",), ("a",)]
