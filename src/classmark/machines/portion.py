"""A portion of a collection's rows in a worker's memory, and what it is asked there.

Each is made on a worker from its description, and used there, round after round. Where
a worker is lost, what it had is made again on another.

A source is names and numbers, so that any worker can open it; folders must lie where
all machines have them under the same name.

The first argument of each function is the portion; what travels are weights, scores,
sums and duals, never the portion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints
from classmark.examples.problem import mean_of
from classmark.index.field import StoredField
from classmark.index.plans import Prepared
from classmark.index.snapshot import open_generation
from classmark.index.vectors import unit_rows
from classmark.ranking import top
from classmark.solvers.cutting_planes import linear
from classmark.solvers.hinge import HingeAscent, Hinges, joined
from classmark.sparse import Rows, rows_from, take
from classmark.storage import open_folder
from classmark.validation import generator

if TYPE_CHECKING:
    from distributed import Client, Future

    from classmark.index.index import Index


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


T = TypeVar("T")
SECONDS = 0.5  # after which an answer is thought to be late, and workers are counted


class Thing:
    """``make(task)``; sent elsewhere it is made anew there.

    >>> Thing(abs, -2).value
    2
    """

    def __init__(self, make: Callable[[Any], Any], task: Any) -> None:
        self._make, self._task = make, task
        self.value = make(task)

    def __reduce__(self) -> tuple[Any, ...]:
        return Thing, (self._make, self._task)


class RemoteObjects:
    """Objects in the memory of workers, by number, and the worker that has each."""

    def __init__(
        self, client: Client, make: Callable[[Any], Any], tasks: Sequence[Any]
    ) -> None:
        self._client, self._make, self._tasks = client, make, list(tasks)
        self._things: dict[int, Future[Any]] = {}
        self._places: dict[int, str] = {}
        self.settle()

    def __len__(self) -> int:
        return len(self._tasks)

    def settle(self) -> list[int]:
        """Make lost objects anew, spread evenly; return their numbers."""
        workers = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
        lost = [n for n in range(len(self)) if self._places.get(n) not in workers]
        if not workers:
            return []
        load = dict.fromkeys(workers, 0)
        for number, place in self._places.items():
            if number not in lost:
                load[place] += 1
        for number in lost:
            place = min(workers, key=load.__getitem__)
            load[place] += 1
            self._places[number] = place
            self._things[number] = self._client.submit(
                Thing, self._make, self._tasks[number], workers=[place], pure=False
            )
        return lost

    def use(
        self, number: int, work: Callable[..., Any], arguments: Sequence[Any]
    ) -> Future[Any]:
        """Submit work on an object to the worker that has it."""
        return self._client.submit(
            _used, self._things[number], work, *arguments,
            workers=[self._places[number]], pure=False,
        )  # fmt: skip

    def answers(
        self, work: Callable[..., T], arguments: Sequence[Sequence[Any]]
    ) -> list[T]:
        """One round: ``work(object, *arguments[number])`` for each object."""
        futures = [self.use(n, work, arguments[n]) for n in range(len(self))]
        answers: list[T] = []
        while len(answers) < len(self):
            future = futures[len(answers)]
            try:
                answers.append(future.result(timeout=SECONDS))
            except TimeoutError:
                if future.status == "error":
                    raise
                for number in self.settle():
                    futures[number] = self.use(number, work, arguments[number])
        return answers


def _used(thing: Thing, work: Callable[..., T], *arguments: Any) -> T:
    return work(thing.value, *arguments)


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


class Source(Protocol):
    """What rows can be had from, said by names and numbers."""

    def size_bytes(self) -> int:
        """About what the rows take in memory."""
        ...

    def open(self) -> Rows:
        """Read or make the rows."""
        ...


class Portion:
    """Rows in memory, as arrays of their own."""

    def __init__(self, rows: Rows) -> None:
        self.starts, self.columns, self.values = rows.starts, rows.columns, rows.values
        self.width = rows.width

    @property
    def rows(self) -> Rows:
        """The rows."""
        return Rows(self.starts, self.columns, self.values, self.width)


class Alike(NamedTuple):
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


class Moved(NamedTuple):
    """The cost of the rows and their part of the gap before a step; their new duals.

    change : of the weights, by these rows alone, a single row;  worth : Σ margin ·
    change of the dual. None and 0 where nothing moved.
    """

    cost: float
    gap: float
    duals: Packed | None = None
    change: Rows | None = None
    worth: float = 0.0


def portion(source: Source) -> Portion:
    """Bring a portion into memory."""
    return Portion(source.open())


def extent(mine: Portion) -> tuple[int, int, int]:
    """Rows, columns, values."""
    return len(mine.rows), mine.width, mine.rows.nnz


def total(mine: Portion) -> Floats:
    """The sum of all rows, (features,)."""
    return mean_of(mine.rows) * len(mine.rows)


def score(mine: Portion, weights: Floats) -> Floats:
    """X · w."""
    return linear([mine.rows]).product(weights)


def combine(mine: Portion, coefficients: Floats) -> Floats:
    """Xᵀ · c."""
    return linear([mine.rows]).back(coefficients)


def fetch(mine: Portion, rows: Ints) -> Rows:
    """A few rows, to travel after all."""
    return take(mine.rows, rows)


def best(mine: Portion, hidden: Ints, weights: Floats, k: int) -> tuple[Ints, Floats]:
    """The best rows that are not hidden, ties by number, and their scores."""
    scores = score(mine, weights)
    scores[hidden] = -np.inf
    rows = top(scores, min(k, len(scores)))
    rows = rows[scores[rows] > -np.inf]
    return rows, scores[rows]


def step(
    mine: Portion, state: tuple[Packed, Alike], few: Few, weights: Floats, aim: Aim
) -> Moved:
    """Survey the portion by ``weights``, then climb with it, all others staying.

    The change is the best for these rows, a few passes near [HsiehEtAl08]; it is to be
    joined with what others propose by a common step [LeeRoth15].
    """
    from classmark.solvers.kernels_hinge import combine

    alike, n = state[1], len(few.duals)
    duals, hinges = unpacked(state[0], alike.box), alike.hinges(len(mine.rows))
    rest = hinges._replace(rows=hinges.rows + np.uint32(len(few.rows)))
    start = np.concatenate([few.duals, duals])
    ascent = HingeAscent(
        [few.rows, mine.rows], joined(few.hinges, rest), None, start, weights,
        generator(0),
    )  # fmt: skip
    ascent.look()
    slopes = ascent.slopes[n:]
    losses = hinges.boxes * np.maximum(0.0, -slopes)
    cost = float(losses.sum())
    gap = float(np.maximum(0.0, losses + duals * slopes).sum())
    if gap <= aim.enough or not len(ascent.order):
        return Moved(cost, gap)
    ascent.value = aim.base + aim.share * (cost - gap)
    ascent.climb(aim.tol, aim.passes)
    after = ascent.duals[n:]
    if np.array_equal(after, duals):
        return Moved(cost, gap)
    change = ascent.weights - weights
    back = few.hinges.signs * (few.duals - ascent.duals[:n])
    combine(ascent.parts, few.hinges.rows, back, change)  # without the few
    worth = alike.margin * float((after - duals).sum())
    row = rows_from(change[np.newaxis])
    return Moved(cost, gap, packed(after, alike.box), row, worth)
