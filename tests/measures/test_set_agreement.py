"""Agreement of people who give each document several labels."""

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from classmark.measures.significance import (
    cohen_kappa,
    jaccard_distance,
    kappa_of,
    krippendorff_alpha,
    masi_distance,
)
from classmark.problems import Mistake
from oracles import agreement as slow

GOLDEN = json.loads((Path(__file__).parent.parent / "golden/measures.json").read_text())
SETS = st.frozensets(st.sampled_from("abcd"), max_size=3)


def two_of(table):
    """The decisions of two people that a table counts."""
    first, second = [], []
    for row, counts in enumerate(table):
        for column, count in enumerate(counts):
            first += [row] * count
            second += [column] * count
    return first, second


@pytest.mark.parametrize("name", ["artstein_poesio", "cohen"])
def test_kappas_of_the_books(name):
    golden = GOLDEN[name]
    assert kappa_of(golden["table"]) == pytest.approx(golden["kappa"], abs=6e-4)
    assert cohen_kappa(*two_of(golden["table"])) == pytest.approx(
        kappa_of(golden["table"])
    )


def test_alpha_with_the_distance_of_the_survey():
    golden = GOLDEN["artstein_poesio"]
    alpha = krippendorff_alpha(
        two_of(golden["table"]), lambda a, b: golden["distance"][a][b]
    )
    assert alpha == pytest.approx(golden["alpha"], abs=1e-4)
    ratio = golden["observed_disagreement"] / golden["expected_disagreement"]
    assert alpha == pytest.approx(1 - ratio, abs=1e-4)


def test_the_documented_distance_of_masi():
    golden = GOLDEN["masi"]
    assert masi_distance(*map(set, golden["sets"])) == pytest.approx(
        golden["distance"], abs=2e-3
    )


@pytest.mark.parametrize("seed", range(5))
def test_kappa_of_a_table_is_that_of_scikit_learn(seed):
    table = np.random.default_rng(seed).integers(0, 30, size=(4, 4))
    expected = cohen_kappa_score(*two_of(table.tolist()))
    assert kappa_of(table) == pytest.approx(expected)


@given(SETS, SETS)
def test_distances_are_those_of_the_oracle(a, b):
    assert jaccard_distance(a, b) == pytest.approx(slow.jaccard(a, b))
    assert masi_distance(a, b) == pytest.approx(slow.masi(a, b))
    assert 0 <= jaccard_distance(a, b) <= masi_distance(a, b) <= 1


@given(
    st.integers(2, 4).flatmap(
        lambda people: st.lists(
            st.lists(st.none() | SETS, min_size=people, max_size=people), min_size=2
        )
    )
)
def test_alpha_is_that_of_the_oracle(items):
    decisions = list(zip(*items, strict=True))
    pairable = [
        value
        for item in items
        if sum(value is not None for value in item) >= 2
        for value in item
        if value is not None
    ]
    if len(set(pairable)) < 2:
        return
    for name in ("nominal", "jaccard", "masi"):
        expected = slow.alpha(decisions, getattr(slow, name))
        assert krippendorff_alpha(decisions, name) == pytest.approx(expected)
        by_function = krippendorff_alpha(decisions, getattr(slow, name))
        assert by_function == pytest.approx(expected)


def test_of_single_labels_all_distances_are_the_nominal_one():
    rng = np.random.default_rng(3)
    plain = rng.choice(list("xyz"), size=(3, 40)).tolist()
    sets = [[frozenset(label) for label in person] for person in plain]
    for name in ("jaccard", "masi"):
        expected = krippendorff_alpha(plain)
        assert krippendorff_alpha(sets, name) == pytest.approx(expected)


def test_partial_agreement_counts_between_all_and_nothing():
    ab, b, c = map(frozenset, ("ab", "b", "c"))
    apart = [[ab, b, c], [c, c, b]]
    near = [[ab, b, c], [b, b, c]]
    same = [[ab, b, c], [ab, b, c]]
    values = [krippendorff_alpha(each, "masi") for each in (apart, near, same)]
    assert values == sorted(values)
    assert all(low < high for low, high in combinations(values, 2))
    assert values[-1] == 1


def test_mistakes_are_named():
    with pytest.raises(Mistake, match="distance is 'dice': use nominal"):
        krippendorff_alpha([[1, 2], [1, 2]], "dice")
    with pytest.raises(Mistake, match="1 is no set"):
        krippendorff_alpha([[1, 2], [1, 2]], "masi")
    with pytest.raises(Mistake, match="give a square of counts"):
        kappa_of([[1, 2]])
    assert math.isnan(kappa_of([[5, 0], [0, 0]]))
