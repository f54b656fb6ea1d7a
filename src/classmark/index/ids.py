"""Which number has the document with this id?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Ints
from classmark.problems import Mistake


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
