"""Where in these bytes are the tokens, and what is the key of each?

A token becomes a 64-bit key: the token itself, packed in lower case, where it has at
most 7 bytes, else a hash whose upper byte is 255. ASCII is read eight bytes at a time:
in such a word, each byte's uppermost bit says whether it belongs to a token.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Bools, Ints
from classmark.compiled import compiled
from classmark.text.tokens import ALONE, MARK, SEPARATOR, WORD

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
    buffer: NDArray[np.uint8],
    words: NDArray[np.uint64],
    ends: Ints,
    plain: Bools,
    kinds: NDArray[np.uint8],
    edges: NDArray[np.uint32],
    keys: NDArray[np.uint64],
    firsts: Ints,
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
            n = _edges_in_utf8(buffer, words, begin, end, kinds, edges, n)
            _keys_in_utf8(words, edges, keys, first, n >> _ONE)
        begin = end
    firsts[len(ends)] = n >> _ONE
