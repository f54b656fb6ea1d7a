"""Counts of violated groups against the groups themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.measures.categories import violated_groups
from classmark.preferences.graph import PreferenceGraph, decompose
from classmark.preferences.labels import levels_from
from classmark.problems import Mistake

NAMES = {
    "dis": ["disagreement"],
    "dom": ["domination"],
    "dme": ["dominated"],
    "dom-dme": ["domination", "dominated"],
}


@pytest.mark.parametrize("loss", list(NAMES))
@given(seed=st.integers(0, 2**32 - 1))
def test_counts_are_those_of_the_decomposition(loss, seed):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 3, (6, 5)).astype(float)
    scores = rng.integers(0, 4, (6, 5)).astype(float)
    levels = levels_from(Y)
    found = violated_groups(scores, levels, loss)
    for i, level in enumerate(levels.to_scipy().toarray().astype(int)):
        graph = PreferenceGraph(5, levels=level)
        groups = [g for name in NAMES[loss] for g in decompose(graph, name)]
        wrong = [any(scores[i, u] <= scores[i, v] for u, v in g) for g in groups]
        assert found[i] == sum(wrong)


def test_the_papers_example_of_two_mappings():
    """Three categories, the first is right and ranked last: cost 1, or 2 by pairs."""
    levels, scores = levels_from([[0]], n_labels=3), np.array([[0.1, 0.2, 0.3]])
    assert violated_groups(scores, levels, "dom").tolist() == [1.0]
    assert violated_groups(scores, levels, "dis").tolist() == [2.0]


def test_svm_counts_labels_on_the_wrong_side():
    levels = levels_from([[0], [1]], n_labels=2)
    scores = np.array([[0.5, 0.5], [-1.0, 1.0]])
    assert violated_groups(scores, levels, "svm").tolist() == [1.0, 0.0]


def test_an_unknown_mapping_is_told():
    with pytest.raises(Mistake, match="'total'"):
        violated_groups(np.zeros((1, 1)), levels_from([[0]]), "total")
