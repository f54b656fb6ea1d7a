"""Arrays: names for their types, those that grow, and the one sparse matrix, Rows.

``Rows`` are what everything flows through: compressed sparse rows with 64-bit pointers
and **uint32** columns (a numba kernel over uint32 needs no test for negative indices
and runs at the speed of C).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from classmark.problems import Mistake

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Csr: TypeAlias = "csr_matrix"  # SciPy's, which is imported where it is used

LINE = 64  # bytes of a cache line
_LARGE = 1 << 21
BLOCK = 1 << 16  # values looked at in one go
PARTS = ("starts", "columns", "values")  # the arrays of Rows


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


def distinct(values: Array) -> Array:
    """The different values, increasing: by sorting, not hashing as ``np.unique`` does.

    Hashing takes time that grows with the square from some hundred thousand on.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    different: Array = ordered[first]
    return different


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


@dataclass(frozen=True, slots=True)
class Rows:
    """A sparse matrix of shape ``(n, width)`` in compressed rows.

    Row ``i`` holds ``values[starts[i]:starts[i+1]]`` in the columns
    ``columns[starts[i]:starts[i+1]]``, which increase strictly.

    starts : int64, shape (n + 1,);  columns : uint32, shape (nnz,);
    values : float32 or float64, shape (nnz,);  width : number of columns.
    """

    starts: Ints
    columns: NDArray[np.uint32]
    values: Array
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, columns."""
        return len(self), self.width

    @property
    def nnz(self) -> int:
        """How many values are stored."""
        return int(self.starts[-1])

    def row(self, i: int) -> tuple[NDArray[np.uint32], Array]:
        """Columns and values of row ``i``."""
        start, end = self.starts[i], self.starts[i + 1]
        return self.columns[start:end], self.values[start:end]

    def with_width(self, width: int) -> Rows:
        """The same values among another number of columns (arrays shared)."""
        return Rows(self.starts, self.columns, self.values, width)

    def arrays(self, name: str = "") -> dict[str, Array]:
        """The arrays, by the names under which they are saved (see ``rows_in``)."""
        prefix = f"{name}_" if name else ""
        return {f"{prefix}{part}": getattr(self, part) for part in PARTS}

    def to_scipy(self) -> csr_matrix:
        """The same as ``scipy.sparse.csr_matrix`` (values and columns shared)."""
        from scipy.sparse import csr_matrix

        small = self.nnz < 2**31 and self.width < 2**31
        kind: Any = np.int32 if small else np.int64
        columns = self.columns.view(kind) if small else self.columns.astype(kind)
        parts: Any = (self.values, columns, self.starts.astype(kind))
        matrix: csr_matrix = csr_matrix(parts, shape=self.shape)
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix


def rows_from(X: ArrayLike | csr_array | csr_matrix, *, name: str = "X") -> Rows:
    """Take in an array, data frame or sparse matrix; float32 stays, else float64.

    Raises a ``Mistake`` naming the argument and the row where a value is not finite.

    >>> rows_from([[0.0, 2.0], [1.0, 0.0]]).columns.tolist()
    [1, 0]
    """
    if isinstance(X, Rows):
        return X
    from scipy import sparse

    if not sparse.issparse(X):
        X = sparse.csr_array(_table_from(X, name))
    if X.dtype.kind == "c":
        raise Mistake(f"{name}: Complex data not supported: give real numbers")
    matrix = sparse.csr_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    kind = np.float32 if matrix.dtype == np.float32 else np.float64
    indices = matrix.indices
    rows = Rows(
        matrix.indptr.astype(np.int64),
        indices.view(np.uint32)
        if indices.dtype == np.int32
        else indices.astype(np.uint32),
        matrix.data.astype(kind, copy=False),
        int(matrix.shape[1]),
    )
    require_finite(rows, name=name)
    return rows


def _table_from(X: Any, name: str) -> Any:
    """A matrix of numbers from lists, arrays and data frames (by ``__array__``)."""
    if hasattr(getattr(X, "sparse", None), "to_coo"):  # a data frame of pandas
        return X.sparse.to_coo()
    dense = np.asarray(X)
    if dense.ndim != 2:
        raise Mistake(
            f"{name} has {dense.ndim} dimension(s). Reshape your data: give a matrix, "
            "one row per document (for one document: X.reshape(1, -1))"
        )
    if dense.dtype == object:
        with suppress(ValueError):  # of what is no number
            dense = dense.astype(np.float64)
    if dense.dtype.kind not in "biufc":
        raise Mistake(f"{name} holds {dense.dtype}: numbers are needed")
    return dense


def rows_in(arrays: Mapping[str, Array], name: str, width: int) -> Rows:
    """The rows that were saved as ``Rows.arrays(name)``.

    >>> rows = rows_from([[0.0, 2.0]])
    >>> rows_in(rows.arrays("words"), "words", 2).row(0)[1].tolist()
    [2.0]
    """
    prefix = f"{name}_" if name else ""
    starts, columns, values = (arrays[f"{prefix}{part}"] for part in PARTS)
    return Rows(starts, columns, values, width)


def require_finite(rows: Rows, *, name: str) -> None:
    """Refuse NaN and infinity, naming the first row that has one."""
    for start in range(0, rows.nnz, BLOCK):
        bad = ~np.isfinite(rows.values[start : start + BLOCK])
        if bad.any():
            place = start + int(np.argmax(bad))
            row = int(np.searchsorted(rows.starts, place, side="right")) - 1
            raise Mistake(
                f"{name}, row {row}: the value is not finite: replace NaN and infinity"
            )


def transpose(rows: Rows) -> Rows:
    """Columns become rows, in O(nnz), each new row sorted.

    >>> transpose(rows_from([[0.0, 2.0], [1.0, 3.0]])).values.tolist()
    [1.0, 2.0, 3.0]
    """
    starts = bounds_of(np.bincount(rows.columns, minlength=rows.width))
    order = np.argsort(rows.columns, kind="stable")
    owner = np.repeat(np.arange(len(rows), dtype=np.uint32), np.diff(rows.starts))
    return Rows(starts, owner[order], rows.values[order], len(rows))


def take(rows: Rows, which: ArrayLike) -> Rows:
    """Rows by number, or by mask, in the order given."""
    index = np.asarray(which)
    if index.dtype == bool:
        index = np.flatnonzero(index)
    index = index.astype(np.int64, copy=False)
    begins = rows.starts[index]
    lengths = rows.starts[index + 1] - begins
    starts = bounds_of(lengths)
    columns = np.empty(starts[-1], rows.columns.dtype)
    values = np.empty(starts[-1], rows.values.dtype)
    for run in cut_runs(starts, BLOCK):  # all places at once would leave the caches
        here = slice(starts[run.start], starts[run.stop])
        places = ranges(begins[run], lengths[run])
        columns[here], values[here] = rows.columns[places], rows.values[places]
    return Rows(starts, columns, values, rows.width)


def stack(parts: list[Rows]) -> Rows:
    """One below the other; the width is that of the widest."""
    ends = np.cumsum([0] + [part.nnz for part in parts])
    starts = [part.starts[1:] + end for part, end in zip(parts, ends, strict=False)]
    return Rows(
        np.concatenate([np.zeros(1, np.int64), *starts]),
        np.concatenate([np.empty(0, np.uint32), *(part.columns for part in parts)]),
        np.concatenate([part.values for part in parts]) if parts else np.empty(0),
        max((part.width for part in parts), default=0),
    )


def beside(left: Rows, right: Rows, first: int | None = None) -> Rows:
    """The rows of both, one after the other: the right one's columns come last.

    first : the column that the right one's begin with, where the left one has left
    these columns empty; None: its width.

    >>> both = beside(rows_from([[0.0, 2.0]]), rows_from([[3.0, 4.0]]))
    >>> both.to_scipy().toarray().tolist()
    [[0.0, 2.0, 3.0, 4.0]]
    >>> both = beside(rows_from([[1.0, 0.0, 2.0]]), rows_from([[3.0]]), 1)
    >>> both.to_scipy().toarray().tolist()
    [[1.0, 3.0, 2.0]]
    """
    if len(left) != len(right):
        raise Mistake(f"{len(left)} rows beside {len(right)}: give as many")
    first = left.width if first is None else first
    starts = left.starts + right.starts
    row = np.repeat(np.arange(len(left)), np.diff(left.starts))
    is_behind = left.columns >= first
    places = np.arange(left.nnz) + right.starts[row + is_behind]
    is_right = np.ones(starts[-1], np.bool_)
    is_right[places] = False
    columns = np.empty(starts[-1], np.uint32)
    values = np.empty(starts[-1], np.result_type(left.values, right.values))
    columns[places], columns[is_right] = left.columns, right.columns + np.uint32(first)
    values[places], values[is_right] = left.values, right.values
    return Rows(starts, columns, values, max(left.width, first + right.width))


SAMPLED, LEAST_TAIL = 16, 64  # rows looked at; a shorter tail is not worth its while


def dense_tail(rows: Rows) -> int:
    """How many entries most rows end with that are columns up to the last; 0: few.

    It is read off some rows: those that differ may be met.

    >>> dense_tail(rows_from(np.ones((3, 70))))
    70
    """
    if not len(rows):
        return 0
    seen = np.unique(np.linspace(0, len(rows) - 1, SAMPLED).astype(np.int64))
    seen = seen[rows.starts[seen + 1] - rows.starts[seen] >= LEAST_TAIL]
    place = rows.starts[seen + 1] - LEAST_TAIL  # columns increase: this one tells
    tails = []
    for row in seen[rows.columns[place] == rows.width - LEAST_TAIL]:
        columns, _ = rows.row(row)
        follow = rows.width - columns[::-1].astype(np.int64)  # 1, 2, 3, … in a tail
        apart = np.flatnonzero(follow != np.arange(1, len(columns) + 1))
        tails.append(int(apart[0]) if len(apart) else len(columns))
    return min(tails, default=0)


def keep_columns(rows: Rows, columns: ArrayLike) -> Rows:
    """Select columns (sorted); they are renumbered from 0."""
    selected = np.asarray(columns, dtype=np.int64)
    number = np.full(rows.width, -1, np.int64)
    number[selected] = np.arange(len(selected))
    renumbered = number[rows.columns]
    columns = renumbered.astype(np.uint32)
    every = Rows(rows.starts, columns, rows.values, len(selected))
    return keep_values(every, renumbered >= 0)


def keep_values(rows: Rows, mask: Bools) -> Rows:
    """Select stored values by a mask, shape (nnz,); the width stays.

    >>> keep_values(rows_from([[1.0, 2.0]]), np.array([False, True])).columns.tolist()
    [1]
    """
    if mask.all():
        return rows
    counted = bounds_of(mask)
    return Rows(counted[rows.starts], rows.columns[mask], rows.values[mask], rows.width)


def with_constant(rows: Rows, value: float, *, first: bool = False) -> Rows:
    """One more column, the last or the first, holding the same value in every row.

    >>> with_constant(rows_from([[0.0, 2.0]]), -1.0).to_scipy().toarray().tolist()
    [[0.0, 2.0, -1.0]]
    """
    places = rows.starts[:-1] if first else rows.starts[1:]
    columns = rows.columns + np.uint32(first)
    return Rows(
        rows.starts + np.arange(len(rows) + 1),
        np.insert(columns, places, 0 if first else rows.width).astype(np.uint32),
        np.insert(rows.values, places, value),
        rows.width + 1,
    )
