"""Tokens are found in bytes, numbered and counted; their entries are sorted by term.

A token becomes a 64-bit key: the token itself, packed in lower case, where it has at
most 7 bytes, else a hash whose upper byte is 255. ASCII is read eight bytes at a time:
in such a word, each byte's uppermost bit says whether it belongs to a token.

Tokens live in an open-addressing table: ``slots`` (a power of two long) holds the
number of a token plus one, or 0; ``known`` its key; ``offsets`` where its bytes, closed
by a newline, are in the ``arena``. Where a key is a hash, the bytes are compared too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from classmark.compiled import compiled
from classmark.text import ALONE, MARK, SEPARATOR, WORD

LONG = np.uint64(0xFF << 56)
_NONE, _ONE = np.uint64(0), np.uint64(1)
_SEVEN, _EIGHT, _BLOCK = np.uint64(7), np.uint64(8), np.uint64(64)
_FAR, _NEAR, _LAST, _CASE = np.uint64(32), np.uint64(29), np.uint64(56), np.uint64(2)
_TOPS = np.uint64(0x8080808080808080)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_GATHER = np.uint64(0x0102040810204080)
_FROM_A, _PAST_Z = np.uint64(0x3F3F3F3F3F3F3F3F), np.uint64(0x2525252525252525)
_FROM_a, _PAST_z = np.uint64(0x1F1F1F1F1F1F1F1F), np.uint64(0x0505050505050505)
_FROM_0, _PAST_9 = np.uint64(0x5050505050505050), np.uint64(0x4646464646464646)
_DE_BRUIJN = 0x03F79D71B4CB0A89
_PLACE = np.zeros(64, np.uint64)
for _bit in range(64):
    _PLACE[((_DE_BRUIJN << _bit) & 0xFFFFFFFFFFFFFFFF) >> 58] = _bit
_SPREAD = np.uint64(_DE_BRUIJN)


@compiled
def mix(word: Any) -> Any:
    """Spread 64 bits over all 64."""
    mixed = (word ^ (word >> _FAR)) * _MULTIPLIER
    return mixed ^ (mixed >> _NEAR)


@compiled
def lower_word(word: Any) -> Any:
    """Lower the ASCII letters among eight bytes."""
    bare = word & ~_TOPS
    upper = (bare + _FROM_A) & ~(bare + _PAST_Z) & _TOPS & ~word
    return word | (upper >> _CASE)


@compiled
def _classify(word: Any) -> tuple[Any, Any]:
    """Lower eight ASCII bytes; set the top bit of those that are letters or digits."""
    upper = (word + _FROM_A) & ~(word + _PAST_Z) & _TOPS
    low = word | (upper >> _CASE)
    letters = (low + _FROM_a) & ~(low + _PAST_z)
    digits = (low + _FROM_0) & ~(low + _PAST_9)
    return low, (letters | digits) & _TOPS


@compiled
def _block_of_ascii(words: Any, at: Any) -> Any:
    """Say which of 64 ASCII bytes belong to tokens: one bit each."""
    bits = _NONE
    for word in range(8):
        tops = _classify(words[at + np.uint64(8 * word)])[1]
        bits |= ((tops >> _SEVEN) * _GATHER >> _LAST) << np.uint64(8 * word)
    return bits


@compiled
def _mark_edges(bits: Any, inside: Any, at: Any, edges: Any, n: Any) -> Any:
    """Write where bits begin and end; ``inside`` is the bit before the first."""
    changes = bits ^ (bits << _ONE | inside)
    while changes != _NONE:
        lowest = changes & (~changes + _ONE)
        edges[n] = at + _PLACE[lowest * _SPREAD >> np.uint64(58)]
        n += _ONE
        changes ^= lowest
    return n


@compiled
def _edges_in_ascii(words: Any, at: Any, end: Any, edges: Any, n: Any) -> Any:
    """Find where tokens start and stop before ``end``, which lies in a separator."""
    inside = _NONE
    while at < end:
        bits = _block_of_ascii(words, at)
        if end - at < _BLOCK:
            bits &= (_ONE << (end - at)) - _ONE
        n = _mark_edges(bits, inside, at, edges, n)
        inside = bits >> np.uint64(63)
        at += _BLOCK
    return n


@compiled
def _is_ascii(words: Any, at: Any) -> bool:
    """Say whether the 64 bytes from a place on are ASCII."""
    tops = _NONE
    for word in range(8):
        tops |= words[at + np.uint64(8 * word)]
    return bool(tops & _TOPS == _NONE)


@compiled
def _keys_in_ascii(words: Any, edges: Any, keys: Any, first: Any, last: Any) -> None:
    """Turn tokens into their keys."""
    for token in range(first, last):
        start, stop = np.uint64(edges[2 * token]), np.uint64(edges[2 * token + 1])
        key, mixed = _classify(words[start])[0], _NONE
        if stop - start > _SEVEN:
            while stop - start > _SEVEN:
                mixed = mix(mixed ^ key)
                start += _EIGHT
                key = _classify(words[start])[0]
            key &= (_ONE << (_EIGHT * (stop - start))) - _ONE
            keys[token] = mix(mixed ^ key) | LONG
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
def _keys_in_utf8(words: Any, edges: Any, keys: Any, first: Any, last: Any) -> None:
    """Turn tokens whose case is lowered into their keys."""
    for token in range(first, last):
        start, stop = np.uint64(edges[2 * token]), np.uint64(edges[2 * token + 1])
        mixed, is_long = _NONE, stop - start > _SEVEN
        while stop - start > _SEVEN:
            mixed = mix(mixed ^ words[start])
            start += _EIGHT
        key = words[start] & ((_ONE << (_EIGHT * (stop - start))) - _ONE)
        keys[token] = mix(mixed ^ key) | LONG if is_long else key


@compiled
def _edges_in_utf8(
    buffer: Any, words: Any, at: int, end: int, kinds: Any, edges: Any, n: Any
) -> Any:
    """Find where tokens start and stop, a character or 64 of ASCII at a time."""
    last = SEPARATOR
    while at < end:
        start = np.uint64(at)
        if last != ALONE and at + 64 <= end and _is_ascii(words, start):
            bits = _block_of_ascii(words, start)
            n = _mark_edges(bits, np.uint64(last == WORD), start, edges, n)
            last = WORD if bits >> np.uint64(63) else SEPARATOR
            at += 64
            continue
        stop = at + 1 if last == ALONE else min(at + 64, end)
        while at < stop:
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
    text: Any, ends: Any, plain: Any, kinds: Any, edges: Any, keys: Any, firsts: Any
) -> None:
    """Find the tokens of each document: token ``t`` has a key and two edges.

    text : the bytes, and the eight bytes from each place on.  ``ends[d]`` is the end of
    document ``d``, past the newline that closes it; where it is not ``plain`` ASCII its
    case is already lowered. Token ``t`` lies between ``edges[2 t]`` and
    ``edges[2 t + 1]``; those of document ``d`` are ``firsts[d]`` to ``firsts[d + 1]``.
    """
    (buffer, words), n, begin = text, _NONE, 0
    for document in range(len(ends)):
        first, end = n >> _ONE, ends[document]
        firsts[document] = first
        if plain[document]:
            n = _edges_in_ascii(words, np.uint64(begin), np.uint64(end), edges, n)
            _keys_in_ascii(words, edges, keys, first, n >> _ONE)
        else:
            n = _edges_in_utf8(buffer, words, begin, end, kinds, edges, n)
            _keys_in_utf8(words, edges, keys, first, n >> _ONE)
        begin = end
    firsts[len(ends)] = n >> _ONE


TOKEN, ENTRIES, TOKENS, ARENA, BASE, DROPPED = range(6)
NEWLINE = 10
FULL = 255
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

    slots: Any
    known: Any
    offsets: Any
    arena: Any
    held: Any


@compiled
def number_tokens(text: Any, keys: Any, table: Any, state: Any) -> bool:
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
def count_tokens(tokens: Any, firsts: Any, last: Any, chunk: Any, state: Any) -> None:
    """Count the tokens of each document, those from ``firsts[d]`` to ``firsts[d + 1]``.

    chunk : rows, columns and counts; each document appends (token, count) entries to
    ``columns`` and ``counts``, and its end to ``rows``. A count that has reached 255
    goes on in a new entry, and the tokens numbered below ``state[DROPPED]`` get none.
    ``last`` is one more than the last entry of each token, counted from the first chunk
    on.
    """
    rows, columns, counts = chunk
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
def fill_slots(known: Any, slots: Any) -> None:
    """Enter all known tokens into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for token in range(len(known)):
        slot = mix(known[token]) & mask
        while slots[slot] != 0:
            slot = (slot + _ONE) & mask
        slots[slot] = token + 1


