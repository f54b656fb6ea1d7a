"""Numbers packed into as few bits as most of them need, in blocks of 128.

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
from numpy.typing import NDArray

from classmark.arrays import Array, Ints
from classmark.compiled import compiled

BLOCK = 128
PATCHED = 8
_NONE, _THREE, _SIX, _SEVEN = (np.uint64(n) for n in (0, 3, 6, 7))
_ONE, _LOW = np.uint64(1), np.uint64(0xFFFFFFFF)
_FAR = np.uint64(32)
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
def encode_values(
    values: Array,
    begins: Ints,
    ends: Ints,
    words: NDArray[np.uint64],
    sizes: Ints,
) -> int:
    """Pack lists of numbers below 2⁵⁶; return the bytes used, ``sizes`` those of each.

    Every block begins at a byte.
    """
    at, block = _NONE, np.empty(BLOCK, np.uint64)
    tally = np.empty(57, np.int64)
    for which in range(len(begins)):
        start = at
        for begin in range(begins[which], ends[which], BLOCK):
            n = min(BLOCK, ends[which] - begin)
            for i in range(n):
                block[i] = values[begin + i]
            at = _pack(block, n, tally, words, at)
            at = (at + _SEVEN) & ~_SEVEN
        sizes[which] = (at - start) >> _THREE
    return int(at >> _THREE)


@compiled
def decode_values(
    words: NDArray[np.uint64],
    starts: Ints,
    lengths: Ints,
    begins: Ints,
    values: Array,
) -> int:
    """Unpack lists: ``lengths[i]`` numbers from byte ``starts[i]`` on go to ``begins``.

    ``values`` is uint32 or uint64. Return the byte where the last list ends.
    """
    at = _NONE
    for which in range(len(starts)):
        at = np.uint64(starts[which]) << _THREE
        begin, left = np.uint64(begins[which]), np.uint64(lengths[which])
        while left > _NONE:
            n = min(left, np.uint64(BLOCK))
            at = _unpack(words, at, values, begin, n)
            at = (at + _SEVEN) & ~_SEVEN
            begin, left = begin + n, left - n
    return int(at >> _THREE)


@compiled
def encode_lists(
    postings: NDArray[np.uint64],
    begins: Ints,
    ends: Ints,
    words: NDArray[np.uint64],
    sizes: Ints,
    totals: Ints,
) -> int:
    """Pack lists of postings (item · 2³² + count, items increasing), gaps and counts.

    Return the bytes used, in ``sizes`` those of each list, in ``totals`` Σ counts.
    """
    at, tally = _NONE, np.empty(57, np.int64)
    gaps, counts = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    for which in range(len(begins)):
        start, expected, total = at, _NONE, _NONE
        for begin in range(begins[which], ends[which], BLOCK):
            n = min(BLOCK, ends[which] - begin)
            for i in range(n):
                posting = postings[begin + i]
                gaps[i] = (posting >> _FAR) - expected
                expected = (posting >> _FAR) + _ONE
                counts[i] = (posting & _LOW) - _ONE
                total += posting & _LOW
            at = _pack(gaps, n, tally, words, at)
            at = _pack(counts, n, tally, words, at)
            at = (at + _SEVEN) & ~_SEVEN
        sizes[which] = (at - start) >> _THREE
        totals[which] = total
    return int(at >> _THREE)


@compiled
def decode_lists(
    words: NDArray[np.uint64],
    starts: Ints,
    frequencies: Ints,
    begins: Ints,
    items: NDArray[np.uint32],
    counts: NDArray[np.uint32],
) -> None:
    """Unpack lists of ``frequencies[i]`` postings from byte ``starts[i]`` on."""
    one = np.uint32(1)
    for which in range(len(starts)):
        at = np.uint64(starts[which]) << _THREE
        begin, left = np.uint64(begins[which]), np.uint64(frequencies[which])
        expected = np.uint32(0)
        while left > _NONE:
            n = min(left, np.uint64(BLOCK))
            at = _unpack(words, at, items, begin, n)
            at = _unpack(words, at, counts, begin, n)
            at = (at + _SEVEN) & ~_SEVEN
            for i in range(begin, begin + n):
                items[i] += expected
                expected = items[i] + one
                counts[i] += one
            begin, left = begin + n, left - n
