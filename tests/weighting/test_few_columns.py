"""One text among many terms is weighed as all of them are."""

import numpy as np
import pytest

from classmark.arrays import rows_from, take
from classmark.corpus.counting import statistics
from classmark.weighting.vectorizer import WEIGHTINGS, weigh


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_a_few_rows_are_as_they_are_among_many(weighting):
    rng = np.random.default_rng(0)
    counts = rows_from(rng.poisson(0.4, (200, 300)).astype(np.float64))
    known = statistics(counts)
    many = weigh(counts, known, weighting)
    few = weigh(take(counts, np.array([3])), known, weighting)
    columns, values = few.row(0)
    assert few.nnz < few.width <= many.nnz
    assert np.array_equal(columns, many.row(3)[0])
    assert np.array_equal(values, many.row(3)[1])
