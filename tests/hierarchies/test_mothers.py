"""Which inner nodes have a node among their daughters, and the words on the way."""

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.hierarchies.nodes import NOWHERE
from classmark.hierarchies.top_down import TopDownClassifier, best_path, path_parts
from classmark.taxonomy.tree import Taxonomy

EDGES = [
    ("root", "a"), ("root", "b"), ("a", 1), ("a", 2), ("b", 3), ("b", "c"),
    ("c", 4), ("c", 5), ("a", "c"),
]  # fmt: skip


@pytest.fixture(params=["svm", "naive-bayes"])
def model(request):
    rng = np.random.default_rng(1)
    y = rng.integers(1, 6, 60)
    X = rng.random((60, 12)) * (rng.random((60, 12)) < 0.5)
    X[np.arange(60), y] += 2.0
    return TopDownClassifier(Taxonomy(EDGES), base=request.param).fit(X, y.tolist())


def test_mothers_are_those_that_have_it(model):
    trained = model.trained_
    starts, codes = trained.arrays[:2]
    for code in {*codes.tolist(), 99}:
        expected = [
            at
            for at in range(len(starts) - 1)
            if code in codes[starts[at] : starts[at + 1]].tolist()
        ]
        assert trained.mothers.get(code, []) == expected


def test_parts_are_those_of_the_formula(model):
    columns, values = rows_from(np.linspace(0.1, 2.0, 12)[None]).row(0)
    for leaf in range(len(model.classes_)):
        expected = np.zeros(12)
        for at, j in best_path(model.trained_, columns, values, leaf, 1.0):
            piece = model.trained_.piece(at)
            known = piece.bias > NOWHERE / 2
            for p, feature in enumerate(piece.features.tolist()):
                weights = np.array(piece.slope)
                mine = slice(int(piece.offsets[p]), int(piece.offsets[p + 1]))
                weights[piece.daughter[mine]] += piece.weight[mine]
                lead = weights[j] - weights[known].mean()
                expected[feature] += values[feature] * lead
        found = path_parts(model.trained_, columns, values, leaf, 1.0)
        assert found == pytest.approx(expected, abs=1e-9)
