"""Postings: words looked up, lists appended, packed and read again.

The hash of a word is FNV-1a's of 32 bits: h ← (h xor byte) · 16777619 mod 2³², from
2166136261 on; it is folded to the table's size, a power of two, and the next free slot
is taken. A slot holds a word's number plus one, 0 where it is free.

A posting is item · 2³² + count; decoded lists are (items, counts, begins, ends).

A block of ``n`` numbers: their common width ``b`` (6 bits); where n ≥ 8, the bits ``e``
that the largest needs more (6 bits) and, if e > 0, how many need more (7 bits); the low
``b`` bits of each number; then, for those that need more, place (7 bits) and high part
(``e`` bits). So one large number does not make the others wide [Zukowski06]. ``words``
is the eight bytes from each place on, seen as one number: it ends seven bytes before
the bytes do, and what is written to comes as zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.kernels import gallop

NEWLINE = 10
_BASIS, _PRIME = np.uint64(2166136261), np.uint64(16777619)
_ONE, _LOW = np.uint64(1), np.uint64(0xFFFFFFFF)
_FOLD = np.uint64(15)


@compiled
def hash_words(words: Any, hashes: Any, bounds: Any) -> int:
    """Hash each word and note where it begins; return how many words there are.

    words : uint8;  hashes : uint64;  bounds : uint64, one more: word i with its newline
    is ``words[bounds[i] : bounds[i + 1]]``.  No more than ``len(hashes)`` are entered.
    """
    n, h = 0, _BASIS
    bounds[0] = 0
    for j in range(np.uint64(len(words))):
        byte = words[j]
        if byte != NEWLINE:
            h = ((h ^ np.uint64(byte)) * _PRIME) & _LOW
            continue
        if n < len(hashes):
            hashes[n] = h ^ (h >> _FOLD)
            bounds[n + 1] = np.uint64(j) + _ONE
        n, h = n + 1, _BASIS
    return n


@compiled
def copy_words(words: Any, bounds: Any, order: Any, out: Any) -> None:
    """Write words in another order."""
    n = 0
    for i in order:
        for j in range(bounds[i], bounds[i + 1]):
            out[n] = words[j]
            n += 1


@compiled
def enter_words(hashes: Any, slots: Any) -> None:
    """Enter all words, which differ, into a table that is empty."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(hashes)):
        at = hashes[i] & mask
        while slots[at] != 0:
            at = (at + _ONE) & mask
        slots[at] = i + 1


@compiled
def find_words(hashes: Any, words: Any, bounds: Any, table: Any, out: Any) -> None:
    """Write the number of each word to ``out``, −1 where it is not in the table.

    table : (slots, its words, their bounds), as ``enter_words`` and ``hash_words`` made
    them.
    """
    slots, held, edges = table
    mask = np.uint64(len(slots) - 1)
    for i in range(len(out)):
        first, size = bounds[i], bounds[i + 1] - bounds[i]
        at = hashes[i] & mask
        found: Any = -1
        while found < 0 and slots[at] != 0:
            number = slots[at] - np.uint32(1)
            begin, same = edges[number], np.uint64(0)
            while same < size and held[begin + same] == words[first + same]:
                same += _ONE
            if same == size:
                found = np.int64(number)
            at = (at + _ONE) & mask
        out[i] = found


GONE = 0xFFFFFFFF
_FAR = np.uint64(32)


