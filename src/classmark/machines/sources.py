"""What rows can be had from: a saved folder, or the documents of an index.

A source is names and numbers, so that any worker can open it; folders must lie where
all machines have them under the same name.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.index.plans import Prepared
from classmark.index.snapshots import open_generation
from classmark.index.stored import StoredField
from classmark.index.unit_vectors import unit_rows
from classmark.sparse import Rows, take
from classmark.storage import open_folder

if TYPE_CHECKING:
    from classmark.index.directory import Index


class Stored(NamedTuple):
    """Rows ``first`` to before ``last`` of a saved folder.

    format, version : what the folder says it is; it has the arrays starts, columns and
    values, and a setting width.
    """

    folder: str
    format: str
    version: int
    first: int
    last: int

    def size_bytes(self) -> int:
        """What the rows take in memory."""
        saved = open_folder(Path(self.folder), self.format, self.version)
        starts, values = saved.arrays["starts"], saved.arrays["values"]
        n = int(starts[self.last] - starts[self.first])
        return n * (4 + values.itemsize) + 8 * (self.last - self.first)

    def open(self) -> Rows:
        """Read the rows, and no others, into memory."""
        saved = open_folder(Path(self.folder), self.format, self.version)
        starts = np.array(saved.arrays["starts"][self.first : self.last + 1])
        begin, end = int(starts[0]), int(starts[-1])
        columns, values = (
            np.array(saved.arrays[name][begin:end]) for name in ("columns", "values")
        )
        return Rows(starts - begin, columns, values, int(saved.settings["width"]))


class Indexed(NamedTuple):
    """Documents of one segment of an index, as unit rows of tf · idf.

    field : whose terms are the columns; terms are numbered, and weighed, as in the
    whole index;  first, last : documents of the segment, deleted ones being left out.
    """

    folder: str
    generation: int
    field: str
    segment: int
    first: int
    last: int
    memory: int = 0

    def size_bytes(self) -> int:
        """What the rows take in memory: twice, while lists become rows."""
        snapshot = open_generation(Path(self.folder), self.generation)
        segment = snapshot.parts[self.segment].segment
        if self.field not in segment.fields:
            return 0
        share = (self.last - self.first) / max(1, segment.n_items)
        return int(2 * 8 * share * int(segment.fields[self.field].whole.df.sum()))

    def open(self) -> Rows:
        """Turn the segment's lists into rows."""
        snapshot = open_generation(Path(self.folder), self.generation)
        within = slice(self.segment, self.segment + 1)
        field = StoredField(snapshot, self.field, self.memory, within)
        rows = unit_rows(Prepared(field), self.first, self.last)
        if field.alive is None:
            return rows
        return take(rows, field.alive[self.first : self.last])


def shares(size: int, parts: int) -> list[tuple[int, int]]:
    """Part numbers into ranges as equal as can be, at least one, none of them empty.

    >>> shares(5, 2), shares(1, 3)
    ([(0, 2), (2, 5)], [(0, 1)])
    """
    parts = max(1, parts)
    cuts = [size * at // parts for at in range(parts + 1)]
    return [(first, last) for first, last in pairwise(cuts) if last > first]


def of_index(index: Index, field: str, parts: int) -> Sequence[Indexed]:
    """The documents of an index in about so many parts, no segment parted in vain."""
    snapshot = open_generation(index.path, index.generation)
    segments = [part.segment.n_items for part in snapshot.parts]
    total = max(1, sum(segments))
    return [
        Indexed(str(index.path.absolute()), index.generation, field, at, first, last)
        for at, size in enumerate(segments)
        for first, last in shares(size, round(parts * size / total))
    ]
