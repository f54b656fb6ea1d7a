"""A segment is written term by term, in order, field after field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Ints
from classmark.index.codecs import SLACK, Column, pack_lists, pack_values
from classmark.index.ids import ordered
from classmark.index.segments import FORMAT, VERSION
from classmark.problems import Mistake
from classmark.storage import FolderWriter

_MOST = 1 << 31


class Inverted(NamedTuple):
    """Lists of some terms, in the order of the terms, in memory.

    terms : uint8, a newline after each;  postings : uint64, item · 2³² + count; list
    ``i`` is ``begins[i]`` to ``ends[i]``;  gaps (or None) : uint32, the places, with
    their own ``gap_begins`` and ``gap_ends``.
    """

    terms: NDArray[np.uint8]
    postings: NDArray[np.uint64]
    begins: Ints
    ends: Ints
    gaps: NDArray[np.uint32] | None = None
    gap_begins: Ints | None = None
    gap_ends: Ints | None = None


class SegmentWriter:
    """A segment in the making; ``close`` puts it in its place, whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = FolderWriter(folder)
        self._fields: list[tuple[str, int]] = []
        self._documents = 0
        self._id_sizes = Column()
        self._columns: dict[str, Column] = {}
        for name, kind in (("ids", np.uint8), ("id-sizes", np.uint8)):
            self._folder.append(name, np.empty(0, kind))

    def field(self, name: str, *, positions: bool) -> None:
        """Begin the next field; the last one is complete."""
        self._end_field()
        self._fields.append((name, 0))
        names = ["df", "cf", "sizes", *(["spans"] if positions else [])]
        self._columns = {column: Column() for column in names}
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
        lists = pack_lists(inverted.postings, inverted.begins, inverted.ends)
        for part, packed in lists:
            self._append("postings", packed.content)
            self._column("df", frequency[part])
            self._column("cf", packed.totals - frequency[part])
            self._column("sizes", packed.sizes)
        if inverted.gaps is None:
            return
        begins, ends = inverted.gap_begins, inverted.gap_ends
        if begins is not None and ends is not None:
            for packed in pack_values(inverted.gaps, begins, ends):
                self._append("places", packed.content)
                self._column("spans", packed.sizes)

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

    def close(self) -> None:
        """Complete the segment."""
        self._end_field()
        self._folder.append("id-sizes", self._id_sizes.rest())
        if self._documents >= _MOST:
            raise Mistake(
                f"{self._documents} documents are more than a segment can hold: "
                f"part the collection into indexes of fewer than {_MOST}"
            )
        settings = {"documents": self._documents, "fields": self._fields}
        self._folder.close(FORMAT, VERSION, settings)

    def discard(self) -> None:
        """Remove what was written."""
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
