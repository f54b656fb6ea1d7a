"""Which numbers do these «index:value» tokens hold?

All tokens of a block are parsed at once by numpy. Where that finds anything odd, they
are parsed one by one, which is slow but knows which token is wrong.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.sparse import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST = 2**32 - 1
NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


class Pairs(NamedTuple):
    """Indices and values of tokens, in their order."""

    indices: Ints
    values: Floats


class BadToken(Exception):
    """The number of the token, and what is wrong with it."""

    def __init__(self, at: int, problem: str) -> None:
        super().__init__(problem)
        self.at, self.problem = at, problem


def parse_pairs(tokens: Sequence[bytes], colon: bytes = b":") -> Pairs:
    """Parse tokens such as ``7:0.5``; raises ``BadToken`` for the first bad one.

    >>> parse_pairs([b"3:0.5", b"9:1"]).values.tolist()
    [0.5, 1.0]
    """
    if not tokens:
        return Pairs(np.empty(0, np.int64), np.empty(0))
    found = _all_at_once(tokens, colon)
    return found if found is not None else parse_one_by_one(tokens, colon)


def _all_at_once(tokens: Sequence[bytes], colon: bytes) -> Pairs | None:
    text = b"\n".join(tokens)
    raw = np.frombuffer(text, np.uint8)
    marks = np.flatnonzero((raw == ord(colon)) | (raw == ord(b"\n")))
    if len(marks) != 2 * len(tokens) - 1 or (raw[marks[1::2]] != ord(b"\n")).any():
        return None
    if not _only_digits(raw, marks):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            flat = np.fromstring(text.replace(colon, b"\n"), np.float64, sep="\n")
        except (DeprecationWarning, ValueError):
            return None
    if len(flat) != 2 * len(tokens) or not np.isfinite(flat).all():
        return None
    if flat[::2].max() > MOST:
        return None
    return Pairs(flat[::2].astype(np.int64), flat[1::2].copy())


def _only_digits(raw: NDArray[np.uint8], marks: Ints) -> bool:
    """Whether every index, from a mark (or the start) to its colon, is digits."""
    colons = marks[::2]
    begins = np.concatenate([np.zeros(1, np.int64), marks[1::2] + 1])
    if (begins == colons).any():
        return False
    strange = np.flatnonzero((raw < ord(b"0")) | (raw > ord(b"9")))
    before = np.searchsorted(strange, begins)
    return bool((strange[np.minimum(before, len(strange) - 1)] >= colons).all())


def parse_one_by_one(tokens: Sequence[bytes], colon: bytes = b":") -> Pairs:
    """Parse the tokens slowly: the authority on what is allowed."""
    shape = re.compile(rb"(\d{1,10})" + re.escape(colon) + b"(" + NUMBER + b")")
    indices, values = np.empty(len(tokens), np.int64), np.empty(len(tokens))
    for at, token in enumerate(tokens):
        match = shape.fullmatch(token)
        if match is None:
            shown = token[:40].decode("utf-8", "replace")
            raise BadToken(at, f"{shown!r} is not index{colon.decode()}number")
        indices[at], values[at] = int(match[1]), float(match[2])
        if indices[at] > MOST:
            raise BadToken(at, f"index {indices[at]} is over {MOST}")
        if not np.isfinite(values[at]):
            raise BadToken(at, f"{match[2].decode()} is too large a number")
    return Pairs(indices, values)


def rows_of(pairs: Pairs, lengths: Sequence[int], width: int) -> Rows:
    """Gather parsed pairs into rows, each sorted, zeros left out.

    lengths : how many of the pairs each row has. Raises ``BadToken``, numbered by the
    **pair**, where a column occurs twice in a row.
    """
    owner = np.repeat(np.arange(len(lengths)), lengths)
    indices, values = pairs
    order = np.arange(len(owner))
    later = (owner[1:] == owner[:-1]) & (indices[1:] <= indices[:-1])
    if later.any():
        order = np.lexsort((indices, owner))
        owner, indices, values = owner[order], indices[order], values[order]
        twice = (owner[1:] == owner[:-1]) & (indices[1:] == indices[:-1])
        if twice.any():
            at = int(order[int(np.argmax(twice)) + 1])
            raise BadToken(at, "the same index occurs twice in the row")
    kept = values != 0
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.bincount(owner[kept], minlength=len(lengths)), out=starts[1:])
    return Rows(starts, indices[kept].astype(np.uint32), values[kept], width)
