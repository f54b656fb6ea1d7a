"""The inverting kernels equal their slow versions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from classmark.index import kernels_postings as fast
from oracles import inverting as slow

TOKENS, TERMS, GONE = 6, 4, fast.GONE
number_lists = st.lists(st.integers(0, TERMS), min_size=TOKENS, max_size=TOKENS)
tokens = st.integers(0, TOKENS - 1)
counted_rows = st.lists(
    st.lists(st.tuples(tokens, st.integers(1, 255)), max_size=6), max_size=5
)


def chunk(rows):
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    columns = np.array([token for row in rows for token, _ in row], np.uint32)
    counts = np.array([count for row in rows for _, count in row], np.uint8)
    return starts, columns, counts


def pairs_of(postings, begins, ends):
    return [
        [(int(p) >> 32, int(p) & 0xFFFFFFFF) for p in postings[begin:end]]
        for begin, end in zip(begins, ends, strict=True)
    ]


@given(counted_rows, number_lists, st.integers(0, 9))
def test_entries_are_sorted_by_term(rows, number, first):
    starts, columns, counts = chunk(rows)
    terms = np.array(number, np.uint32)
    entries, lengths = np.zeros(TERMS + 1, np.int64), np.zeros(len(rows), np.uint32)
    fast.count_entries(starts, columns, counts, terms, entries, lengths)
    expected = slow.count_entries(rows, number, TERMS)
    assert (entries.tolist(), lengths.tolist()) == expected
    begins = np.concatenate([[0], np.cumsum(entries[:-1])])[:-1].astype(np.int64)
    ends, postings = begins.copy(), np.zeros(entries.sum(), np.uint64)
    fast.scatter_entries(starts, columns, counts, terms, first, begins, ends, postings)
    found = pairs_of(postings, begins, ends)
    assert found == slow.scatter_entries(rows, number, first, TERMS)


@given(st.lists(st.lists(tokens, max_size=8), max_size=5), number_lists)
def test_places_are_gaps_within_a_document(rows, number):
    starts, columns, _ = chunk([[(token, 1) for token in row] for row in rows])
    expected = slow.scatter_places(rows, number, 3, TERMS)
    begins = np.cumsum([0, *map(len, expected)])[:-1].astype(np.int64)
    ends, gaps = begins.copy(), np.zeros(len(columns), np.uint32)
    seen = np.full((TERMS, 2), -1, np.int64)
    terms = np.array(number, np.uint32)
    fast.scatter_places(starts, columns, terms, 3, seen, ends, gaps)
    pairs = zip(begins, ends, strict=True)
    assert [gaps[begin:end].tolist() for begin, end in pairs] == expected


@st.composite
def sources(draw):
    """Draw lists, the numbers they get, what items become, and gaps of places."""
    items = st.lists(st.integers(0, 7), unique=True, max_size=5).map(sorted)
    counts = st.integers(1, 3)
    lists = [
        [(item, draw(counts)) for item in draw(items)]
        for _ in range(draw(st.integers(0, TERMS)))
    ]
    numbers = draw(st.permutations(range(TERMS)))[: len(lists)]
    new = st.lists(st.sampled_from([0, 1, 5, GONE]), min_size=8, max_size=8)
    return lists, numbers, draw(st.one_of(st.just([]), new))


def decoded(lists):
    flat = [pair for one in lists for pair in one]
    ends = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return (
        np.array([item for item, _ in flat], np.uint32),
        np.array([count for _, count in flat], np.uint32),
        ends[:-1],
        ends[1:],
    )


@given(sources(), st.integers(0, 100))
def test_lists_are_appended(source, shift):
    lists, numbers, new = source
    begins = np.arange(TERMS, dtype=np.int64) * 8
    ends, postings = begins.copy(), np.zeros(TERMS * 8, np.uint64)
    given_numbers = np.array(numbers, np.int64)
    renumbered = np.array(new, np.uint32)
    fast.append_lists(decoded(lists), given_numbers, shift, renumbered, ends, postings)
    expected = slow.append_lists(
        lists, numbers, shift, new, GONE, [[] for _ in range(TERMS)]
    )
    assert pairs_of(postings, begins, ends) == expected


@given(sources())
def test_places_are_appended(source):
    lists, numbers, new = source
    gaps = list(range(sum(count for one in lists for _, count in one)))
    begins = np.arange(TERMS, dtype=np.int64) * 24
    ends, found = begins.copy(), np.zeros(TERMS * 24, np.uint32)
    fast.append_places(
        decoded(lists),
        np.array(numbers, np.int64),
        np.array(new, np.uint32),
        np.array(gaps, np.uint32),
        ends,
        found,
    )
    into = [[] for _ in range(TERMS)]
    expected = slow.append_places(lists, numbers, new, GONE, gaps, into)
    pairs = zip(begins, ends, strict=True)
    assert [found[begin:end].tolist() for begin, end in pairs] == expected


@given(st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=5), max_size=5))
def test_gaps_become_places(gaps):
    flat = [gap for one in gaps for gap in one]
    counts = [len(one) for one in gaps]
    places = np.zeros(len(flat), np.uint32)
    fast.places_of(np.array(counts, np.uint32), np.array(flat, np.uint32), places)
    assert places.tolist() == slow.places_of(counts, flat)


@given(sources(), st.lists(st.booleans(), min_size=8, max_size=8))
def test_what_is_gone_is_counted(source, gone):
    lists = source[0]
    frequency, total = np.zeros(len(lists), np.int64), np.zeros(len(lists), np.int64)
    fast.tally_gone(decoded(lists), np.array(gone), frequency, total)
    assert (frequency.tolist(), total.tolist()) == slow.tally_gone(lists, gone)
