"""A hash table of words that lie one after another, a newline after each [Fowler91].

The hash of a word is FNV-1a's of 32 bits: h ← (h xor byte) · 16777619 mod 2³², from
2166136261 on; it is folded to the table's size, a power of two, and the next free slot
is taken. A slot holds a word's number plus one, 0 where it is free.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled

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
