"""Names for the types of arrays, and arrays that grow."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

LINE = 64  # bytes of a cache line
_LARGE = 1 << 21


class Growing:
    """Rows appended one after the other, room being doubled when it is used up.

    >>> grown = Growing(np.arange(2))
    >>> grown.append([5, 7])
    >>> grown.array.tolist()
    [0, 1, 5, 7]
    """

    def __init__(self, start: Array) -> None:
        self._room = np.array(start)
        self._used = len(start)

    def __len__(self) -> int:
        return self._used

    @property
    def array(self) -> Array:
        """What has been appended, a view that holds until the next ``append``."""
        return self._room[: self._used]

    @property
    def room(self) -> Array:
        """The same with the spare places behind it, which are zero."""
        return self._room

    def append(self, values: ArrayLike) -> None:
        """Add rows at the end."""
        added = np.asarray(values)
        self.extend(len(added))[:] = added

    def extend(self, count: int) -> Array:
        """Add so many rows of zeros; return them, to be written."""
        first, self._used = self._used, self._used + count
        if self._used > len(self._room):
            size = max(self._used, 2 * len(self._room), 16)
            larger = np.zeros((size, *self._room.shape[1:]), self._room.dtype)
            larger[:first] = self._room[:first]
            self._room = larger
        return self._room[first : self._used]


def zeros(shape: int | tuple[int, ...], kind: DTypeLike) -> Array:
    """Return an array of zeros in its own pages, which cost nothing until touched.

    The allocator keeps what is freed, in pieces that the next, larger request cannot
    use; a mapping for each array keeps the peak at what is really held.

    >>> zeros((2, 2), np.uint8).tolist()
    [[0, 0], [0, 0]]
    """
    count = int(np.prod(shape))
    size = count * np.dtype(kind).itemsize
    private = getattr(mmap, "MAP_PRIVATE", 0)  # where the system makes a difference
    flags = {"flags": private | mmap.MAP_ANONYMOUS} if private else {}
    memory = mmap.mmap(-1, max(size, 1), **flags)
    if size >= _LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, kind, count).reshape(shape)


def words_of(buffer: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """View the eight bytes from each place on as one number."""
    return np.ndarray(len(buffer) - 7, np.uint64, buffer, strides=(1,))


def bounds_of(sizes: ArrayLike) -> Ints:
    """Return where each of some pieces begins, and where the last ends.

    >>> bounds_of([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def cut_runs(bounds: Ints, size: int) -> Iterator[slice]:
    """Cut pieces into runs of about ``size`` entries together, one piece at least.

    >>> [(run.start, run.stop) for run in cut_runs(np.array([0, 2, 5, 6]), 4)]
    [(0, 1), (1, 3)]
    """
    first, n = 0, len(bounds) - 1
    while first < n:
        last = int(np.searchsorted(bounds, bounds[first] + size, side="right")) - 1
        last = min(max(last, first + 1), n)
        yield slice(first, last)
        first = last


def ranges(begins: Array, lengths: Array) -> Ints:
    """begin, begin + 1, …, begin + length − 1 of each, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    return np.repeat(begins - ends + lengths, lengths) + np.arange(lengths.sum())


def with_room(table: Array, shape: tuple[int, int], kind: Any) -> Array:
    """A copy of a table with more room, zeros in it, beginning on a cache line.

    >>> with_room(np.ones((1, 1)), (2, 2), np.float32).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    size = np.dtype(kind).itemsize
    raw = np.zeros(shape[0] * shape[1] * size + LINE, np.uint8)
    first = -raw.ctypes.data % LINE
    used = raw[first : len(raw) - LINE + first]
    roomy: Array = used.view(kind).reshape(shape)
    roomy[: table.shape[0], : table.shape[1]] = table
    return roomy


def read_only(arrays: Iterable[Array]) -> tuple[Array, ...]:
    """Views that refuse writing, as mapped files are: kernels see one type."""
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views
