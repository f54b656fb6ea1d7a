"""Statistics add up over blocks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from classmark.corpus import counting as module
from classmark.corpus.counting import lengths, statistics, unique_counts
from classmark.sparse import rows_from

COUNTS = arrays(np.float64, (6, 4), elements=st.integers(0, 3).map(float))


@given(COUNTS, st.integers(0, 6))
def test_blocks_add_up(counts, cut):
    whole = statistics(rows_from(counts))
    both = statistics(rows_from(counts[:cut])) + statistics(rows_from(counts[cut:]))
    for known in (whole, both):
        assert known.documents == 6
        assert known.tokens == counts.sum()
        assert known.postings == (counts > 0).sum()
        assert known.document_frequency.tolist() == (counts > 0).sum(0).tolist()
        assert known.collection_frequency.tolist() == counts.sum(0).tolist()
        assert known.average_length == counts.sum() / 6
        assert known.average_unique == (counts > 0).sum() / 6


@given(COUNTS)
def test_lengths(counts):
    rows = rows_from(counts)
    assert lengths(rows).tolist() == counts.sum(1).tolist()
    assert unique_counts(rows).tolist() == (counts > 0).sum(1).tolist()


def test_a_later_block_may_be_wider():
    both = statistics(rows_from([[1.0]])) + statistics(rows_from([[0.0, 2.0]]))
    assert both.document_frequency.tolist() == [1, 1]
    assert both.collection_frequency.tolist() == [1, 2]


def test_the_empty_collection_has_no_averages():
    empty = statistics(rows_from(np.zeros((0, 3))))
    assert (empty.average_length, empty.average_unique) == (0.0, 0.0)


def test_large_blocks_are_counted_in_steps(monkeypatch):
    counts = np.random.default_rng(3).integers(0, 3, (50, 4)).astype(float)
    monkeypatch.setattr(module, "_BLOCK", 7)
    known = statistics(rows_from(counts))
    assert known.collection_frequency.tolist() == counts.sum(0).tolist()
