import pytest

from classmark.problems import Mistake
from classmark.taxonomy import Taxonomy
from classmark.taxonomy.edits import add, merge, move, prune, remove, rename


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
