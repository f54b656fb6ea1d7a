"""Packed numbers come back, and take the bytes the slow version gives them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import words_of
from classmark.index import kernels_postings as fast
from classmark.index.postings import (
    ColumnReader,
    PackedColumn,
    pack_lists,
    unpack_lists,
)
from oracles import packing as slow

small = st.integers(0, 3)
numbers = st.lists(
    st.lists(st.one_of(small, small, small, st.integers(0, 2**56 - 1)), max_size=300),
    max_size=4,
)


@st.composite
def postings(draw):
    gaps = draw(st.lists(st.one_of(small, small, st.integers(0, 10**6)), max_size=300))
    items = np.cumsum(np.array(gaps, np.int64) + 1) - 1
    counts = st.one_of(st.just(1), st.just(1), st.integers(1, 2**32 - 1))
    return [(int(item), draw(counts)) for item in items]


def bounds(lists):
    ends = np.cumsum([0, *map(len, lists)])
    return ends[:-1].astype(np.int64), ends[1:].astype(np.int64)


def posting_array(lists):
    flat = [(item << 32) + count for pairs in lists for item, count in pairs]
    return np.array(flat, np.uint64)


def room(lists):
    return np.zeros(sum(18 * len(one) + 20 for one in lists) + 8, np.uint8)


@given(numbers)
def test_values_are_packed_as_the_slow_version_packs_them(lists):
    values = np.array([v for one in lists for v in one], np.uint64)
    begins, ends = bounds(lists)
    content, sizes = room(lists), np.zeros(len(lists), np.int64)
    none = np.empty(0, np.int64)
    used = fast.encode_lists(values, begins, ends, words_of(content), sizes, none)
    expected = slow.encode_values(values, begins, ends)
    assert content[:used].tobytes() == b"".join(expected)
    assert sizes.tolist() == [len(one) for one in expected]


@given(numbers)
def test_values_come_back(lists):
    values = np.array([v for one in lists for v in one], np.uint64)
    begins, ends = bounds(lists)
    packed = list(pack_lists(values, begins, ends, postings=False))
    content = b"".join(part[1].tobytes() for part in packed) + bytes(8)
    sizes = np.concatenate([np.empty(0, np.int64), *(part[2] for part in packed)])
    starts = np.cumsum(sizes) - sizes
    array = np.frombuffer(content, np.uint8)
    found = unpack_lists(array, starts, ends - begins, np.uint64)
    assert np.array_equal(found.items, values)
    assert slow.decode_values(content, starts, ends - begins) == lists


@given(st.lists(postings(), max_size=4))
def test_lists_are_packed_as_the_slow_version_packs_them(lists):
    begins, ends = bounds(lists)
    content = room(lists)
    sizes, totals = np.zeros(len(lists), np.int64), np.zeros(len(lists), np.int64)
    used = fast.encode_lists(
        posting_array(lists), begins, ends, words_of(content), sizes, totals
    )
    expected, sums = slow.encode_lists(lists)
    assert content[:used].tobytes() == b"".join(expected)
    assert totals.tolist() == sums


@given(st.lists(postings(), max_size=4))
def test_lists_come_back(lists):
    begins, ends = bounds(lists)
    array = posting_array(lists)
    packed = list(pack_lists(array, begins, ends, postings=True))
    content = b"".join(part[1].tobytes() for part in packed) + bytes(8)
    sizes = np.concatenate([np.empty(0, np.int64), *(part[2] for part in packed)])
    starts = np.cumsum(sizes) - sizes
    found = unpack_lists(np.frombuffer(content, np.uint8), starts, ends - begins)
    pairs = list(zip(found.items.tolist(), found.counts.tolist(), strict=True))
    assert pairs == [pair for one in lists for pair in one]
    assert slow.decode_lists(content, starts, ends - begins) == lists


def test_decoding_kernels_equal_their_slow_versions():
    rng = np.random.default_rng(1)
    items = np.sort(rng.choice(10**6, 1000, replace=False))
    lists = [
        [(int(i), int(c)) for i, c in zip(items, rng.integers(1, 9, 1000), strict=True)]
    ]
    content = slow.encode_lists(lists)[0][0] + bytes(8)
    words = words_of(np.frombuffer(content, np.uint8))
    zero, size = np.zeros(1, np.int64), np.array([1000])
    found, counts = np.zeros(1000, np.uint32), np.zeros(1000, np.uint32)
    fast.decode_lists(words, zero, size, zero, found, counts)
    assert list(zip(found.tolist(), counts.tolist(), strict=True)) == lists[0]
    content = slow.encode_values(items, [0], [1000])[0] + bytes(8)
    words = words_of(np.frombuffer(content, np.uint8))
    fast.decode_lists(words, zero, size, zero, found, np.empty(0, np.uint32))
    assert found.tolist() == items.tolist()


def test_one_large_gap_does_not_make_a_block_wide():
    even = [(i, 1) for i in range(127)]
    plain = len(slow.encode_lists([[*even, (127, 1)]])[0][0])
    begins, ends = bounds([[*even, (10**9, 1)]])
    content, sizes = room([even * 2]), np.zeros(1, np.int64)
    array = posting_array([[*even, (10**9, 1)]])
    fast.encode_lists(array, begins, ends, words_of(content), sizes, sizes.copy())
    assert sizes[0] <= plain + 6


@given(st.lists(st.lists(st.integers(0, 2**40), max_size=200), max_size=5))
def test_a_column_does_not_show_how_it_came(pieces):
    values = [value for piece in pieces for value in piece]
    column, whole = PackedColumn(), PackedColumn()
    taken = [column.take(np.array(piece, np.uint64)) for piece in pieces]
    content = np.concatenate([*taken, column.rest()])
    once = np.concatenate([whole.take(np.array(values, np.uint64)), whole.rest()])
    assert content.tobytes() == once.tobytes()
    assert ColumnReader(content, len(values)).read(len(values)).tolist() == values