@compiled
def append_lists(
    lists: Any, numbers: Any, shift: int, renumbered: Any, ends: Any, postings: Any
) -> None:
    """Append decoded lists to those of other numbers.

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
    lists: Any, numbers: Any, renumbered: Any, source: Any, ends: Any, gaps: Any
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
def places_of(counts: Any, gaps: Any, places: Any) -> None:
    """Turn gaps back into places: the postings have ``counts[i]`` of them each."""
    at = 0
    for entry in range(len(counts)):
        expected = np.uint32(0)
        for _ in range(np.int64(counts[entry])):
            places[at] = gaps[at] + expected
            expected = places[at] + np.uint32(1)
            at += 1


@compiled
def tally_gone(lists: Any, gone: Any, frequency: Any, total: Any) -> None:
    """Count the postings, and the occurrences, that each list has in items gone."""
    items, counts, begins, stops = lists
    for which in range(len(begins)):
        for entry in range(begins[which], stops[which]):
            if gone[items[entry]]:
                frequency[which] += 1
                total[which] += np.int64(counts[entry])


BLOCK = 128
PATCHED = 8
_NONE, _THREE, _SIX, _SEVEN = (np.uint64(n) for n in (0, 3, 6, 7))
_LENGTHS = np.array([n.bit_length() for n in range(256)], np.int64)


@compiled
def _length(value: Any) -> int:
    """Count the bits of a number below 2⁵⁶."""
    bits = 0
    while value > np.uint64(255):
        value >>= np.uint64(8)
        bits += 8
    return bits + int(_LENGTHS[value])


@compiled
def _put(words: Any, at: Any, value: Any) -> None:
    """Write bits where there are zeros."""
    words[at >> _THREE] |= value << (at & _SEVEN)


@compiled
def _get(words: Any, at: Any, width: Any) -> Any:
    """Read ``width`` bits."""
    return (words[at >> _THREE] >> (at & _SEVEN)) & ((_ONE << width) - _ONE)


@compiled
def _best_width(values: Any, n: int, tally: Any) -> tuple[int, int, int]:
    """Return the width that costs least, the largest, and how many are wider."""
    for width in range(len(tally)):
        tally[width] = 0
    for i in range(n):
        tally[_length(values[i])] += 1
    most = 56
    while most > 0 and tally[most] == 0:
        most -= 1
    best, least, beyond = most, n * most, 0
    wider = 0
    for width in range(most - 1, -1, -1):
        if n < PATCHED:
            break
        wider += tally[width + 1]
        cost = n * width + wider * (7 + most - width) + 7
        if wider < BLOCK and cost < least:
            best, least, beyond = width, cost, wider
    return best, most, beyond


@compiled
def _pack(values: Any, n: int, tally: Any, words: Any, at: Any) -> Any:
    """Write one block from bit ``at`` on; return where it ends."""
    best, most, wider = _best_width(values, n, tally)
    width, extra = np.uint64(best), np.uint64(most - best)
    _put(words, at, width)
    at += _SIX
    if n >= PATCHED:
        _put(words, at, extra)
        at += _SIX
        if extra > _NONE:
            _put(words, at, np.uint64(wider))
            at += _SEVEN
    mask = (_ONE << width) - _ONE
    for i in range(n):
        _put(words, at, values[i] & mask)
        at += width
    if extra > _NONE:
        for i in range(n):
            if values[i] > mask:
                _put(words, at, np.uint64(i))
                _put(words, at + _SEVEN, values[i] >> width)
                at += _SEVEN + extra
    return at


@compiled
def _unpack(words: Any, at: Any, values: Any, begin: Any, n: Any) -> Any:
    """Read one block of ``n`` numbers from bit ``at`` on; return where it ends."""
    width, extra, wider = _get(words, at, _SIX), _NONE, _NONE
    at += _SIX
    if n >= np.uint64(PATCHED):
        extra = _get(words, at, _SIX)
        at += _SIX
        if extra > _NONE:
            wider = _get(words, at, _SEVEN)
            at += _SEVEN
    mask = (_ONE << width) - _ONE
    for i in range(begin, begin + n):
        values[i] = (words[at >> _THREE] >> (at & _SEVEN)) & mask
        at += width
    for _ in range(wider):
        place = begin + _get(words, at, _SEVEN)
        values[place] |= _get(words, at + _SEVEN, extra) << width
        at += _SEVEN + extra
    return at


@compiled
def encode_lists(
    values: Any, begins: Any, ends: Any, words: Any, sizes: Any, totals: Any
) -> int:
    """Pack lists of numbers below 2⁵⁶, or of postings where there are ``totals``.

    Postings are item · 2³² + count, items increasing; of each block the gaps between
    items are packed, then the counts. Every block begins at a byte.  Return the bytes
    used, in ``sizes`` those of each list, in ``totals`` Σ counts.
    """
    at, tally, paired = _NONE, np.empty(57, np.int64), len(totals) > 0
    block, counts = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    for which in range(len(begins)):
        start, expected, total = at, _NONE, _NONE
        for begin in range(begins[which], ends[which], BLOCK):
            n = min(BLOCK, ends[which] - begin)
            for i in range(n):
                value = np.uint64(values[begin + i])
                block[i] = value
                if paired:
                    block[i] = (value >> _FAR) - expected
                    expected = (value >> _FAR) + _ONE
                    counts[i] = (value & _LOW) - _ONE
                    total += value & _LOW
            at = _pack(block, n, tally, words, at)
            if paired:
                at = _pack(counts, n, tally, words, at)
            at = (at + _SEVEN) & ~_SEVEN
        sizes[which] = (at - start) >> _THREE
        if paired:
            totals[which] = total
    return int(at >> _THREE)


@compiled
def decode_lists(
    words: Any, starts: Any, lengths: Any, begins: Any, values: Any, counts: Any
) -> int:
    """Unpack lists of ``lengths[i]`` numbers or postings, from byte ``starts[i]`` on.

    List i goes to ``values``, uint32 or uint64, from ``begins[i]`` on; where there are
    ``counts``, these are the items of postings. Return the byte where the last ends.
    """
    at, one, paired = _NONE, np.uint32(1), len(counts) > 0
    for which in range(len(starts)):
        at = np.uint64(starts[which]) << _THREE
        begin, left = np.uint64(begins[which]), np.uint64(lengths[which])
        expected = np.uint32(0)
        while left > _NONE:
            n = min(left, np.uint64(BLOCK))
            at = _unpack(words, at, values, begin, n)
            if paired:
                at = _unpack(words, at, counts, begin, n)
                for i in range(begin, begin + n):
                    values[i] += expected
                    expected = values[i] + one
                    counts[i] += one
            at = (at + _SEVEN) & ~_SEVEN
            begin, left = begin + n, left - n
    return int(at >> _THREE)


LONG = 16  # a list longer than so many postings a document wanted is looked up in


@compiled
def gather(first: int, lists: Any, wanted: Any, slots: Any, out: Any, n: int) -> int:
    """Note (slot, term, count) of each posting of a wanted item; return how many.

    first : the number of the first list's term;  wanted : uint32, increasing;  slots :
    uint32 per item, its place in ``wanted`` plus 1, 0 for others;  out : three columns,
    from row ``n`` on.
    """
    items, counts, begins, ends = lists
    for t in range(len(begins)):
        low, high = begins[t], ends[t]
        if high - low > LONG * len(wanted):
            for slot in range(len(wanted)):
                low = gallop(items, low, high, wanted[slot])
                if low < high and items[low] == wanted[slot]:
                    out[n, 0], out[n, 1], out[n, 2] = slot, first + t, counts[low]
                    n += 1
            continue
        for j in range(low, high):
            slot = slots[items[j]]
            if slot > 0:
                out[n, 0], out[n, 1], out[n, 2] = slot - 1, first + t, counts[j]
                n += 1
    return n
