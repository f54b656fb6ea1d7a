"""Choosing C without looking at the test set."""

import numpy as np
import pytest

from classmark import PreferenceRanker
from classmark.evaluation.evaluate import select_cost
from classmark.problems import Mistake


def test_the_least_cost_is_chosen_and_a_useless_c_is_not():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((4, 20))
    X = rng.standard_normal((120, 20))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = np.eye(4)[(X @ truth.T).argmax(axis=1)]
    found = select_cost(PreferenceRanker(), X, Y, [1e-4, 1.0, 100.0], 4)
    assert found.C != 1e-4
    assert found.costs.min() == found.costs[found.Cs.index(found.C)]
    assert found.Cs == (1e-4, 1.0, 100.0)


def test_a_function_has_no_cost_of_its_own():
    with pytest.raises(Mistake, match="by name"):
        select_cost(PreferenceRanker(lambda g: [g.edges()]), [[1.0]], [[0]])
