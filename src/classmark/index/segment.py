"""A segment: one folder with the postings of some documents, field by field.

ids, id-sizes, id-keys, id-order : the documents' ids and an order to find them by;
and for each field, numbered ``f`` in the order of the settings:
f-terms : uint8, the terms in order, a newline after each;
f-df, f-cf, f-sizes : packed columns: postings, further occurrences, bytes of each list;
f-postings : uint8, the packed lists;  f-lengths : uint32, tokens of each document;
f-spans, f-places : with positions, the bytes of each list of places, and those lists.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Bools, Ints, bounds_of
from classmark.index.kernels_postings import GONE
from classmark.index.postings import (
    SLACK,
    ColumnReader,
    Lists,
    PackedColumn,
    pack_lists,
    unpack_lists,
)
from classmark.problems import DamagedFolder, Mistake
from classmark.storage import Arrays, FolderWriter, let_go, open_folder, sync_folder

FORMAT, VERSION = "classmark-segment", 1
_PER_TERM, _PER_POSTING, _PER_PLACE = 160, 20, 10


@dataclass(eq=False)
class TermRange:
    """Some terms of a field, one after the other, and where their lists are.

    bounds : where each term begins in ``field.terms``;  df, cf : postings and
    occurrences of each, those in deleted documents included;  starts : the byte where
    each list begins;  place_starts : where places are kept, the byte where its places
    begin. All int64; bounds and starts have one more, the end.
    """

    field: SegmentField
    bounds: Ints
    df: Ints
    starts: Ints
    cf: Ints
    place_starts: Ints

    def __len__(self) -> int:
        return len(self.df)

    @cached_property
    def costs(self) -> Ints:
        """About how many bytes it takes to merge all terms before each."""
        costs = _PER_TERM + _PER_POSTING * self.df
        return bounds_of(costs + _PER_PLACE * self.cf * self.field.has_places)

    def reach(self, first: int, size: int) -> int:
        """Return how far so many bytes of cost go, one term at least."""
        far = int(np.searchsorted(self.costs, self.costs[first] + size, side="right"))
        return min(max(far - 1, first + 1), len(self))

    def term(self, number: int) -> bytes:
        """Return a term."""
        first, last = self.bounds[number], self.bounds[number + 1]
        return self.field.terms[first : last - 1].tobytes()

    def terms(self, run: slice) -> bytes:
        """Return some terms, a newline after each."""
        first, last = self.bounds[run.start], self.bounds[run.stop]
        return self.field.terms[first:last].tobytes()

    def place(self, term: bytes) -> int:
        """Return the place of the first term that is not before the given one."""
        return bisect_left(range(len(self)), term, key=self.term)

    def lists(self, numbers: Ints | slice) -> Lists:
        """Decode some lists."""
        content = self.field.stored("postings")
        return unpack_lists(content, self.starts[:-1][numbers], self.df[numbers])

    def gaps(self, numbers: Ints | slice) -> NDArray[np.uint32]:
        """Decode the places of some lists, as gaps within each document."""
        starts, content = self.place_starts[:-1][numbers], self.field.stored("places")
        return unpack_lists(content, starts, self.cf[numbers], np.uint32).items


class Cursor:
    """Goes over the terms of a field, holding a stretch of them at a time."""

    def __init__(self, field: SegmentField, size: int) -> None:
        self._size = max(size, 1)
        names = ("df", "cf", "sizes", *(("spans",) if field.has_places else ()))
        self._columns = {
            name: ColumnReader(field.stored(name), field.n_terms) for name in names
        }
        none, zero = np.empty(0, np.int64), np.zeros(1, np.int64)
        self.stretch = TermRange(field, zero, none, zero, none, zero)
        self.advance(0)

    def advance(self, n: int) -> None:
        """Leave ``n`` terms behind, and read on where too few are left."""
        old = self.stretch
        arrays = (old.bounds, old.df, old.starts, old.cf, old.place_starts)
        self.stretch = TermRange(old.field, *(array[n:] for array in arrays))
        if 2 * len(self.stretch) < self._size:
            self._read()

    def _read(self) -> None:
        old, field = self.stretch, self.stretch.field
        new = {name: c.read(self._size) for name, c in self._columns.items()}
        places = old.place_starts
        if field.has_places:
            places = _further(places, new["spans"])
        bounds = field.term_ends(int(old.bounds[-1]), len(new["df"]))
        self.stretch = TermRange(
            field,
            np.concatenate([old.bounds, bounds]),
            np.concatenate([old.df, new["df"]]),
            _further(old.starts, new["sizes"]),
            np.concatenate([old.cf, new["cf"] + new["df"]]),
            places,
        )


def _further(starts: Ints, sizes: Ints) -> Ints:
    return np.concatenate([starts, starts[-1] + np.cumsum(sizes)])


class SegmentField:
    """One field of a segment.

    terms : uint8, in order, a newline after each;  lengths : uint32, tokens of each
    document;  has_places : whether token positions are stored.
    """

    def __init__(self, arrays: Arrays, number: int, n_terms: int) -> None:
        self._arrays, self._number, self.n_terms = arrays, number, n_terms
        self.terms, self.lengths = self.stored("terms"), self.stored("lengths")
        self.has_places = f"{number}-places" in arrays

    def stored(self, name: str) -> Array:
        """Return an array as it is on disk."""
        return self._arrays[f"{self._number}-{name}"]

    @cached_property
    def whole(self) -> TermRange:
        """All terms."""
        return Cursor(self, self.n_terms).stretch

    def term_ends(self, start: int, n: int) -> Ints:
        """Return where the next ``n`` terms end, from a byte on."""
        pieces: list[Ints] = []
        while n:
            part = self.terms[start : start + 16 * n]
            ends = np.flatnonzero(part == ord("\n"))[:n] + 1
            if not len(part):
                raise DamagedFolder("terms end too soon: build the index again")
            pieces.append(start + ends)
            start = start + int(ends[-1]) if len(ends) else start + len(part)
            n -= len(ends)
        return np.concatenate([np.empty(0, np.int64), *pieces])


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


def id_keys(ids: Iterable[bytes]) -> NDArray[np.uint32]:
    """Return a checksum of each id: what they are sorted by."""
    return np.array([crc32(name) for name in ids], np.uint32)


@dataclass(eq=False)
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

    packed: NDArray[np.uint8]
    bounds: Ints
    keys: NDArray[np.uint32]
    order: NDArray[np.uint32]

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
        key = np.uint32(crc32(name.encode(errors="surrogatepass")))
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
    keys = (joined >> np.uint64(32)).astype(np.uint32)
    numbers = joined.astype(np.uint32)
    tied = np.flatnonzero(keys[1:] == keys[:-1])
    seen: dict[str, int] = {}
    for at in np.unique([tied, tied + 1]):
        number = int(numbers[at])
        before = seen.setdefault(name(number), number)
        if before != number:
            raise TwinIds(name(number), before, number)
    return keys, numbers


class Segment:
    """An opened segment: memory-mapped, never changed."""

    def __init__(self, folder: Path) -> None:
        saved = open_folder(folder, FORMAT, VERSION)
        self.folder, self.arrays = folder, saved.arrays
        self.n_items = int(saved.settings["documents"])
        self.fields = {
            name: SegmentField(saved.arrays, number, n_terms)
            for number, (name, n_terms) in enumerate(saved.settings["fields"])
        }

    @cached_property
    def ids(self) -> Ids:
        """The ids of its documents."""
        arrays = self.arrays
        sizes = ColumnReader(arrays["id-sizes"], self.n_items).read(self.n_items)
        order = arrays["id-keys"], arrays["id-order"]
        return Ids(arrays["ids"], bounds_of(sizes), *order)

    def move(self, folder: Path) -> None:
        """Put it in another place; whoever reads it reads on."""
        self.folder.rename(folder)
        sync_folder(folder.parent)
        self.folder = folder

    def let_go(self) -> None:
        """Give the mapped pages back to the system."""
        for array in self.arrays.values():
            let_go(array)


class SegmentPart(NamedTuple):
    """A segment, and which of its documents are alive (None: all)."""

    segment: Segment
    alive: Bools | None

    def kept(self) -> int:
        """Return how many documents are alive."""
        if self.alive is None:
            return self.segment.n_items
        return int(np.count_nonzero(self.alive))

    def lengths(self, name: str) -> NDArray[np.uint32]:
        """Return the tokens of each document in a field, 0 where there is no such."""
        if name not in self.segment.fields:
            return np.zeros(self.segment.n_items, np.uint32)
        return self.segment.fields[name].lengths

    def mask(self) -> Bools:
        """Return which documents are alive, an array also where all are."""
        if self.alive is None:
            return np.ones(self.segment.n_items, np.bool_)
        return self.alive

    def living(self, values: Array) -> Array:
        """Return the values of the documents that are alive."""
        return values if self.alive is None else values[self.alive]

    def ids(self) -> list[str]:
        """Return the ids of the documents that are alive, in order."""
        ids, alive = self.segment.ids, self.alive
        if alive is None:
            return list(ids)
        return [ids[int(number)] for number in np.flatnonzero(alive)]

    def renumbered(self, *, close_gaps: bool = True) -> NDArray[np.uint32]:
        """Return the new number of each document, GONE where deleted; empty: all.

        close_gaps : those alive are counted; else they have the numbers they had.
        """
        if self.alive is None:
            return np.empty(0, np.uint32)
        place = np.arange(len(self.alive), dtype=np.uint32)
        if close_gaps:
            place = np.cumsum(self.alive, dtype=np.uint32) - np.uint32(1)
        return np.where(self.alive, place, np.uint32(GONE)).astype(np.uint32)


_MOST = 1 << 31


class Inverted(NamedTuple):
    """Lists of some terms, in the order of the terms, in memory.

    terms : uint8, a newline after each;  postings : uint64, item · 2³² + count; list
    ``i`` is ``begins[i]`` to ``ends[i]``;  places (or None) : uint32, as gaps, with
    their own begins and ends.
    """

    terms: NDArray[np.uint8]
    postings: NDArray[np.uint64]
    begins: Ints
    ends: Ints
    places: tuple[NDArray[np.uint32], Ints, Ints] | None = None


class MergeSource(NamedTuple):
    """Some terms of a part, and what becomes of its documents' numbers."""

    stretch: TermRange
    shift: int
    renumbered: NDArray[np.uint32]


