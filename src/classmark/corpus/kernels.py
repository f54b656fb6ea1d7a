"""Two passes over a batch of UTF-8 bytes: find the tokens, then number and count them.

**Finding.** A token becomes a 64-bit key: the token itself, packed in lower case, where
it has at most 7 bytes, else a hash whose upper byte is 255. ASCII is read eight bytes at
a time: in such a word, each byte's uppermost bit says whether it belongs to a token.

**Counting.** Tokens live in an open-addressing table: ``slots`` (a power of two long)
holds the number of a token plus one, or 0; ``known`` its key; ``arena`` its bytes and a
newline, from ``offsets`` on. Where a key is a hash, the bytes are compared too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.compiled import compiled
from classmark.text.tokens import ALONE, MARK, SEPARATOR, WORD

TOKEN, DOCUMENT, ENTRIES, TOKENS, ARENA, BASE = range(6)
NEWLINE = 10
_NONE, _ONE, _SEVEN, _EIGHT = np.uint64(0), np.uint64(1), np.uint64(7), np.uint64(8)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_EACH = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_LONG = np.uint64(0xFF << 56)
_FAR, _NEAR, _LAST = np.uint64(32), np.uint64(29), np.uint64(56)
_COUNT = np.uint64(0xFFFFFFFF)
_CASE, _BLOCK = np.uint64(2), np.uint64(64)
_GATHER = np.uint64(0x0102040810204080)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACE = np.zeros(64, np.uint64)
for _bit in range(64):
    _PLACE[(0x03F79D71B4CB0A89 << _bit & (1 << 64) - 1) >> 58] = _bit
_FROM_A, _PAST_Z = np.uint64(0x3F) * _EACH, np.uint64(0x25) * _EACH
_FROM_a, _PAST_z = np.uint64(0x1F) * _EACH, np.uint64(0x05) * _EACH
_FROM_0, _PAST_9 = np.uint64(0x50) * _EACH, np.uint64(0x46) * _EACH


@compiled
def _mix(word: Any) -> Any:
    """Spread 64 bits over all 64."""
    word ^= word >> _FAR
    word *= _MULTIPLIER
    return word ^ (word >> _NEAR)


@compiled
def _classify(word: Any) -> tuple[Any, Any]:
    """Lower eight ASCII bytes; set the top bit of those that are letters or digits."""
    upper = (word + _FROM_A) & ~(word + _PAST_Z) & _TOPS
    low = word | (upper >> _CASE)
    letters = (low + _FROM_a) & ~(low + _PAST_z)
    digits = (low + _FROM_0) & ~(low + _PAST_9)
    return low, (letters | digits) & _TOPS


@compiled
def _edges_in_ascii(words: Any, at: Any, end: Any, edges: Any, n: Any) -> Any:
    """Find where tokens start and stop before ``end``, which lies in a separator."""
    inside = _NONE
    while at < end:
        bits = _NONE
        for word in range(8):
            tops = _classify(words[at + np.uint64(8 * word)])[1]
            bits |= ((tops >> _SEVEN) * _GATHER >> _LAST) << np.uint64(8 * word)
        if end - at < _BLOCK:
            bits &= (_ONE << (end - at)) - _ONE
        changes = bits ^ (bits << _ONE | inside)
        inside = bits >> np.uint64(63)
        while changes != _NONE:
            lowest = changes & (~changes + _ONE)
            edges[n] = at + _PLACE[lowest * _DE_BRUIJN >> np.uint64(58)]
            n += _ONE
            changes ^= lowest
        at += _BLOCK
    return n


@compiled
def _keys_in_ascii(words: Any, edges: Any, keys: Any, first: Any, last: Any) -> None:
    """Turn tokens into their keys."""
    for token in range(first, last):
        start, stop = np.uint64(edges[2 * token]), np.uint64(edges[2 * token + 1])
        key, mixed = _classify(words[start])[0], _NONE
        if stop - start > _SEVEN:
            while stop - start > _SEVEN:
                mixed = _mix(mixed ^ key)
                start += _EIGHT
                key = _classify(words[start])[0]
            key &= (_ONE << (_EIGHT * (stop - start))) - _ONE
            keys[token] = _mix(mixed ^ key) | _LONG
        else:
            keys[token] = key & ((_ONE << (_EIGHT * (stop - start))) - _ONE)


@compiled
def _code_point(buffer: Any, at: int) -> tuple[int, int]:
    """Decode one character: its code point and its length in bytes."""
    lead = int(buffer[at])
    if lead < 0x80:
        return lead, 1
    second = int(buffer[at + 1]) & 0x3F
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | second, 2
    third = int(buffer[at + 2]) & 0x3F
    if lead < 0xF0:
        return (lead & 0x0F) << 12 | second << 6 | third, 3
    fourth = int(buffer[at + 3]) & 0x3F
    return (lead & 0x07) << 18 | second << 12 | third << 6 | fourth, 4


@compiled
def _key(buffer: Any, start: int, stop: int) -> Any:
    """Pack the bytes of a token into its key."""
    mixed, key, shift = _NONE, _NONE, _NONE
    for at in range(start, stop):
        key |= np.uint64(buffer[at]) << shift
        shift += _EIGHT
        if shift == np.uint64(64):
            mixed, key, shift = _mix(mixed ^ key), _NONE, _NONE
    return key if stop - start < 8 else _mix(mixed ^ key) | _LONG


@compiled
def _edges_in_utf8(
    buffer: Any, at: int, end: int, kinds: Any, edges: Any, n: Any
) -> Any:
    """Find where tokens start and stop, a character at a time."""
    last = SEPARATOR
    while at < end:
        point, length = _code_point(buffer, at)
        now = kinds[point]
        joins = now == MARK or (now == WORD and last == WORD)
        if last != SEPARATOR and not joins:
            edges[n] = at
            n += _ONE
            last = SEPARATOR
        if last == SEPARATOR and now != SEPARATOR:
            edges[n] = at
            n += _ONE
            last = ALONE if now == ALONE else WORD
        at += length
    return n


@compiled
def find_tokens(
    buffer: NDArray[np.uint8],
    words: NDArray[np.uint64],
    ends: NDArray[np.int64],
    plain: NDArray[np.bool_],
    kinds: NDArray[np.uint8],
    edges: NDArray[np.uint32],
    keys: NDArray[np.uint64],
    firsts: NDArray[np.int64],
) -> None:
    """Find the tokens of each document: token ``t`` has a key and two edges.

    ``ends[d]`` is the end of document ``d``, past the newline that closes it; where it
    is not ``plain`` ASCII its case is already lowered. ``words[i]`` is the eight bytes
    from ``i`` on. Token ``t`` lies between ``edges[2 t]`` and ``edges[2 t + 1]``; those
    of document ``d`` are ``firsts[d]`` to ``firsts[d + 1]``.
    """
    n, begin = _NONE, 0
    for document in range(len(ends)):
        first, end = n >> _ONE, ends[document]
        firsts[document] = first
        if plain[document]:
            n = _edges_in_ascii(words, np.uint64(begin), np.uint64(end), edges, n)
            _keys_in_ascii(words, edges, keys, first, n >> _ONE)
        else:
            n = _edges_in_utf8(buffer, begin, end, kinds, edges, n)
            for token in range(first, n >> _ONE):
                keys[token] = _key(buffer, edges[2 * token], edges[2 * token + 1])
        begin = end
    firsts[len(ends)] = n >> _ONE


@compiled
def _low(byte: Any) -> Any:
    """Lower one byte."""
    return byte | 0x20 if 65 <= byte <= 90 else byte


@compiled
def _lower(word: Any) -> Any:
    """Lower the ASCII letters among eight bytes."""
    bare = word & ~_TOPS
    upper = (bare + _FROM_A) & ~(bare + _PAST_Z) & _TOPS & ~word
    return word | (upper >> _CASE)


@compiled
def _is_at(words: Any, start: Any, stop: Any, held: Any, at: Any) -> bool:
    """Compare the bytes of a token, eight at a time, with those of a known one."""
    while stop - start > _SEVEN:
        if _lower(words[start]) != held[at]:
            return False
        start += _EIGHT
        at += _EIGHT
    size = _EIGHT * (stop - start)
    closed = held[at] >> size & np.uint64(0xFF) == np.uint64(NEWLINE)
    differ = (_lower(words[start]) ^ held[at]) & ((_ONE << size) - _ONE)
    return bool(closed and differ == _NONE)


@compiled
def _enter(buffer: Any, start: int, stop: int, arena: Any, at: int) -> int:
    """Write a new token to the arena; return where the next one goes."""
    for source in range(start, stop):
        arena[at] = _low(buffer[source])
        at += 1
    arena[at] = NEWLINE
    return at + 1


@compiled
def count_tokens(
    buffer: NDArray[np.uint8],
    words: NDArray[np.uint64],
    edges: NDArray[np.uint32],
    keys: NDArray[np.uint64],
    firsts: NDArray[np.int64],
    slots: NDArray[np.uint32],
    known: NDArray[np.uint64],
    offsets: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    held: NDArray[np.uint64],
    columns: NDArray[np.uint32],
    counts: NDArray[np.uint8],
    rows: NDArray[np.int64],
    state: NDArray[np.int64],
) -> bool:
    """Count the tokens found in each document; say whether all have been counted.

    Each document appends (token, count) entries to ``columns`` and ``counts``, and its
    end to ``rows``; ``known[:, 1]`` is one more than the last entry of each token.
    Without room for a new token the pass stops: make the table larger and call again,
    ``state`` remembers the place.
    """
    k, mask = np.uint64(state[ENTRIES]), np.uint64(len(slots) - 1)
    base = np.uint64(state[BASE])
    for document in range(state[DOCUMENT], len(firsts) - 1):
        row = np.uint64(rows[document]) + base
        for at in range(max(firsts[document], state[TOKEN]), firsts[document + 1]):
            key = keys[at]
            slot = _mix(key) & mask
            while slots[slot] != 0:
                token = np.uint64(slots[slot] - np.uint32(1))
                if known[token, 0] == key and (
                    key < _LONG
                    or _is_at(
                        words,
                        np.uint64(edges[2 * at]),
                        np.uint64(edges[2 * at + 1]),
                        held,
                        offsets[token],
                    )
                ):
                    break
                slot = (slot + _ONE) & mask
            else:
                token, free = np.uint64(state[TOKENS]), state[ARENA]
                start, stop = np.int64(edges[2 * at]), np.int64(edges[2 * at + 1])
                if token == len(known) or free + stop - start > len(held) - 9:
                    state[TOKEN], state[DOCUMENT], state[ENTRIES] = at, document, k
                    return False
                slots[slot], offsets[token] = token + _ONE, free
                known[token, 0], known[token, 1] = key, _NONE
                state[TOKENS] += 1
                state[ARENA] = _enter(buffer, start, stop, arena, free)
            is_new = known[token, 1] <= row
            entry = k if is_new else known[token, 1] - base - _ONE
            before = counts[entry]
            is_new |= before == 255
            entry = k if is_new else entry
            counts[entry] = 1 if is_new else before + 1
            columns[entry] = token
            known[token, 1] = entry + base + _ONE
            k += np.uint64(is_new)
        rows[document + 1] = k
    state[TOKEN], state[DOCUMENT], state[ENTRIES] = 0, 0, k
    return True


@compiled
def fill_slots(known: NDArray[np.uint64], slots: NDArray[np.uint32]) -> None:
    """Enter all known tokens into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for token in range(len(known)):
        slot = _mix(known[token, 0]) & mask
        while slots[slot] != 0:
            slot = (slot + _ONE) & mask
        slots[slot] = token + 1


