"""SpreadRows: a collection whose rows lie with workers, and never move.

The duals are parted as the rows are. In a round every worker takes the weights and its
own duals, surveys its rows, which gives the exact duality gap, and climbs alone, all
other parts standing still. What it proposes is a direction; the client takes the best
step along all of them at once, a length from 0 to 1 for each, together with the few
rows it has itself (the examples): again a problem of hinges, over the few rows and one
row for each direction, so ``ascend`` solves it. Steps of that length keep every dual in
its box. This is the block-diagonal model with an exact line search of [LeeRoth15], the
search being over all blocks' lengths; the climb is that of [HsiehEtAl08].

The state is the client's, so that a round may be repeated by whoever is there.

Weights go out; scores, sums, changes of weights and a few rows that are asked for come
back. What a lost worker had is read or made again by another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from operator import attrgetter, methodcaller
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints, Rows, rows_from, stack, take
from classmark.examples.problem import Collection
from classmark.examples.query import ExampleQuery, IndexExamples, OnlineResult
from classmark.index.index import Index
from classmark.index.models import Prepared
from classmark.language import N_
from classmark.machines import portion as work
from classmark.machines.cluster import Machines
from classmark.machines.portion import (
    Aim,
    Few,
    PortionStep,
    UniformHinges,
    of_index,
    packed,
    unpacked,
)
from classmark.problems import Mistake
from classmark.ranking import rank
from classmark.solvers.ascent import Ascent, Solution
from classmark.solvers.cutting_planes import dot, linear
from classmark.solvers.hinge import Hinges, ascend, checked, joined, picked, started

ROUNDS = 300  # the most to be made
PASSES = 4  # of a worker in a round: few, the step that follows being common to all
INNER = 0.01  # of the tolerance: how exactly the client solves its own problem
MASTER = 300  # passes of the client's own problem
ROUGH, FINER = 1.0, 0.5  # times the tolerance a worker climbs to; that much each round
ENOUGH = 0.1  # of the gap allowed to a part: it rests below


class Split(NamedTuple):
    """Hinges of a few rows that are at hand, and of all others, which are alike.

    few : rows and hinges;  at : where the few are among all hinges;  block : where the
    others are.
    """

    few: Rows
    hinges: Hinges
    at: Ints
    block: slice
    alike: UniformHinges


class _Ascent(Ascent):
    """Where an ascent stands; ``n_iter`` counts the rounds over all machines.

    pull : what the duals of the spread rows stand for, (features,);  few : those at
    hand;  weights : both together.
    """

    title = N_("rounds over all machines")

    def __init__(
        self, spread: SpreadRows, split: Split, duals: Floats, weights: Floats | None
    ) -> None:
        super().__init__()
        self.moves: list[PortionStep] = []
        self.spread, self.split = spread, split
        self.near, self.duals = duals[split.at], duals[split.block]
        self.X = linear([split.few])
        self.pull = self._begun() if weights is None else weights - self._reach()
        self.weights = self.pull
        self.value, self.target = -np.inf, ROUGH

    def step(self, tol: float) -> None:
        """Join the moves of the last round; the next has exact objective and gap."""
        before, value = self.gap, self.value
        self.join(self.moves, tol)
        self.moves = self.round(tol)
        self.stuck = self.value <= value and self.gap >= before  # by rounding

    def join(self, moves: Sequence[PortionStep], tol: float) -> None:
        """The best step along all proposed moves, together with the few rows."""
        split, moved = self.split, [move for move in moves if move.change is not None]
        n, k = len(self.near), len(moved)
        rows = np.arange(len(split.few), len(split.few) + k, dtype=np.uint32)
        steps, worth = np.ones(k), np.array([move.worth for move in moved])
        hinges = joined(split.hinges, Hinges(rows, steps, steps, worth))
        parts = [split.few, stack([move.change for move in moved if move.change])]
        solved = ascend(
            parts if k else parts[:1], hinges, center=self.pull,
            duals=np.concatenate([self.near, steps]), tol=INNER * tol, max_iter=MASTER,
        )  # fmt: skip
        self.near, steps = solved.duals[:n], solved.duals[n:]
        self.weights = solved.weights
        if k:
            self.pull = self.pull + linear(parts[1:]).back(steps)
            self._step(moves, steps)

    def round(self, tol: float) -> list[PortionStep]:
        """Every worker surveys its rows and climbs: the exact objective and gap."""
        split, ends, box = self.split, self.spread.ends, self.split.alike.box
        parts = len(ends) - 1
        rows, signs, boxes, margins = split.hinges
        slopes = signs * self.X.product(self.weights)[rows] - margins
        losses = boxes * np.maximum(0.0, -slopes)
        gap = float(np.maximum(0.0, losses + self.near * slopes).sum())
        base = 0.5 * dot(self.weights, self.weights) + float(losses.sum())
        enough = ENOUGH * tol * self.objective / parts
        aim = Aim(base, parts, enough, self.target * tol, PASSES)
        shared = [Few(split.few, split.hinges, self.near), self.weights, aim]
        states = [
            (packed(self.duals[first:last], box), self._alike(first, last))
            for first, last in pairwise(ends)
        ]
        moves = self.spread.step(shared, states)
        self.objective = base + sum(move.cost for move in moves)
        self.gap = gap + sum(move.gap for move in moves)
        self.value = self.objective - self.gap
        self.target *= FINER
        self.n_iter += 1
        return moves

    def solution(self, **parts: Any) -> Solution:
        """The solution reached so far."""
        duals = np.empty(len(self.near) + len(self.duals))
        duals[self.split.at], duals[self.split.block] = self.near, self.duals
        return super().solution(duals=duals, **parts)

    def _step(self, moves: Sequence[PortionStep], steps: Floats) -> None:
        """Move the duals of each part that proposed a move."""
        box, left = self.split.alike.box, iter(steps)
        duals = self.duals.copy()
        for move, (first, last) in zip(moves, pairwise(self.spread.ends), strict=True):
            if move.duals is None:
                continue
            step, new = next(left), unpacked(move.duals, box)
            old = duals[first:last]
            duals[first:last] = new if step == 1.0 else old + step * (new - old)
        self.duals = duals

    def _alike(self, first: int, last: int) -> UniformHinges:
        out = self.split.alike.out
        within = out[np.searchsorted(out, first) : np.searchsorted(out, last)]
        return self.split.alike._replace(out=within - first)

    def _reach(self) -> Floats:
        """What the duals of the few stand for."""
        rows, signs, *_ = self.split.hinges
        each = np.bincount(rows, signs * self.near, minlength=len(self.split.few))
        return self.X.back(each.astype(np.float64))

    def _begun(self) -> Floats:
        """What the duals of the spread rows stand for; no round where all are full."""
        alike, rows = self.split.alike, self.spread
        full = self.duals == alike.box
        full[alike.out] = True
        if not full.all():
            return rows.back(self.duals * alike.sign)
        excluded = linear([rows.take(alike.out)]).back(np.ones(len(alike.out)))
        return np.asarray(alike.sign * alike.box * (len(rows) * rows.mean - excluded))


def _split(rows: Collection, few: Rows, hinges: Hinges) -> Split | None:
    """Part the hinges; None where the spread rows have none."""
    first = len(few)
    head = int(np.argmax(hinges.rows >= first)) if len(hinges.rows) else 0
    block = slice(head, head + len(rows))
    expected = np.arange(first, first + len(rows), dtype=np.uint32)
    places = np.arange(len(hinges.rows))
    at = np.concatenate([places[:head], places[block.stop :]])
    if not np.array_equal(hinges.rows[block], expected):
        if len(hinges.rows) and hinges.rows.max() >= first:
            raise Mistake("hinges: give each spread row one, in order, or none")
        return None
    few_hinges = picked(hinges, at)
    more = np.unique(few_hinges.rows[few_hinges.rows >= first])
    together = stack([few, rows.take(more - first)]) if len(more) else few
    moved = few_hinges.rows.copy()
    mine = moved >= first
    moved[mine] = first + np.searchsorted(more, few_hinges.rows[mine])
    return Split(
        together, few_hinges._replace(rows=moved), at, block, _alike(hinges, block)
    )


def _alike(hinges: Hinges, block: slice) -> UniformHinges:
    _, signs, boxes, margins = picked(hinges, block)
    out = np.flatnonzero(boxes == 0.0)
    box = float(boxes.max(initial=0.0))
    same = (signs == signs[:1]).all() and (margins == margins[:1]).all()
    if not same or np.count_nonzero(boxes == box) + len(out) < len(boxes):
        raise Mistake(
            "hinges: those of spread rows must share a sign, a box and a margin, but "
            "for boxes of 0"
        )
    return UniformHinges(float(signs[0]), box, float(margins[0]), out)


T = TypeVar("T")
IDLE, BESIDE = 150 << 20, 1.5  # bytes of a worker without rows; what learning adds


class SpreadRows(Collection):
    """Rows that workers have, part after part, numbered from 0.

    sources : what each part is read or made from (``machines.sources``), one part a
    worker being best. Workers read it now, and keep it until this object is gone.
    rounds : the number of rounds over all parts so far;  ends : the parts' first rows,
    and the end.
    """

    def __init__(self, machines: Machines, sources: Sequence[work.RowSource]) -> None:
        if not sources:
            raise Mistake("sources: none given: give at least one part of a collection")
        _require_room(machines, sources)
        self._machines, self.rounds = machines, 0
        self._portions = machines.hold(methodcaller("open"), sources)
        extents = self._ask(attrgetter("shape", "nnz"))
        widths = {width for (_, width), _ in extents}
        if len(widths) > 1:
            raise Mistake(
                f"the parts have {', '.join(map(str, sorted(widths)))} columns: make "
                "all with the same vectorizer"
            )
        (self.width,) = widths
        self.sizes = [size for (size, _), _ in extents]
        self.nnz = sum(values for _, values in extents)
        self.ends = np.cumsum([0, *self.sizes])

    def __len__(self) -> int:
        return int(self.ends[-1])

    @cached_property
    def mean(self) -> Floats:
        """The mean row, (features,)."""
        sums = self._ask(work.total)
        return np.asarray(sum(sums) / max(len(self), 1))

    def product(self, weights: Floats) -> Floats:
        """The scores of all rows, (rows,): bit for bit those of rows at hand."""
        vector = self._weights(weights)
        return np.concatenate(self._ask(work.score, [vector]))

    def back(self, coefficients: Floats) -> Floats:
        """Σ coefficient · x, (features,)."""
        vector = np.asarray(coefficients, np.float64)
        if vector.shape != (len(self),):
            raise Mistake(f"coefficients: give {len(self)} numbers, one a row")
        parts = np.split(vector, self.ends[1:-1])
        return np.asarray(sum(self._ask(work.combine, (), parts)))

    def take(self, rows: ArrayLike) -> Rows:
        """A few rows, brought here, in the order given."""
        numbers = np.asarray(rows, np.int64)
        if not len(numbers):
            return rows_from(np.empty((0, self.width), np.float32))
        distinct, places = np.unique(numbers, return_inverse=True)
        parts = self._within(distinct, "rows")
        return take(stack(self._ask(take, (), parts)), places)

    def top(
        self, weights: Floats, k: int, hidden: ArrayLike = ()
    ) -> tuple[Ints, Floats]:
        """The best ``k`` rows that are not hidden, ties by number, and their scores."""
        if k < 1:
            raise Mistake(f"k is {k}: ask for at least one row")
        hidden_parts = self._within(np.unique(np.asarray(hidden, np.int64)), "hidden")
        shared = [self._weights(weights), k]
        best = self._ask(work.best, shared, hidden_parts)
        pairs = zip(best, self.ends, strict=False)
        items = np.concatenate([numbers + first for (numbers, _), first in pairs])
        scores = np.concatenate([each for _, each in best])
        merged = rank(np.zeros(len(items), np.int64), items, scores)
        return merged.items[:k], merged.scores[:k]

    def ascend(
        self,
        few: Rows,
        hinges: Hinges,
        *,
        duals: Floats,
        weights: Floats | None = None,
        tol: float = 1e-3,
    ) -> Solution:
        """Minimise ½‖w‖² + Σ box · max(0, margin − sign · ⟨w, x_row⟩), up to ``tol``.

        The rows are few and these, as ``Collection.ascend`` has it; ``n_iter`` of the
        solution counts rounds.
        """
        if few.width != self.width:
            raise Mistake(
                f"few has {few.width} columns, the collection {self.width}: make both "
                "with the same vectorizer"
            )
        hinges = checked(hinges, len(few) + len(self))
        begun = started(duals, hinges.boxes)
        split = _split(self, few, hinges)
        if split is None:
            return ascend([few], hinges, duals=begun, weights=weights, tol=tol)
        return _Ascent(self, split, begun, weights).solve(tol, ROUNDS + 1)

    def step(self, shared: Sequence[Any], states: Sequence[Any]) -> list[PortionStep]:
        """One round of an ascent: what came of each part's step from its state."""
        return self._ask(work.step, shared, states)

    def _ask(
        self,
        function: Callable[..., T],
        shared: Sequence[Any] = (),
        arguments: Sequence[Any] | None = None,
    ) -> list[T]:
        """One round over all parts."""
        self.rounds += 1
        return self._machines.ask(function, self._portions, shared, arguments)

    def _weights(self, weights: Floats) -> Floats:
        vector = np.asarray(weights, np.float64)
        if vector.shape != (self.width,):
            raise Mistake(f"weights: give {self.width} numbers, one a feature")
        return vector

    def _within(self, rows: Ints, name: str) -> list[Ints]:
        """Sorted row numbers, by part, each part's from 0."""
        if len(rows) and not 0 <= rows[0] <= rows[-1] < len(self):
            raise Mistake(f"{name}: give row numbers from 0 to {len(self) - 1}")
        parts = np.split(rows, np.searchsorted(rows, self.ends[1:-1]))
        each = zip(parts, self.ends, strict=False)
        return [part - first for part, first in each]


