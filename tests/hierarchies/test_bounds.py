"""The bound, its terms, and what a descent costs."""

from math import exp, inf, log, sqrt

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.hierarchies.held_out import Removals, bound, node_bounds
from classmark.hierarchies.places import complexity, complexity_ratio, places_of
from classmark.hierarchies.report import feature_counts, path_costs
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


def direct_logistic(K, m, d, epsilon=1.0):
    return d * d * K / (m * epsilon**2)


def direct_bayes(K, m, d, n_min, n_max, longest, epsilon=1.0):
    C = (1 + longest) ** 2
    shared = C * (d + n_max) ** 2
    return 2 * K * exp(-2 * epsilon**2 * m / shared) + 2 * d * exp(
        -2 * epsilon**2 * n_min / shared
    )


def test_the_second_theorem_is_the_formula_at_every_node():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 6)).astype(float)
    X[:, 5] = 0
    y = rng.integers(1, 4, 40).tolist()
    places = places_of(TREE, y)
    rows = rows_from(X)
    features = feature_counts(places, rows).features
    bounds = {bound.node: bound for bound in node_bounds(places, rows, features, 2.0)}
    assert set(bounds) == {"r", "a", "b"}
    assert (bounds["a"].parent, bounds["r"].parent) == ("r", None)
    sizes = [X[[label == at for label in y]].sum() for at in (1, 2, 3)]
    longest = X.sum(axis=1).max()
    a = bounds["a"]
    assert (a.daughters, a.documents, a.features) == (3, 40, 5)
    assert (a.n_min, a.n_max) == (min(sizes), max(sizes))
    assert a.logistic == pytest.approx(direct_logistic(3, 40, 5, 2.0))
    risk = direct_bayes(3, 40, 5, min(sizes), max(sizes), longest, 2.0)
    assert a.naive_bayes == pytest.approx(risk)
    assert a.logistic_needs == pytest.approx(a.logistic / 0.05)
    f = a.naive_bayes_needs
    needed = direct_bayes(3, 40 * f, 5, min(sizes) * f, max(sizes), longest, 2.0)
    assert needed == pytest.approx(0.05)
    b = bounds["b"]
    assert (b.documents, b.logistic, b.naive_bayes_needs) == (0, inf, inf)


def test_enough_documents_and_the_second_theorem_says_something():
    places = places_of(Taxonomy([("r", 1), ("r", 2)]), [1, 2] * 500)
    X = np.ones((1000, 1))
    (bound,) = node_bounds(places, X, np.array([1, 1, 1]), 30.0)
    assert bound.logistic < 0.05
    assert bound.logistic_needs < 1
    assert bound.naive_bayes == pytest.approx(direct_bayes(2, 1e3, 1, 500, 500, 1, 30))
    (bound,) = node_bounds(places, X, np.array([1, 1, 1]), 100.0)
    assert bound.naive_bayes_needs < 1


def test_several_roots_have_a_node_above_them():
    places = places_of(Taxonomy([("a", 1), ("a", 2), ("b", 3)]), [1, 2, 3])
    bounds = node_bounds(places, np.eye(3), np.full(places.size, 3))
    assert bounds[0].node is None
    assert {bound.parent for bound in bounds[1:]} == {None}