@compiled
def count_entries(chunk: Any, number: Any, entries: Any, lengths: Any) -> None:
    """Count the entries of each term, and the occurrences kept of each document.

    chunk : a ``Chunk`` of ``classmark.corpus.counting``;  number : uint32, the term of
    each token, the number of terms where it is dropped;  entries : int64, shape (terms
    + 1,), added to;  lengths : uint32, shape (rows,).
    """
    rows, columns, counts = chunk
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
    chunk: Any, number: Any, first: int, begins: Any, ends: Any, postings: Any
) -> None:
    """Append the entries of documents ``first``, ``first + 1``, … to lists of postings.

    A posting is item · 2³² + count; entries of one document and one term add up. List
    ``t`` is ``begins[t]`` to ``ends[t]``, which moves on.
    """
    rows, columns, counts = chunk
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
    chunk: Any, number: Any, first: int, seen: Any, ends: Any, gaps: Any
) -> None:
    """Append the place of each occurrence, as a gap within its document, to the lists.

    The first place in a document stands as it is, the others less the one before, less
    one. ``seen`` (terms, 2) remembers the last document and place of each term.
    """
    rows, columns, _ = chunk
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
def gather_by_document(
    lists: Any, starts: Any, columns: Any, counts: Any, total: Any
) -> None:
    """Turn lists (postings, begins, ends) into rows with increasing columns.

    ``starts`` comes as zeros and leaves as the rows' bounds; to ``total`` are added the
    occurrences of each term.
    """
    postings, begins, ends = lists
    for term in range(len(begins)):
        for entry in range(begins[term], ends[term]):
            starts[(postings[entry] >> _FAR) + _ONE] += 1
    for row in range(len(starts) - 1):
        starts[row + 1] += starts[row]
    stops = starts[:-1].copy()
    for term in range(len(begins)):
        for entry in range(begins[term], ends[term]):
            row, count = postings[entry] >> _FAR, postings[entry] & _COUNT
            columns[stops[row]], counts[stops[row]] = term, np.float32(count)
            stops[row] += 1
            total[term] += np.int64(count)