@compiled
def scatter_by_term(
    starts: NDArray[np.int64],
    columns: NDArray[np.uint32],
    counts: NDArray[np.uint8],
    number: NDArray[np.uint32],
    heads: NDArray[np.int64],
    postings: NDArray[np.uint64],
) -> None:
    """List (document, count) under each term; ``number`` maps tokens to terms.

    ``heads`` comes as zeros and leaves as the starts of the lists: it is two longer than
    there are terms, and the term past the last gathers the tokens that are dropped. A
    posting is document · 2³² + count; the documents of a list do not decrease.
    """
    for column in columns:
        heads[number[column] + np.uint32(1)] += 1
    before = 0
    for term in range(1, len(heads)):
        size = heads[term]
        heads[term] = before
        before += size
    for row in range(len(starts) - 1):
        for entry in range(starts[row], starts[row + 1]):
            head = number[columns[entry]] + np.uint32(1)
            postings[heads[head]] = np.uint64(row) << _FAR | np.uint64(counts[entry])
            heads[head] += 1


@compiled
def gather_by_document(
    heads: NDArray[np.int64],
    postings: NDArray[np.uint64],
    starts: NDArray[np.int64],
    columns: NDArray[np.uint32],
    counts: NDArray[np.float32],
) -> int:
    """Turn lists by term into rows with increasing columns; equal entries add up.

    The last list, of what is dropped, is left out. ``starts`` (one longer than there are
    documents) comes as zeros; returns how many entries the rows have.
    """
    last = np.full(len(starts), -1, np.int64)
    for term in range(len(heads) - 2):
        for entry in range(heads[term], heads[term + 1]):
            row = postings[entry] >> _FAR
            starts[row + _ONE] += last[row] != term
            last[row] = term
    for row in range(1, len(starts)):
        starts[row] += starts[row - 1]
    last[:] = starts
    for term in range(len(heads) - 2):
        for entry in range(heads[term], heads[term + 1]):
            row = postings[entry] >> _FAR
            value = np.float32(postings[entry] & _COUNT)
            at = last[row]
            if at > starts[row] and columns[at - 1] == term:
                counts[at - 1] += value
            else:
                columns[at], counts[at] = term, value
                last[row] = at + 1
    return int(starts[-1])
