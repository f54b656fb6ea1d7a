"""Laws are found again where they were put in, and the published conditions hold."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import rows_from
from classmark.corpus.power_laws import power_law
from classmark.hierarchies.places import places_of
from classmark.hierarchies.report import (
    condition,
    feature_counts,
    nabla,
)
from classmark.taxonomy.tree import Taxonomy


@given(st.floats(0.2, 3.0), st.floats(1.0, 1e4), st.integers(3, 200), st.randoms())
def test_a_law_is_found_again_in_any_order(beta, head, ranks, chance):
    values = [head * rank**-beta for rank in range(1, ranks + 1)]
    chance.shuffle(values)
    law = power_law(values)
    assert law.exponent == pytest.approx(beta)
    assert law.head == pytest.approx(head)
    assert law.fit == pytest.approx(1.0)
    np.testing.assert_allclose(law.at([1, ranks]), [max(values), min(values)])


def test_noise_moves_the_exponent_little():
    rng = np.random.default_rng(0)
    ranks = np.arange(1, 401)
    values = 1e4 * ranks**-1.3 * np.exp(rng.normal(0, 0.2, 400))
    law = power_law(values)
    assert law.exponent == pytest.approx(1.3, abs=0.1)
    assert 0.9 < law.fit < 1.0


def test_few_or_empty_values_have_no_law():
    assert power_law([5, 4]) is None
    assert power_law([5, 4, 0, 0]) is None
    flat = power_law([3, 3, 3])
    assert flat.exponent == pytest.approx(0)
    assert flat.fit == 1.0


@pytest.mark.parametrize(
    ("leaves", "b", "levels", "published", "beta"),
    [
        (12_294, 344, 5, 1.12, 1.62),  # LSHTC1-large
        (1_789, 55, 5, 1.14, 1.35),  # LSHTC2-a
        (3_672, 77, 5, 1.09, 1.53),  # LSHTC2-b
        (451, 34, 3, 1.17, 2.03),  # IPC
    ],
)
def test_the_published_conditions_are_met(leaves, b, levels, published, beta):
    assert nabla(leaves, b, levels) == pytest.approx(published, abs=0.01)
    assert condition(beta, leaves, b, levels).holds


def test_conditions_fail_where_they_should():
    assert nabla(100, 50, 4) == inf
    assert not condition(5.0, 100, 50, 4).holds
    assert not condition(1.0, 10_000, 10, 3).holds
    assert not condition(0.5, 10_000, 1, 3).holds
    assert condition(0.5, 100_000, 10, 3).holds
    assert not condition(0.5, 20, 10, 3).holds


@given(st.floats(0.05, 0.95), st.integers(2, 40), st.integers(2, 6))
def test_below_one_the_condition_is_the_sum_of_a_geometric_series(beta, b, levels):
    series = sum(b ** (at * (1 - beta)) for at in range(levels - 1))
    leaves = 2 * series * b / (1 - beta)
    assert condition(beta, int(leaves) + 1, b, levels).holds
    assert not condition(beta, int(leaves / 4), b, levels).holds


def synthetic(beta, groups=12, leaves=4):
    """A tree whose g-th group has about 900 · g^−beta features, all of them used."""
    edges, y, rows = [], [], []
    for group in range(groups):
        edges += [("r", f"g{group}")]
        edges += [(f"g{group}", (group, leaf)) for leaf in range(leaves)]
        width = round(900 * (group + 1) ** -beta)
        for leaf in range(leaves):
            row = np.zeros(900)
            row[leaf:width:leaves] = 1.0
            rows.append(row)
            y.append((group, leaf))
    return Taxonomy(edges), np.array(rows), y


@pytest.mark.parametrize("beta", [0.5, 0.9, 1.4])
def test_sizes_foretold_are_near_those_measured(beta):
    tree, X, y = synthetic(beta)
    shape = feature_counts(places_of(tree, y), rows_from(X))
    assert shape.levels == 2
    assert shape.exponent == pytest.approx(beta, abs=0.03)
    assert shape.flat_size == 48 * 900
    groups = sum(round(900 * rank**-beta) for rank in range(1, 13))
    assert shape.top_down_size == 12 * 900 + 4 * groups
    assert shape.foretold_size() == pytest.approx(shape.top_down_size, rel=0.02)


def test_features_of_a_node_are_those_of_all_below_it():
    tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    X = [[1.0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    shape = feature_counts(places_of(tree, [1, 2, "b"]), rows_from(X))
    by_name = dict(zip(tree.nodes, shape.features.tolist(), strict=True))
    assert by_name == {"r": 3, "a": 3, "b": 0, 1: 2, 2: 2}
    assert shape.width == 3
    assert shape.exponent is None
    assert shape.foretold_size() == shape.top_down_size == 2 * 3 + 2 * 3