def _require_room(machines: Machines, sources: Sequence[work.RowSource]) -> None:
    """Refuse parts that workers would be killed over."""
    if not machines.memory:
        return
    most = -(-len(sources) // max(machines.workers, 1))
    sizes = sorted(source.size_bytes() for source in sources)
    need = IDLE + BESIDE * sum(sizes[-most:])
    if need > machines.memory:
        raise Mistake(
            f"the collection needs about {need / 1e9:.2g} GB on each of "
            f"{machines.workers} workers, which may take {machines.memory / 1e9:.2g} "
            "GB: use more workers, or give them more memory"
        )


class Offline(IndexExamples):
    """Learns queries from documents of an index and all others, which workers have.

    One field is learned from: the only one, or the one with most words. What ``Online``
    does from the mean of the documents, this does from the documents.

    rows : the documents that are not deleted, in order, as unit vectors of tf · idf;
    params : of ``ExampleQuery``, besides method and C.
    """

    def __init__(
        self, index: Index, machines: Machines, params: Mapping[str, Any] | None = None
    ) -> None:
        if not len(index):
            raise Mistake(f"{index.path} has no documents: add some (classmark index)")
        machines.require_folder(index.path)
        self.index, self.params = index, dict(params or {})
        fields = {name: index.field(name) for name in index.fields}
        name = max(fields, key=lambda each: fields[each].total_length)
        self.field = Prepared(fields[name])
        alive = fields[name].alive
        numbers = np.arange(fields[name].n_items)
        self._living = numbers if alive is None else numbers[alive]
        self.rows = SpreadRows(machines, of_index(index, name, machines.workers))

    def find(
        self,
        examples: Sequence[str],
        k: int = 10,
        rejected: Sequence[str] = (),
        method: str = "auto",
        C: float | None = None,
        terms: int | None = None,
    ) -> OnlineResult:
        """The best ``k`` documents besides the examples and the rejected ones.

        terms : how many terms of the learned query are used; None: all.
        """
        yes, no = self._row_numbers(examples), self._row_numbers(rejected)
        judged = np.concatenate([yes, no])
        query = ExampleQuery(method, C=C, **self.params).fit(
            self.rows.take(yes),
            self.rows,
            self.rows.take(no) if len(no) else None,
            known=judged,
        )
        query = query if terms is None else query.cut(terms)
        best, scores = self.rows.top(query.coef_, k, judged)
        ids = [self.index.id(int(self._living[row])) for row in best]
        return OnlineResult(ids, scores.tolist(), self.term_weights(query))

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Return the vectors of documents, columns being the field's terms."""
        return self.rows.take(self._row_numbers(ids))

    def _row_numbers(self, ids: Sequence[str]) -> Ints:
        return np.searchsorted(self._living, self.index.numbers(ids))
