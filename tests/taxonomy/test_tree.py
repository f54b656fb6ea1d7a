import time

import numpy as np
import pytest

from classmark.problems import Mistake
from classmark.taxonomy import Category, Dummy, Taxonomy, categories_of, taxonomy_of
from classmark.taxonomy.tree import Lineage

TREE = [
    ("all", "life"),
    ("all", "arts"),
    ("life", "insects"),
    ("life", "birds"),
    ("insects", "bees"),
    ("insects", "ants"),
    ("arts", "music"),
]


@pytest.fixture
def tree():
    return Taxonomy(TREE)


def test_order_of_first_appearance(tree):
    assert tree.nodes[:3] == ["all", "life", "arts"]
    assert tree.leaves == ["birds", "bees", "ants", "music"]
    assert tree.roots == ["all"]
    assert tree.children("life") == ["insects", "birds"]
    assert tree.levels == [
        ["all"],
        ["life", "arts"],
        ["insects", "birds", "music"],
        ["bees", "ants"],
    ]
    assert tree.edges == TREE


def test_questions(tree):
    assert tree.depth == 3
    assert tree.depth_of("bees") == 3
    assert tree.path("bees") == ["all", "life", "insects", "bees"]
    assert tree.ancestors("bees") == ["insects", "life", "all"]
    assert tree.descendants("life") == ["insects", "birds", "bees", "ants"]
    assert tree.siblings("bees") == ["ants"]
    assert tree.siblings("all") == []
    assert tree.parents("all") == []
    assert tree.lowest_common_ancestor("bees", "birds") == "life"
    assert tree.lowest_common_ancestor("bees", "life") == "life"
    assert tree.distance("bees", "music") == 5
    assert tree.is_leaf("bees")
    assert not tree.is_leaf("life")
    assert "bees" in tree
    assert "wasps" not in tree
    assert len(tree) == 8
    assert repr(tree) == "Taxonomy(8 nodes, 4 leaves, depth 3)"


def test_arrays(tree):
    assert tree.lineage.parent.tolist() == [-1, 0, 0, 1, 1, 3, 3, 2]
    assert tree.lineage.depths.tolist() == [0, 1, 1, 2, 2, 3, 3, 2]
    assert tree.numbers(["all", "music"]).tolist() == [0, 7]
    with pytest.raises(ValueError, match="read-only"):
        tree.lineage.parent[0] = 3


def test_several_roots_meet_in_a_virtual_one():
    wood = Taxonomy([("a", 1), ("b", 2)], nodes=["alone"])
    assert wood.roots == ["alone", "a", "b"]
    assert wood.leaves == ["alone", 1, 2]
    assert wood.lowest_common_ancestor(1, 2) is None
    assert wood.distance(1, 2) == 4
    assert wood.distance("alone", 1) == 3
    assert wood.siblings("alone") == ["a", "b"]


def test_second_parents_are_kept_beside_the_backbone():
    graph = Taxonomy([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("b", "x")])
    assert graph.parents("x") == ["a", "b"]
    assert graph.path("x") == ["r", "a", "x"]
    assert graph.ancestors("x") == ["a", "b", "r"]
    assert graph.leaves == ["x"], "b has a child, so it is no leaf"
    assert len(graph.edges) == 4


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([("a", "a")], "'a' is its own parent"),
        ([("a", "b"), ("b", "c"), ("c", "a")], "cycle, 'a' → 'b' → 'c' → 'a'"),
        ([("r", "a"), ("a", "b"), ("b", "a")], "cycle, 'a' → 'b' → 'a'"),
        (["ab"], "number 0: 'ab' is not a"),
        ([("a", "b"), ("a", "b", "c")], "number 1"),
        ([("a", ["b"])], "cannot be hashed"),
    ],
)
def test_bad_edges_are_named(edges, words):
    with pytest.raises(Mistake, match=words):
        Taxonomy(edges)


def test_unknown_category_is_named(tree):
    with pytest.raises(Mistake, match="'wasps' is not a category"):
        tree.children("wasps")


def test_empty():
    empty = Taxonomy([])
    assert empty.leaves == empty.roots == empty.levels == []
    assert empty.depth == 0
    assert empty.preference_layers([]) == [[]]


def test_equality_is_of_nodes_and_edges(tree):
    assert tree == Taxonomy(TREE)
    assert tree != Taxonomy(TREE[:-1])
    assert tree != Taxonomy([*TREE, ("arts", "bees")])
    assert tree != "tree"


