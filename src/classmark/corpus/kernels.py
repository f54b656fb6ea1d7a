"""Tokens that were found are numbered and counted; tokens become terms.

Tokens live in an open-addressing table: ``slots`` (a power of two long) holds the
number of a token plus one, or 0; ``known`` its key; ``offsets`` where its bytes, closed
by a newline, are in the ``arena``. Where a key is a hash (see
``classmark.text.kernels``), the bytes are compared too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Ints
from classmark.compiled import compiled
from classmark.text.kernels import LONG, lower_word, mix

TOKEN, ENTRIES, TOKENS, ARENA, BASE, DROPPED = range(6)
NEWLINE = 10
FULL = 255
_NONE, _ONE = np.uint64(0), np.uint64(1)
_SEVEN, _EIGHT, _FAR = np.uint64(7), np.uint64(8), np.uint64(32)
_COUNT, _BYTE = np.uint64(0xFFFFFFFF), np.uint64(0xFF)


@compiled
def _is_at(words: Any, edges: Any, token: int, held: Any, at: Any) -> bool:
    """Compare the bytes of a token, eight at a time, with those of a known one."""
    start, stop = np.uint64(edges[2 * token]), np.uint64(edges[2 * token + 1])
    while stop - start > _SEVEN:
        if lower_word(words[start]) != held[at]:
            return False
        start += _EIGHT
        at += _EIGHT
    size = _EIGHT * (stop - start)
    closed = (held[at] >> size) & _BYTE == np.uint64(NEWLINE)
    differ = (lower_word(words[start]) ^ held[at]) & ((_ONE << size) - _ONE)
    return bool(closed and differ == _NONE)


@compiled
def _enter(buffer: Any, edges: Any, token: int, arena: Any, at: Any) -> Any:
    """Write a new token, lowered, to the arena; return where the next one goes."""
    for source in range(edges[2 * token], edges[2 * token + 1]):
        byte = buffer[source]
        arena[at] = byte | 0x20 if 65 <= byte <= 90 else byte
        at += 1
    arena[at] = NEWLINE
    return at + 1


class Tokens(NamedTuple):
    """The table of tokens; ``held[i]`` : the eight bytes of ``arena`` from ``i`` on."""

    slots: NDArray[np.uint32]
    known: NDArray[np.uint64]
    offsets: NDArray[np.uint64]
    arena: NDArray[np.uint8]
    held: NDArray[np.uint64]


@compiled
def number_tokens(text: Any, keys: NDArray[np.uint64], table: Any, state: Ints) -> bool:
    """Put the number of each token in the place of its key; say whether all have one.

    text : the bytes, the eight bytes from each place on, and the tokens' edges.
    Without room for a new token the pass stops: make the table larger and call again,
    ``state`` remembers the place.
    """
    buffer, words, edges = text
    slots, known, offsets, arena, held = table
    mask = np.uint64(len(slots) - 1)
    for at in range(state[TOKEN], len(keys)):
        key = keys[np.uint64(at)]
        slot = mix(key) & mask
        while slots[slot] != 0:
            token = np.uint64(slots[slot] - np.uint32(1))
            if known[token] == key and (
                key < LONG or _is_at(words, edges, at, held, offsets[token])
            ):
                break
            slot = (slot + _ONE) & mask
        else:
            token, free = np.uint64(state[TOKENS]), state[ARENA]
            size = np.int64(edges[2 * at + 1]) - np.int64(edges[2 * at])
            if token == len(known) or free + size > len(held) - 9:
                state[TOKEN] = at
                return False
            slots[slot], known[token], offsets[token] = token + _ONE, key, free
            state[TOKENS] += 1
            state[ARENA] = _enter(buffer, edges, at, arena, free)
        keys[np.uint64(at)] = token
    state[TOKEN] = 0
    return True


@compiled
def count_tokens(
    tokens: NDArray[np.uint64],
    firsts: Ints,
    last: NDArray[np.uint64],
    columns: NDArray[np.uint32],
    counts: NDArray[np.uint8],
    rows: Ints,
    state: Ints,
) -> None:
    """Count the tokens of each document, those from ``firsts[d]`` to ``firsts[d + 1]``.

    Each document appends (token, count) entries to ``columns`` and ``counts``, and its
    end to ``rows``; a count that has reached 255 goes on in a new entry, and the tokens
    numbered below ``state[DROPPED]`` get none. ``last`` is one more than the last entry
    of each token, counted from the first chunk on.
    """
    k, base = np.uint64(state[ENTRIES]), np.uint64(state[BASE])
    dropped = np.uint64(state[DROPPED])
    for document in range(len(firsts) - 1):
        row = np.uint64(rows[document]) + base
        for at in range(firsts[document], firsts[document + 1]):
            token = tokens[np.uint64(at)]
            is_seen = last[token] > row
            before = counts[last[token] - base - _ONE if is_seen else _NONE]
            is_new = not (is_seen and before < FULL)
            entry = k if is_new else last[token] - base - _ONE
            counts[entry] = 1 if is_new else before + 1
            columns[entry] = token
            is_kept = token >= dropped
            last[token] = entry + base + _ONE if is_kept else _NONE
            k += np.uint64(is_new & is_kept)
        rows[document + 1] = k
    state[ENTRIES] = k


@compiled
def fill_slots(known: NDArray[np.uint64], slots: NDArray[np.uint32]) -> None:
    """Enter all known tokens into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for token in range(len(known)):
        slot = mix(known[token]) & mask
        while slots[slot] != 0:
            slot = (slot + _ONE) & mask
        slots[slot] = token + 1


