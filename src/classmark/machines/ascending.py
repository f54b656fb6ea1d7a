"""The dual ascent over rows that workers have: a round of weights for each step.

The duals are parted as the rows are. In a round every worker takes the weights and its
own duals, surveys its rows, which gives the exact duality gap, and climbs alone, all
other parts standing still. What it proposes is a direction; the client takes the best
step along all of them at once, a length from 0 to 1 for each, together with the few
rows it has itself (the examples): again a problem of hinges, over the few rows and one
row for each direction, so ``ascend`` solves it. Steps of that length keep every dual in
its box. This is the block-diagonal model with an exact line search of [LeeRoth15], the
search being over all blocks' lengths; the climb is that of [HsiehEtAl08].

The state is the client's, so that a round may be repeated by whoever is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.machines.duals import packed, unpacked
from classmark.machines.portion import Moved
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.examples.collection import Collection
from classmark.solvers.cutting.linear import linear
from classmark.solvers.hinge.ascent import ascend
from classmark.solvers.hinge.blocks import Aim, Alike, Few
from classmark.solvers.hinge.problem import (
    TINY,
    Hinges,
    Solution,
    checked,
    joined,
    picked,
    started,
)
from classmark.sparse import Rows, stack

ROUNDS = 300  # the most to be made
PASSES = 4  # of a worker in a round: few, the step that follows being common to all
INNER = 0.01  # of the tolerance: how exactly the client solves its own problem
MASTER = 300  # passes of the client's own problem
ROUGH, FINER = 1.0, 0.5  # times the tolerance a worker climbs to; that much each round
ENOUGH = 0.1  # of the gap allowed to a part: it rests below


class Spread(NamedTuple):
    """Where rows lie: the collection, a round of steps, the parts' first rows."""

    rows: Collection
    step: Callable[[Sequence[object], Sequence[object]], list[Moved]]
    ends: Ints


class Split(NamedTuple):
    """Hinges of a few rows that are at hand, and of all others, which are alike.

    few : rows and hinges;  at : where the few are among all hinges;  block : where the
    others are.
    """

    few: Rows
    hinges: Hinges
    at: Ints
    block: slice
    alike: Alike


def ascended(
    over: Spread,
    few: Rows,
    hinges: Hinges,
    *,
    duals: Floats,
    weights: Floats | None,
    tol: float,
) -> Solution:
    """Minimise ½‖w‖² + Σ box · max(0, margin − sign · ⟨w, x_row⟩) over few and spread.

    As ``Collection.ascend`` has it; ``passes`` of the solution counts rounds.
    """
    if few.width != over.rows.width:
        raise Mistake(
            f"few has {few.width} columns, the collection {over.rows.width}: make both "
            "with the same vectorizer"
        )
    hinges = checked(hinges, len(few) + len(over.rows))
    begun = started(duals, hinges.boxes)
    split = _split(over.rows, few, hinges)
    if split is None:
        return ascend([few], hinges, duals=begun, weights=weights, tol=tol)
    ascent = _Ascent(over, split, begun, weights)
    ascent.join([], tol)
    for _ in track(range(ROUNDS), "rounds over all machines"):
        before, value = ascent.gap, ascent.value
        found = ascent.round(tol)
        if ascent.gap <= tol * max(TINY, ascent.objective):
            break
        if ascent.value <= value and ascent.gap >= before:
            break  # rounding allows no more
        ascent.join(found, tol)
    else:
        ascent.round(tol)  # objective and gap are of the last weights
    return ascent.solution(hinges)