def test_layers_follow_every_parent():
    """Bees are under insects and, second, under farming, beside cows.

    From bees: ants 2 (insects), cows 2 (farming), oaks 4 (insects, life, plants);
    banks 4 (farming, work, trade). By the first parents alone cows would be 6 away.
    """
    edges = [
        *(("life", "insects"), ("life", "plants"), ("work", "farming")),
        *(("work", "trade"), ("insects", "bees"), ("insects", "ants")),
        *(("plants", "oaks"), ("farming", "cows"), ("trade", "banks")),
        ("farming", "bees"),
    ]
    dag = Taxonomy(edges)
    assert dag.preference_layers(["bees"], layers=4) == [
        ["bees"],
        ["ants", "cows"],
        ["oaks", "banks"],
    ]
    assert dag.preference_layers(["cows"], layers=5) == [
        ["cows"],
        ["bees"],
        ["banks"],
        ["ants", "oaks"],
    ]


def test_a_correct_inner_category_of_two_parents_is_diverted_once():
    dag = Taxonomy([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("x", 1), ("b", 2)])
    assert dag.preference_layers(["x"], layers=4) == [[Dummy("x")], [1], [2]]


def test_layers(tree):
    assert tree.preference_layers(["bees"]) == [["bees"], ["ants"], ["birds", "music"]]
    assert tree.preference_layers(["bees"], layers=2) == [
        ["bees"],
        ["birds", "ants", "music"],
    ]
    assert tree.preference_layers(["bees"], layers=9) == [
        ["bees"],
        ["ants"],
        ["birds"],
        ["music"],
    ]
    assert tree.preference_layers(["music"]) == [
        ["music"],
        [],
        ["birds", "bees", "ants"],
    ]
    assert tree.preference_layers(tree.leaves) == [tree.leaves]
    assert tree.preference_layers([]) == [[], [], tree.leaves]


def test_layers_divert_inner_answers_to_a_dummy(tree):
    assert tree.preference_layers(["insects"]) == [
        [Dummy("insects")],
        ["bees", "ants"],
        ["birds", "music"],
    ]
    layers = tree.preference_layers(["life", "insects", "bees"])
    assert layers[0] == ["bees"], "what is above a correct category ends no path"
    full = tree.with_dummy_leaves()
    assert full.preference_layers(["life"])[0] == [Dummy("life")]
    assert full.with_dummy_leaves() == full
    assert sum(map(len, full.preference_layers(["life"]))) == len(full.leaves)


@pytest.mark.parametrize("layers", [0, 1, -3])
def test_too_few_layers(tree, layers):
    with pytest.raises(Mistake, match="give 2 or more"):
        tree.preference_layers(["bees"], layers=layers)


def test_layers_refuse_unknown_answers(tree):
    with pytest.raises(Mistake, match="'wasps'"):
        tree.preference_layers(["wasps"])


def test_hundred_thousand_nodes_are_quick():
    rng = np.random.default_rng(0)
    upper = (rng.random(99_999) * np.arange(1, 100_000) / 10).astype(int)
    edges = list(zip(upper.tolist(), range(1, 100_000), strict=True))
    start = time.perf_counter()
    tree = Taxonomy(edges)
    leaves = tree.leaves
    tree.preference_layers(leaves[:3])
    assert time.perf_counter() - start < 2
    assert tree.lineage.common(np.arange(100_000), 0).max() == 0


def test_a_chain_of_many_levels():
    chain = Lineage(np.arange(-1, 50_000))
    assert chain.depths[-1] == 50_000
    assert chain.common(50_000, 17) == 17


def test_categories_make_a_taxonomy_and_back():
    listed = [Category("a"), Category("b", "Bees", parents=("a",)), Category("c")]
    tree = taxonomy_of(listed)
    assert tree.nodes == ["a", "b", "c"]
    assert [c.id for c in categories_of(tree)] == ["a", "b", "c"]
    assert categories_of(tree)[1].parents == ("a",)
    assert [c.name for c in listed] == ["a", "Bees", "c"]


def test_categories_that_do_not_fit():
    with pytest.raises(Mistake, match="'a' is there twice"):
        taxonomy_of([Category("a"), Category("a")])
    with pytest.raises(Mistake, match="parent 'x', which is not among"):
        taxonomy_of([Category("a", parents=("x",))])