@compiled
def scatter_by_term(
    rows: Ints,
    columns: NDArray[np.uint32],
    counts: NDArray[np.uint8],
    number: NDArray[np.uint32],
    heads: NDArray[np.uint32],
    postings: NDArray[np.uint64],
    starts: Ints,
) -> None:
    """List (document, count) under each term; ``number`` maps tokens to terms.

    ``heads`` comes as zeros and leaves as the starts of the lists: it is two longer
    than there are terms, the term past the last gathers the tokens that are dropped. A
    posting is document · 2³² + count; the documents of a list do not decrease.
    ``starts`` becomes where each document's kept entries would start in one run.
    """
    dropped = np.uint32(len(heads) - 2)
    for row in range(len(rows) - 1):
        kept = 0
        for entry in range(rows[row], rows[row + 1]):
            term = number[columns[entry]]
            heads[term + np.uint32(1)] += np.uint32(1)
            kept += term != dropped
        starts[row + 1] = starts[row] + kept
    before = np.uint32(0)
    for term in range(1, len(heads)):
        size = heads[term]
        heads[term] = before
        before += size
    for row in range(len(rows) - 1):
        for entry in range(rows[row], rows[row + 1]):
            head = number[columns[entry]] + np.uint32(1)
            postings[heads[head]] = np.uint64(row) << _FAR | np.uint64(counts[entry])
            heads[head] += np.uint32(1)


@compiled
def gather_by_document(
    heads: NDArray[np.uint32],
    postings: NDArray[np.uint64],
    stops: Ints,
    columns: NDArray[np.uint32],
    counts: NDArray[np.float32],
    frequency: Ints,
    total: Ints,
) -> None:
    """Turn lists by term into rows with increasing columns; equal entries add up.

    The last list, of what is dropped, is left out. ``stops[d]`` comes as the place
    where row ``d`` starts and leaves as where it stops; to ``frequency`` and ``total``
    are added the documents that have each term, and its occurrences.
    """
    last = np.full(len(stops), -1, np.int64)
    for term in range(len(heads) - 2):
        for entry in range(heads[term], heads[term + 1]):
            row = postings[entry] >> _FAR
            count = postings[entry] & _COUNT
            is_new = last[row] != term
            last[row] = term
            at = np.uint64(stops[row]) - np.uint64(not is_new)
            before = counts[at]
            columns[at] = term
            counts[at] = np.float32(count) + (np.float32(0) if is_new else before)
            stops[row] = at + _ONE
            frequency[term] += is_new
            total[term] += np.int64(count)


@compiled
def close_gaps(
    starts: Ints,
    stops: Ints,
    columns: NDArray[np.uint32],
    counts: NDArray[np.float32],
) -> None:
    """Move the rows together, in place; ``starts`` and ``stops`` follow."""
    at = 0
    for row in range(len(stops)):
        start, starts[row] = starts[row], at
        for entry in range(start, stops[row]):
            columns[at], counts[at] = columns[entry], counts[entry]
            at += 1
        stops[row] = at
    starts[len(stops)] = at
