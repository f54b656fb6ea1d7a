"""Shelf: the layered documents that are kept, in arrays that grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.arrays import Bools, Floats, Ints
from classmark.solvers.dual.implicit import ImplicitDual
from classmark.solvers.live.growing import Growing
from classmark.solvers.live.lesson import Lesson
from classmark.sparse import Rows, take

WASTE = 1000  # places of forgotten documents that are left as they are


class Shelf:
    """An ``ImplicitDual`` whose documents come and go; ``place`` numbers them.

    The problem's arrays are views of growing ones: a step on a document is that of a
    batch. Places change when the shelf is tidied, which its owner asks for.
    """

    def __init__(self, problem: ImplicitDual) -> None:
        self.problem = problem
        problem.share = 1  # twice the room: closing gaps would be felt
        self._hold(problem.rows, problem.levels)
        self._naps, self._costs = Growing(problem.naps), Growing(problem.costs)
        self._alive = Growing(np.ones(len(problem.rows), bool))
        self._refresh()

    def __len__(self) -> int:
        return len(self._alive)

    @property
    def alive(self) -> Bools:
        """Which places hold a document, bool (places,)."""
        return self._alive.array

    @property
    def wasteful(self) -> bool:
        """Whether more than half of the places, and some, are of forgotten ones."""
        dead = len(self) - int(self.alive.sum())
        return dead > WASTE and 2 * dead > len(self)

    def put(self, lesson: Lesson) -> int:
        """Keep a document; its duals are zero. Return its place."""
        self._columns.append(lesson.columns)
        self._values.append(lesson.values)
        self._starts.append([len(self._columns)])
        self._labels.append(lesson.labels)
        self._levels.append(lesson.levels)
        self._level_starts.append([len(self._labels)])
        for flags in (self._naps, self._costs, self._alive):
            flags.extend(1)
        self.alive[-1] = True
        self.problem.widest = max(self.problem.widest, len(lesson.labels))
        self._refresh()
        return len(self) - 1

    def drop(self, place: int) -> None:
        """Forget a document's duals; the weights stay as they are."""
        problem, pool = self.problem, self.problem.pools[0]
        start, end = problem.levels.starts[place], problem.levels.starts[place + 1]
        for slot in problem.slots[:, start:end].reshape(-1, 3):
            first, count = int(slot[0]), int(slot[1])
            pool.alpha[first : first + count] = 0.0
        problem.slots[:, start:end] = 0
        self.alive[place] = False
        self._costs.array[place] = 0.0

    def parts(self, place: int) -> Floats:
        """What a document adds to w_r is parts[r] · x, shape (labels,)."""
        from classmark.solvers.dual.kernels import coefficients

        problem, pool = self.problem, self.problem.pools[0]
        out = np.zeros(problem.W.shape[1])
        coefficients(
            place, problem.codes, problem.levels.starts, problem.levels.columns,
            problem.slots, pool.label, pool.alpha, out,
        )  # fmt: skip
        return out

    def held(self, places: Ints) -> Floats:
        """Σα of each place."""
        from classmark.solvers.pool.kernels import sum_of_slots

        problem, found = self.problem, np.zeros(len(places))
        starts = problem.levels.starts
        sum_of_slots(
            starts[places], starts[places + 1], problem.slots, problem.pools[0].alpha,
            found,
        )  # fmt: skip
        return found

    def lesson(self, place: int) -> Lesson:
        """The document as it was put."""
        columns, values = self.problem.rows.row(place)
        labels, levels = self.problem.levels.row(place)
        return Lesson(columns.copy(), values.copy(), labels.copy(), levels.copy())

    def swap(self, label: int, other: int, place: int) -> None:
        """Exchange two labels in one document, which lists the first of them only."""
        problem, pool = self.problem, self.problem.pools[0]
        start, end = problem.levels.starts[place], problem.levels.starts[place + 1]
        mine = problem.levels.columns[start:end]
        mine[mine == label] = other
        for first, count, _ in problem.slots[:, start:end].reshape(-1, 3).tolist():
            losers = pool.label[first : first + count]
            was, new = losers == label, losers == other
            losers[was], losers[new] = other, label

    def with_label(self, label: int) -> Ints:
        """Places whose list has the label."""
        at = np.flatnonzero(self._labels.array == label)
        places = np.searchsorted(self.problem.levels.starts, at, side="right") - 1
        places = np.unique(places)
        return places[self.alive[places]]

    def tidy(self) -> Ints:
        """Close the places of forgotten documents; return which are left, in order."""
        kept, problem = np.flatnonzero(self.alive), self.problem
        levels = problem.levels
        left = np.repeat(self.alive, np.diff(levels.starts))
        slots = problem.slots[:, np.flatnonzero(left)]
        self._hold(take(problem.rows, kept), take(levels, kept))
        problem.slots = slots
        for name in ("_naps", "_costs", "_alive"):
            setattr(self, name, Growing(getattr(self, name).array[kept]))
        self._refresh()
        return kept

    def widen(self, labels: int) -> None:
        """Make room for so many labels."""
        pool = self.problem.pools[0]
        if labels > 2**16 and pool.label.dtype == np.uint16:
            pool.label = pool.label.astype(np.uint32)
        self._width = labels
        self._refresh()

    def _hold(self, rows: Rows, levels: Rows) -> None:
        self._starts, self._level_starts = Growing(rows.starts), Growing(levels.starts)
        self._columns, self._values = Growing(rows.columns), Growing(rows.values)
        self._labels, self._levels = Growing(levels.columns), Growing(levels.values)
        self._width = levels.width

    def _refresh(self) -> None:
        """Let the problem see what is kept now."""
        problem = self.problem
        starts, columns, values = self._starts, self._columns, self._values
        problem.rows = Rows(
            starts.array, columns.array, values.array, problem.W.shape[0]
        )
        starts, columns, values = self._level_starts, self._labels, self._levels
        problem.levels = Rows(starts.array, columns.array, values.array, self._width)
        problem.naps, problem.costs = self._naps.array, self._costs.array
        problem.n_documents = len(self)
        missing = len(self._labels.room) - problem.slots.shape[1]
        if missing > 0:
            parts = len(problem.codes)
            more: Any = np.zeros((parts, missing, 3), np.uint32)
            problem.slots = np.concatenate([problem.slots, more], axis=1)
