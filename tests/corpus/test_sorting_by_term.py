"""Entries of a chunk are sorted by term as the slow way sorts them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from classmark.corpus import kernels as fast
from classmark.corpus.counting import Chunk
from oracles import inverting as slow

TOKENS, TERMS = 6, 4
number_lists = st.lists(st.integers(0, TERMS), min_size=TOKENS, max_size=TOKENS)
tokens = st.integers(0, TOKENS - 1)
counted_rows = st.lists(
    st.lists(st.tuples(tokens, st.integers(1, 255)), max_size=6), max_size=5
)


def chunk(rows):
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    columns = np.array([token for row in rows for token, _ in row], np.uint32)
    counts = np.array([count for row in rows for _, count in row], np.uint8)
    return Chunk(starts, columns, counts)


def pairs_of(postings, begins, ends):
    return [
        [(int(p) >> 32, int(p) & 0xFFFFFFFF) for p in postings[begin:end]]
        for begin, end in zip(begins, ends, strict=True)
    ]


@given(counted_rows, number_lists, st.integers(0, 9))
def test_entries_are_sorted_by_term(rows, number, first):
    entered = chunk(rows)
    terms = np.array(number, np.uint32)
    entries, lengths = np.zeros(TERMS + 1, np.int64), np.zeros(len(rows), np.uint32)
    fast.count_entries(entered, terms, entries, lengths)
    expected = slow.count_entries(rows, number, TERMS)
    assert (entries.tolist(), lengths.tolist()) == expected
    begins = np.concatenate([[0], np.cumsum(entries[:-1])])[:-1].astype(np.int64)
    ends, postings = begins.copy(), np.zeros(entries.sum(), np.uint64)
    fast.scatter_entries(entered, terms, first, begins, ends, postings)
    found = pairs_of(postings, begins, ends)
    assert found == slow.scatter_entries(rows, number, first, TERMS)


@given(st.lists(st.lists(tokens, max_size=8), max_size=5), number_lists)
def test_places_are_gaps_within_a_document(rows, number):
    entered = chunk([[(token, 1) for token in row] for row in rows])
    expected = slow.scatter_places(rows, number, 3, TERMS)
    begins = np.cumsum([0, *map(len, expected)])[:-1].astype(np.int64)
    ends, gaps = begins.copy(), np.zeros(len(entered.columns), np.uint32)
    seen = np.full((TERMS, 2), -1, np.int64)
    terms = np.array(number, np.uint32)
    fast.scatter_places(entered, terms, 3, seen, ends, gaps)
    pairs = zip(begins, ends, strict=True)
    assert [gaps[begin:end].tolist() for begin, end in pairs] == expected