class SegmentWriter:
    """A segment in the making: after ``with`` it is in its place, whole, or nowhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = FolderWriter(folder)
        self._fields: list[tuple[str, int]] = []
        self._documents = 0
        self._id_sizes = PackedColumn()
        self._columns: dict[str, PackedColumn] = {}
        for name, kind in (("ids", np.uint8), ("id-sizes", np.uint8)):
            self._folder.append(name, np.empty(0, kind))

    def field(self, name: str, *, positions: bool) -> None:
        """Begin the next field; the last one is complete."""
        self._end_field()
        self._fields.append((name, 0))
        names = ["df", "cf", "sizes", *(["spans"] if positions else [])]
        self._columns = {column: PackedColumn() for column in names}
        for each in ["terms", "postings", *(["places"] if positions else [])]:
            self._append(each, np.empty(0, np.uint8))
        self._append("lengths", np.empty(0, np.uint32))

    def lengths(self, lengths: NDArray[np.uint32]) -> None:
        """Write the lengths of the next documents of the field."""
        self._append("lengths", lengths)

    def lists(self, inverted: Inverted) -> None:
        """Write the next terms of the field and their lists, which are not empty."""
        name, n_terms = self._fields[-1]
        self._fields[-1] = name, n_terms + len(inverted.begins)
        self._append("terms", inverted.terms)
        frequency = inverted.ends - inverted.begins
        lists = (inverted.postings, inverted.begins, inverted.ends)
        for part, content, sizes, totals in pack_lists(*lists, postings=True):
            self._append("postings", content)
            self._column("df", frequency[part])
            self._column("cf", totals - frequency[part])
            self._column("sizes", sizes)
        if inverted.places is not None:
            for _, content, sizes, _ in pack_lists(*inverted.places, postings=False):
                self._append("places", content)
                self._column("spans", sizes)

    def ids(self, packed: bytes, sizes: Ints) -> None:
        """Write the ids of the next documents."""
        self._folder.append("ids", np.frombuffer(packed, np.uint8))
        self._folder.append("id-sizes", self._id_sizes.take(sizes))
        self._documents += len(sizes)

    def keys(
        self,
        keys: NDArray[np.uint32],
        numbers: NDArray[np.uint32],
        name: Callable[[int], str],
    ) -> None:
        """Write by which keys documents are found; no key is below those before.

        ``name`` gives the id of a document by its number.
        """
        keys, numbers = ordered(keys, numbers, name)
        self._folder.append("id-keys", keys)
        self._folder.append("id-order", numbers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._end_field()
                self._folder.append("id-sizes", self._id_sizes.rest())
                if self._documents >= _MOST:
                    raise Mistake(
                        f"{self._documents} documents are more than a segment can "
                        "hold: part the collection into indexes of fewer than "
                        f"{_MOST}"
                    )
                settings = {"documents": self._documents, "fields": self._fields}
                self._folder.close(FORMAT, VERSION, settings)
        finally:
            self._folder.discard()

    def _append(self, name: str, piece: NDArray[np.uint8] | NDArray[np.uint32]) -> None:
        self._folder.append(f"{len(self._fields) - 1}-{name}", piece)

    def _column(self, name: str, values: Ints) -> None:
        self._append(name, self._columns[name].take(values))

    def _end_field(self) -> None:
        for name, column in self._columns.items():
            self._append(name, column.rest())
        if self._columns:
            slack = np.zeros(SLACK, np.uint8)
            self._append("postings", slack)
            if "spans" in self._columns:
                self._append("places", slack)
        self._columns = {}
