"""The bound, its terms, and what a descent costs."""

from math import log, sqrt

import numpy as np
import pytest

from classmark.hierarchies.held_out import Removals, bound
from classmark.hierarchies.places import complexity, complexity_ratio, places_of
from classmark.hierarchies.report import path_costs
from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy

TREE = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2), ("a", 3), ("b", 4)])


def test_the_flat_strategy_is_one_node():
    assert complexity([7]) == 42
    assert complexity_ratio([7], 7) == 1.0
    assert complexity_ratio([], 1) == 1.0


def test_complexity_counts_ordered_pairs_of_sisters():
    places = places_of(TREE, [])
    counted = sum(
        1
        for v in places.inner
        for x in places.daughters(v)
        for z in places.daughters(v)
        if x != z
    )
    assert complexity(places.branching) == counted == 2 + 6


def test_the_bound_is_the_sum_of_its_three_terms():
    found = bound(0.25, 8, 400, norm=0.5, radius=2.0, delta=0.1)
    assert found.empirical == 0.25
    assert found.complexity == pytest.approx(8 * 0.5 * 2.0 / 20 * 8)
    assert found.confidence == pytest.approx(3 * sqrt(log(20) / 800))
    assert found.total == pytest.approx(sum(found))


def test_more_documents_or_fewer_pairs_tighten_the_bound():
    assert bound(0.1, 8, 400).total < bound(0.1, 8, 100).total
    assert bound(0.1, 8, 400).total < bound(0.1, 12, 400).total


@pytest.mark.parametrize("wrong", [{"documents": 0}, {"delta": 0.0}, {"delta": 1.0}])
def test_a_bound_needs_documents_and_a_chance(wrong):
    with pytest.raises(Mistake, match="at least one document"):
        bound(0.1, 8, **{"documents": 10, **wrong})


def test_costs_are_the_daughters_met_on_the_way_down():
    places = places_of(TREE, [])
    by_name = dict(zip(places.classes, path_costs(places).tolist(), strict=True))
    assert by_name == {1: 5, 2: 5, 3: 5, 4: 3}


def test_several_roots_are_chosen_among_too():
    places = places_of(Taxonomy([("a", 1), ("a", 2), ("b", 3)]), [])
    assert places.branching[places.root] == 2
    assert path_costs(places).tolist() == [4, 4, 3]
    assert places.parent[places.roots].tolist() == [places.root] * 2


def test_a_graph_is_counted_as_classifiers_are_built_over_all_parents():
    places = places_of(Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("b", 1)]), [])
    assert places.branching.sum() == len(places.tree.edges) == 4
    assert np.flatnonzero(places.branching).tolist() == [0, 1, 2]
    built = Removals(places, np.zeros((0, 1))).daughters
    assert complexity(places.branching) == complexity([*map(len, built.values())])
