"""Lists are appended as the slow way appends them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from classmark.index import kernels_postings as fast
from oracles import inverting as slow

TERMS, GONE = 4, fast.GONE


def pairs_of(postings, begins, ends):
    return [
        [(int(p) >> 32, int(p) & 0xFFFFFFFF) for p in postings[begin:end]]
        for begin, end in zip(begins, ends, strict=True)
    ]


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
