"""Words and ids, from number to name and back."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from zlib import crc32

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
        from classmark.index.kernels_postings import find_words, hash_words

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
        from classmark.index.kernels_postings import copy_words

        out = np.empty(len(self._blob), np.uint8)
        copy_words(np.frombuffer(self._blob, np.uint8), self._bounds, order, out)
        return Words(out)

    @cached_property
    def table(self) -> tuple[Array, ...]:
        """The slots, the words and their bounds, as ``find_words`` takes them."""
        from classmark.index.kernels_postings import enter_words, hash_words

        word_bytes = np.frombuffer(self._blob, np.uint8)
        hashes, bounds = np.empty(len(self), np.uint64), self._bounds.copy()
        hash_words(word_bytes, hashes, bounds)
        slots = np.zeros(1 << (2 * len(self)).bit_length(), np.uint32)
        enter_words(hashes, slots)
        return slots, word_bytes, self._bounds


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


class TwinIds(Mistake):
    """Two documents have one id; before, number : which ones, counted from 0.

    part : where parts are built apart, that in which they were counted.
    """

    part: int = 0

    def __init__(self, name: str, before: int, number: int) -> None:
        super().__init__(
            f"document {number + 1}: id {name!r} is also that of document "
            f"{before + 1}: give each document an id of its own"
        )
        self.name, self.before, self.number = name, before, number


def id_bytes(name: str) -> bytes:
    """Return an id as it is stored."""
    return name.encode(errors="surrogatepass")


def id_keys(ids: Iterable[bytes]) -> NDArray[np.uint32]:
    """Return a checksum of each id: what they are sorted by."""
    return np.array([crc32(name) for name in ids], np.uint32)


class Ids:
    """The ids of a segment: packed, with an order to find them by.

    >>> names = [b"a", b"bc"]
    >>> keys = id_keys(names)
    >>> order = np.argsort(keys, kind="stable").astype(np.uint32)
    >>> packed = np.frombuffer(b"abc", np.uint8)
    >>> ids = Ids(packed, np.array([0, 1, 3]), keys[order], order)
    >>> ids.find("bc"), ids.find("b"), ids[0]
    (1, None, 'a')
    """

    def __init__(
        self,
        packed: NDArray[np.uint8],
        bounds: Ints,
        keys: NDArray[np.uint32],
        order: NDArray[np.uint32],
    ) -> None:
        self.packed, self.bounds, self.keys, self.order = packed, bounds, keys, order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, number: int) -> str:
        start, end = self.bounds[number], self.bounds[number + 1]
        return self.packed[start:end].tobytes().decode(errors="surrogatepass")

    def __iter__(self) -> Iterator[str]:
        raw, bounds = self.packed.tobytes(), self.bounds.tolist()
        for start, end in pairwise(bounds):
            yield raw[start:end].decode(errors="surrogatepass")

    def find(self, name: str) -> int | None:
        """Return the number of an id, or None."""
        key = np.uint32(crc32(id_bytes(name)))
        first = int(np.searchsorted(self.keys, key))
        while first < len(self.keys) and self.keys[first] == key:
            number = int(self.order[first])
            if self[number] == name:
                return number
            first += 1
        return None


def ordered(
    keys: NDArray[np.uint32],
    numbers: NDArray[np.uint32],
    name: Callable[[int], str],
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Sort documents by the keys of their ids, then by number; refuse twins.

    ``name`` gives the id of a number.
    """
    joined = keys.astype(np.uint64) << np.uint64(32) | numbers
    joined.sort()
    keys, numbers = (
        (joined >> np.uint64(32)).astype(np.uint32),
        joined.astype(np.uint32),
    )
    tied = np.flatnonzero(keys[1:] == keys[:-1])
    seen: dict[str, int] = {}
    for at in np.unique([tied, tied + 1]):
        number = int(numbers[at])
        before = seen.setdefault(name(number), number)
        if before != number:
            raise TwinIds(name(number), before, number)
    return keys, numbers
