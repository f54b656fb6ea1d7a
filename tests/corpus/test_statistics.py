"""Statistics of a collection."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from classmark.arrays import rows_from
from classmark.corpus import counting as module
from classmark.corpus.counting import statistics

COUNTS = arrays(np.float64, (6, 4), elements=st.integers(0, 3).map(float))


@given(COUNTS)
def test_statistics_are_sums_over_documents(counts):
    known = statistics(rows_from(counts))
    assert known.documents == 6
    assert known.tokens == counts.sum()
    assert known.postings == (counts > 0).sum()
    assert known.document_frequency.tolist() == (counts > 0).sum(0).tolist()
    assert known.collection_frequency.tolist() == counts.sum(0).tolist()
    assert known.average_unique == (counts > 0).sum() / 6


def test_the_empty_collection_has_no_average():
    empty = statistics(rows_from(np.zeros((0, 3))))
    assert empty.average_unique == 0.0


def test_large_blocks_are_counted_in_steps(monkeypatch):
    counts = np.random.default_rng(3).integers(0, 3, (50, 4)).astype(float)
    monkeypatch.setattr(module, "_BLOCK", 7)
    known = statistics(rows_from(counts))
    assert known.collection_frequency.tolist() == counts.sum(0).tolist()
