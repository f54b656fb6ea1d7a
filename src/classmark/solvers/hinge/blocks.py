"""Some of the hinges climb alone, beside a few that all others see too.

What one machine does while others do the same with their own rows: it surveys them by
the weights that all have, then moves its own duals, and the few as if it alone did.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.randomness import generator
from classmark.solvers.hinge.ascent import Ascent
from classmark.solvers.hinge.problem import Hinges, joined
from classmark.sparse import Rows


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


class Improved(NamedTuple):
    """What the rows cost and their part of the gap, as they came; what became of them.

    duals : (rows,);  change : of the weights, (features,), by these rows alone;  worth
    : Σ margin · change of the dual. None and 0 where nothing moved.
    """

    cost: float
    gap: float
    duals: Floats | None = None
    change: Floats | None = None
    worth: float = 0.0


def improve(
    rows: Rows, alike: Alike, duals: Floats, few: Few, weights: Floats, aim: Aim
) -> Improved:
    """Survey the rows by ``weights``, then climb with them, all others staying.

    The change is the best for these rows, a few passes near [HsiehEtAl08]; it is to be
    joined with what others propose by a common step [LeeRoth15].

    >>> from classmark.sparse import rows_from
    >>> nothing = Hinges(np.empty(0, np.uint32), *3 * [np.empty(0)])
    >>> few = Few(rows_from(np.empty((0, 2))), nothing, np.empty(0))
    >>> alike = Alike(1.0, 2.0, 1.0, np.empty(0, np.int64))
    >>> one, aim = rows_from([[2.0, 0.0]]), Aim(0.0, 1.0, 0.0, 0.001, 9)
    >>> found = improve(one, alike, np.zeros(1), few, np.zeros(2), aim)
    >>> found.cost, found.change.tolist()
    (2.0, [0.5, 0.0])
    """
    n = len(few.duals)
    own = alike.hinges(len(rows))
    rest = own._replace(rows=own.rows + np.uint32(len(few.rows)))
    both = joined(few.hinges, rest)
    start = np.concatenate([few.duals, duals])
    ascent = Ascent([few.rows, rows], both, None, start, generator(0))
    ascent.weights = weights.copy()
    ascent.look()
    slopes, boxes = ascent.slopes[n:], own.boxes
    losses = boxes * np.maximum(0.0, -slopes)
    cost = float(losses.sum())
    gap = float(np.maximum(0.0, losses + duals * slopes).sum())
    if gap <= aim.enough or not len(ascent.order):
        return Improved(cost, gap)
    ascent.value = aim.base + aim.share * (cost - gap)
    ascent.climb(aim.tol, aim.passes)
    moved = ascent.duals[n:]
    if np.array_equal(moved, duals):
        return Improved(cost, gap)
    return Improved(
        cost, gap, moved, _change(ascent, few, weights),
        alike.margin * float((moved - duals).sum()),
    )  # fmt: skip


def _change(ascent: Ascent, few: Few, weights: Floats) -> Floats:
    """What the weights have become by the rows alone, without the few."""
    from classmark.solvers.hinge.kernels import combine

    change = ascent.weights - weights
    back = few.hinges.signs * (few.duals - ascent.duals[: len(few.duals)])
    combine(ascent.first, ascent.second, few.hinges.rows, back, change)
    return change
