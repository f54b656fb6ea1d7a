"""Words of a field: from number to word, and back, for one word or for thousands."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Ints
from classmark.problems import Mistake

_NEWLINE = ord("\n")


class Words:
    r"""Different words in the order of their bytes, a newline after each.

    One word is found by halving, many by a hash table, made when first needed: 8 to 16
    bytes a word.

    >>> words = Words(np.frombuffer(b"ant\nbee\n", np.uint8))
    >>> words.find(b"bee"), words.numbers(["bee", "wasp", "ant"]).tolist()
    (1, [1, -1, 0])
    """

    def __init__(self, blob: NDArray[np.uint8]) -> None:
        self._blob = blob.tobytes()
        ends = np.flatnonzero(np.asarray(blob) == _NEWLINE)
        self._bounds = np.zeros(len(ends) + 1, np.uint64)
        self._bounds[1:] = ends + 1

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __getitem__(self, number: int) -> bytes:
        return self._blob[self._bounds[number] : self._bounds[number + 1] - 1]

    def find(self, word: bytes) -> int | None:
        """Return the number of a word; None: it is not there."""
        at = bisect_left(range(len(self)), word, key=self.__getitem__)
        return at if at < len(self) and self[at] == word else None

    def numbers(self, words: Collection[str]) -> Ints:
        """Return the number of each word, −1 where it is not there."""
        from classmark.index.lookup.kernels import find_words, hash_words

        out = np.empty(len(words), np.int64)
        joined = joined_words(words)
        hashes = np.empty(len(words), np.uint64)
        bounds = np.empty(len(words) + 1, np.uint64)
        if hash_words(joined, hashes, bounds) == len(words):
            find_words(hashes, joined, bounds, self.table, out)
            return out
        odd = np.array(["\n" in word for word in words])
        out = self.numbers([word.replace("\n", "") for word in words])
        out[odd] = -1
        return out

    def reordered(self, order: Ints) -> Words:
        """Return the same words in another order, in which only many can be found."""
        from classmark.index.lookup.kernels import copy_words

        out = np.empty(len(self._blob), np.uint8)
        copy_words(np.frombuffer(self._blob, np.uint8), self._bounds, order, out)
        return Words(out)

    @cached_property
    def table(self) -> tuple[Array, ...]:
        """The slots, the words and their bounds, as ``find_words`` takes them."""
        from classmark.index.lookup.kernels import enter_words, hash_words

        held = np.frombuffer(self._blob, np.uint8)
        hashes, bounds = np.empty(len(self), np.uint64), self._bounds.copy()
        hash_words(held, hashes, bounds)
        slots = np.zeros(1 << (2 * len(self)).bit_length(), np.uint32)
        enter_words(hashes, slots)
        return slots, held, self._bounds


def joined_words(words: Collection[str]) -> NDArray[np.uint8]:
    r"""Write words to one run of bytes, a newline after each.

    >>> joined_words(["ant", "bee"]).tobytes()
    b'ant\nbee\n'
    """
    try:
        text = "\n".join(words)
    except TypeError as error:
        odd = next(word for word in words if not isinstance(word, str))
        raise Mistake(f"term {odd!r} is {type(odd).__name__}: give a string") from error
    if words:
        text += "\n"
    return np.frombuffer(text.encode(errors="surrogatepass"), np.uint8)
