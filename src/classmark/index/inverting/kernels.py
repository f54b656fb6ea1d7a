"""Counting sort of entries (document, token, count) by term, then document.

A posting is item · 2³² + count. ``number`` maps tokens to terms; a token that is not
kept has the number of terms. Chunks are those of ``classmark.corpus.table``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Bools, Ints
from classmark.compiled import compiled

GONE = 0xFFFFFFFF
_ONE, _LOW = np.uint64(1), np.uint64(0xFFFFFFFF)
_FAR = np.uint64(32)


@compiled
def count_entries(
    rows: Ints,
    columns: NDArray[np.uint32],
    counts: NDArray[np.uint8],
    number: NDArray[np.uint32],
    entries: Ints,
    lengths: NDArray[np.uint32],
) -> None:
    """Count the entries of each term, and the occurrences kept of each document.

    entries : int64, shape (terms + 1,), added to;  lengths : uint32, shape (rows,).
    """
    dropped = np.uint32(len(entries) - 1)
    for row in range(len(rows) - 1):
        length = np.uint32(0)
        for entry in range(rows[row], rows[row + 1]):
            term = number[columns[entry]]
            entries[term] += 1
            if term != dropped:
                length += np.uint32(counts[entry])
        lengths[row] = length


@compiled
def scatter_entries(
    rows: Ints,
    columns: NDArray[np.uint32],
    counts: NDArray[np.uint8],
    number: NDArray[np.uint32],
    first: int,
    begins: Ints,
    ends: Ints,
    postings: NDArray[np.uint64],
) -> None:
    """Append the entries of documents ``first``, ``first + 1``, … to the lists.

    Entries of one document and one term add up. List ``t`` is ``begins[t]`` to
    ``ends[t]``, which moves on.
    """
    dropped = np.uint32(len(begins))
    for row in range(len(rows) - 1):
        item = np.uint64(first + row)
        for entry in range(rows[row], rows[row + 1]):
            term = number[columns[entry]]
            if term == dropped:
                continue
            count, at = np.uint64(counts[entry]), np.uint64(ends[term])
            if ends[term] > begins[term] and postings[at - _ONE] >> _FAR == item:
                postings[at - _ONE] += count
            else:
                postings[at] = item << _FAR | count
                ends[term] += 1


@compiled
def scatter_places(
    rows: Ints,
    columns: NDArray[np.uint32],
    number: NDArray[np.uint32],
    first: int,
    seen: Ints,
    ends: Ints,
    gaps: NDArray[np.uint32],
) -> None:
    """Append the place of each occurrence, as a gap within its document, to the lists.

    The first place in a document stands as it is, the others less the one before, less
    one. ``seen`` (terms, 2) remembers the last document and place of each term.
    """
    dropped = np.uint32(len(ends))
    for row in range(len(rows) - 1):
        for entry in range(rows[row], rows[row + 1]):
            term = number[columns[entry]]
            if term == dropped:
                continue
            place = entry - rows[row]
            is_first = seen[term, 0] != first + row
            gaps[ends[term]] = place if is_first else place - seen[term, 1] - 1
            ends[term] += 1
            seen[term, 0], seen[term, 1] = first + row, place


@compiled
def append_lists(
    lists: Any,
    numbers: Ints,
    shift: int,
    renumbered: NDArray[np.uint32],
    ends: Ints,
    postings: NDArray[np.uint64],
) -> None:
    """Append decoded lists (items, counts, begins, ends) to those of other numbers.

    An item becomes ``renumbered[item] + shift``, and vanishes where that is GONE; with
    ``renumbered`` empty it becomes item + shift.
    """
    items, counts, begins, stops = lists
    for which in range(len(numbers)):
        at = np.uint64(ends[numbers[which]])
        for entry in range(begins[which], stops[which]):
            item = items[entry]
            if len(renumbered) > 0:
                item = renumbered[item]
                if item == np.uint32(GONE):
                    continue
            where = np.uint64(item) + np.uint64(shift)
            postings[at] = where << _FAR | np.uint64(counts[entry])
            at += _ONE
        ends[numbers[which]] = at


@compiled
def append_places(
    lists: Any,
    numbers: Ints,
    renumbered: NDArray[np.uint32],
    source: NDArray[np.uint32],
    ends: Ints,
    gaps: NDArray[np.uint32],
) -> None:
    """Append the places of decoded lists, in their order, as ``append_lists`` does."""
    items, counts, begins, stops = lists
    place = 0
    for which in range(len(numbers)):
        at = ends[numbers[which]]
        for entry in range(begins[which], stops[which]):
            is_kept = True
            if len(renumbered) > 0:
                is_kept = renumbered[items[entry]] != np.uint32(GONE)
            if is_kept:
                for i in range(np.int64(counts[entry])):
                    gaps[at] = source[place + i]
                    at += 1
            place += int(counts[entry])
        ends[numbers[which]] = at


@compiled
def places_of(
    counts: NDArray[np.uint32], gaps: NDArray[np.uint32], places: NDArray[np.uint32]
) -> None:
    """Turn gaps back into places: the postings have ``counts[i]`` of them each."""
    at = 0
    for entry in range(len(counts)):
        expected = np.uint32(0)
        for _ in range(np.int64(counts[entry])):
            places[at] = gaps[at] + expected
            expected = places[at] + np.uint32(1)
            at += 1


@compiled
def tally_gone(
    lists: Any,
    gone: Bools,
    frequency: Ints,
    total: Ints,
) -> None:
    """Count the postings, and the occurrences, that each list has in items gone."""
    items, counts, begins, stops = lists
    for which in range(len(begins)):
        for entry in range(begins[which], stops[which]):
            if gone[items[entry]]:
                frequency[which] += 1
                total[which] += np.int64(counts[entry])
