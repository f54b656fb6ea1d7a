"""A portion of a collection's rows in a worker's memory, and what it is asked there.

A source is names and numbers, so that any worker can open it; folders must lie where
all machines have them under the same name.

The first argument of each function is the portion; what travels are weights, scores,
sums and duals, never the portion.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints, Rows, rows_from, take
from classmark.examples.problem import mean_of
from classmark.index.index import Index
from classmark.index.models import Prepared
from classmark.index.snapshot import StoredField, open_generation
from classmark.index.vectors import unit_rows
from classmark.ranking import top
from classmark.solvers.cutting_planes import linear
from classmark.solvers.hinge import HingeAscent, Hinges, joined
from classmark.storage import open_folder
from classmark.validation import generator

Bits = NDArray[np.uint8]


class Packed(NamedTuple):
    """Duals that share a box: which are at it, which are between, and where those are.

    size : how many duals there are;  full, free : bits;  values : of the free ones.
    """

    size: int
    full: Bits
    free: Bits
    values: Floats


def packed(duals: Floats, box: float) -> Packed:
    """Pack duals, exactly.

    >>> packed(np.array([0.0, 2.0, 0.5]), 2.0).values.tolist()
    [0.5]
    """
    full = duals == box
    free = (duals != 0.0) & ~full
    return Packed(len(duals), np.packbits(full), np.packbits(free), duals[free])


def unpacked(sent: Packed, box: float) -> Floats:
    """The duals that were packed.

    >>> unpacked(packed(np.array([0.0, 2.0, 0.5]), 2.0), 2.0).tolist()
    [0.0, 2.0, 0.5]
    """
    full = np.unpackbits(sent.full, count=sent.size).astype(bool)
    free = np.unpackbits(sent.free, count=sent.size).astype(bool)
    duals = np.where(full, box, 0.0)
    duals[free] = sent.values
    return duals


class SavedRows(NamedTuple):
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


class RowSource(Protocol):
    """What rows can be had from, said by names and numbers."""

    def size_bytes(self) -> int:
        """About what the rows take in memory."""
        ...

    def open(self) -> Rows:
        """Read or make the rows."""
        ...


class UniformHinges(NamedTuple):
    """Hinges that differ in their rows alone, one for each row; ``out`` have no box."""

    sign: float
    box: float
    margin: float
    out: Ints

    def hinges(self, n: int) -> Hinges:
        """The hinges of ``n`` rows."""
        boxes = np.full(n, self.box)
        boxes[self.out] = 0.0
        rows = np.arange(n, dtype=np.uint32)
        return Hinges(rows, np.full(n, self.sign), boxes, np.full(n, self.margin))


class Few(NamedTuple):
    """Hinges that every machine sees: their rows, and where their duals are."""

    rows: Rows
    hinges: Hinges
    duals: Floats


class Aim(NamedTuple):
    """When to stop: a gap of ``enough`` is left alone, else ``tol`` is climbed to.

    base : what the objective has beside the costs of rows like these;  share : how many
    times more such rows there are in all;  passes : over the rows that may move.
    """

    base: float
    share: float
    enough: float
    tol: float
    passes: int


class PortionStep(NamedTuple):
    """The cost of the rows and their part of the gap before a step; their new duals.

    change : of the weights, by these rows alone, a single row;  worth : Σ margin ·
    change of the dual. None and 0 where nothing moved.
    """

    cost: float
    gap: float
    duals: Packed | None = None
    change: Rows | None = None
    worth: float = 0.0


def total(mine: Rows) -> Floats:
    """The sum of all rows, (features,)."""
    return mean_of(mine) * len(mine)


def score(mine: Rows, weights: Floats) -> Floats:
    """X · w."""
    return linear([mine]).product(weights)


def combine(mine: Rows, coefficients: Floats) -> Floats:
    """Xᵀ · c."""
    return linear([mine]).back(coefficients)


def best(mine: Rows, hidden: Ints, weights: Floats, k: int) -> tuple[Ints, Floats]:
    """The best rows that are not hidden, ties by number, and their scores."""
    scores = score(mine, weights)
    scores[hidden] = -np.inf
    rows = top(scores, min(k, len(scores)))
    rows = rows[scores[rows] > -np.inf]
    return rows, scores[rows]


def step(
    mine: Rows, state: tuple[Packed, UniformHinges], few: Few, weights: Floats, aim: Aim
) -> PortionStep:
    """Survey the portion by ``weights``, then climb with it, all others staying.

    The change is the best for these rows, a few passes near [HsiehEtAl08]; it is to be
    joined with what others propose by a common step [LeeRoth15].
    """
    from classmark.solvers.kernels_hinge import combine

    alike, n = state[1], len(few.duals)
    duals, hinges = unpacked(state[0], alike.box), alike.hinges(len(mine))
    rest = hinges._replace(rows=hinges.rows + np.uint32(len(few.rows)))
    start = np.concatenate([few.duals, duals])
    ascent = HingeAscent(
        [few.rows, mine], joined(few.hinges, rest), None, start, weights,
        generator(0),
    )  # fmt: skip
    ascent.look()
    slopes = ascent.slopes[n:]
    losses = hinges.boxes * np.maximum(0.0, -slopes)
    cost = float(losses.sum())
    gap = float(np.maximum(0.0, losses + duals * slopes).sum())
    if gap <= aim.enough or not len(ascent.order):
        return PortionStep(cost, gap)
    ascent.value = aim.base + aim.share * (cost - gap)
    ascent.climb(aim.tol, aim.passes)
    after = ascent.duals[n:]
    if np.array_equal(after, duals):
        return PortionStep(cost, gap)
    change = ascent.weights - weights
    back = few.hinges.signs * (few.duals - ascent.duals[:n])
    combine(ascent.parts, few.hinges.rows, back, change)  # without the few
    worth = alike.margin * float((after - duals).sum())
    row = rows_from(change[np.newaxis])
    return PortionStep(cost, gap, packed(after, alike.box), row, worth)