class _Ascent:
    """Where an ascent stands.

    pull : what the duals of the spread rows stand for, (features,);  few : those at
    hand;  weights : both together.
    """

    def __init__(
        self, over: Spread, split: Split, duals: Floats, weights: Floats | None
    ) -> None:
        self.over, self.split = over, split
        self.near, self.duals = duals[split.at], duals[split.block]
        self.X = linear([split.few])
        self.pull = self._begun() if weights is None else weights - self._reach()
        self.weights = self.pull
        self.objective, self.gap, self.value = 0.0, np.inf, -np.inf
        self.target, self.rounds = ROUGH, 0

    def join(self, found: Sequence[Moved], tol: float) -> None:
        """The best step along all that was proposed, the few moving with it."""
        split, moved = self.split, [one for one in found if one.change is not None]
        n, k = len(self.near), len(moved)
        rows = np.arange(len(split.few), len(split.few) + k, dtype=np.uint32)
        steps, worth = np.ones(k), np.array([one.worth for one in moved])
        hinges = joined(split.hinges, Hinges(rows, steps, steps, worth))
        parts = [split.few, stack([one.change for one in moved if one.change])]
        solved = ascend(
            parts if k else parts[:1], hinges, center=self.pull,
            duals=np.concatenate([self.near, steps]), tol=INNER * tol, passes=MASTER,
        )  # fmt: skip
        self.near, steps = solved.duals[:n], solved.duals[n:]
        self.weights = solved.weights
        if k:
            self.pull = self.pull + linear(parts[1:]).back(steps)
            self._step(found, steps)

    def round(self, tol: float) -> list[Moved]:
        """Every worker surveys its rows and climbs: the exact objective and gap."""
        split, ends, box = self.split, self.over.ends, self.split.alike.box
        parts = len(ends) - 1
        base, gap = self._near()
        enough = ENOUGH * tol * self.objective / parts
        aim = Aim(base, parts, enough, self.target * tol, PASSES)
        shared = [Few(split.few, split.hinges, self.near), self.weights, aim]
        own = [
            (packed(self.duals[first:last], box), self._alike(first, last))
            for first, last in pairwise(ends)
        ]
        found = self.over.step(shared, own)
        self.objective = base + sum(one.cost for one in found)
        self.gap = gap + sum(one.gap for one in found)
        self.value = self.objective - self.gap
        self.target *= FINER
        self.rounds += 1
        return found

    def solution(self, hinges: Hinges) -> Solution:
        """What has been found."""
        duals = np.empty(len(hinges.rows))
        duals[self.split.at], duals[self.split.block] = self.near, self.duals
        return Solution(
            self.weights, duals, float(self.objective), float(self.gap), self.rounds
        )

    def _near(self) -> tuple[float, float]:
        """½‖w‖² and what the few cost; their part of the gap."""
        rows, signs, boxes, margins = self.split.hinges
        slopes = signs * self.X.product(self.weights)[rows] - margins
        losses = boxes * np.maximum(0.0, -slopes)
        gap = np.maximum(0.0, losses + self.near * slopes).sum()
        half = 0.5 * float(np.einsum("i,i", self.weights, self.weights))
        return half + float(losses.sum()), float(gap)

    def _step(self, found: Sequence[Moved], steps: Floats) -> None:
        """Move the duals of each part that proposed something."""
        box, left = self.split.alike.box, iter(steps)
        duals = self.duals.copy()
        for one, (first, last) in zip(found, pairwise(self.over.ends), strict=True):
            if one.duals is None:
                continue
            step, new = next(left), unpacked(one.duals, box)
            old = duals[first:last]
            duals[first:last] = new if step == 1.0 else old + step * (new - old)
        self.duals = duals

    def _alike(self, first: int, last: int) -> Alike:
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
        alike, rows = self.split.alike, self.over.rows
        full = self.duals == alike.box
        full[alike.out] = True
        if not full.all():
            return rows.back(self.duals * alike.sign)
        known = linear([rows.take(alike.out)]).back(np.ones(len(alike.out)))
        return np.asarray(alike.sign * alike.box * (len(rows) * rows.mean - known))


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
    own = picked(hinges, at)
    more = np.unique(own.rows[own.rows >= first])
    together = stack([few, rows.take(more - first)]) if len(more) else few
    moved = own.rows.copy()
    mine = moved >= first
    moved[mine] = first + np.searchsorted(more, own.rows[mine])
    return Split(together, own._replace(rows=moved), at, block, _alike(hinges, block))


def _alike(hinges: Hinges, block: slice) -> Alike:
    _, signs, boxes, margins = picked(hinges, block)
    out = np.flatnonzero(boxes == 0.0)
    box = float(boxes.max(initial=0.0))
    same = (signs == signs[:1]).all() and (margins == margins[:1]).all()
    if not same or np.count_nonzero(boxes == box) + len(out) < len(boxes):
        raise Mistake(
            "hinges: those of spread rows must share a sign, a box and a margin, but "
            "for boxes of 0"
        )
    return Alike(float(signs[0]), box, float(margins[0]), out)
