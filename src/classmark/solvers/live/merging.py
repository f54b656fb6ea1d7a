"""What becomes of the duals when one label is read as another?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.solvers.dual.implicit import CODES

if TYPE_CHECKING:
    from classmark.solvers.live.shelf import Shelf

DIS, DME = CODES["dis"][0], CODES["dme"][0]


@dataclass(frozen=True, slots=True)
class Table:
    """All duals of a shelf: of each its document, kind, slot and place in the pool."""

    place: Ints
    part: Ints
    slot: Ints
    at: Ints


def table_of(shelf: Shelf) -> Table:
    """List the duals, slot after slot."""
    levels = shelf.problem.levels
    slots = shelf.problem.slots[:, : levels.nnz].reshape(-1, 3).astype(np.int64)
    which = np.repeat(np.arange(len(slots)), slots[:, 1])
    before = np.cumsum(slots[:, 1]) - slots[:, 1]
    at = np.arange(len(which)) - before[which] + slots[which, 0]
    part, slot = np.divmod(which, max(levels.nnz, 1))
    place = np.searchsorted(levels.starts, slot, side="right") - 1
    return Table(place, part, slot, at)


def torn_by(shelf: Shelf, label: int, into: int) -> Ints:
    """Documents whose duals, the label read as ``into``, would not be feasible.

    They list both, or do not compare the label, or hold ``into`` below a label that it
    is not below any more, or more of it together than one group may have.
    """
    problem, starts = shelf.problem, shelf.problem.levels.starts
    mine, other = shelf.with_label(label), shelf.with_label(into)
    unsure = problem.levels.columns == label
    unsure &= problem.levels.values < 0
    free = np.searchsorted(starts, np.flatnonzero(unsure), side="right") - 1
    parts: list[Any] = [
        np.intersect1d(mine, other),
        free,
        _overfull(shelf, label, into),
    ]
    parts.append(_displaced(shelf, label, into))
    if problem.caps[label] != problem.caps[into]:
        parts.append(mine)
    found = np.unique(np.concatenate(parts).astype(np.int64))
    return found[shelf.alive[found]]


def _displaced(shelf: Shelf, label: int, into: int) -> Ints:
    """Documents where one of the two is below a label that the other is not below."""
    table, levels = table_of(shelf), shelf.problem.levels
    losers = shelf.problem.pools[0].label[table.at]
    winners, height = levels.columns[table.slot], levels.values[table.slot]
    wrong = np.zeros(len(losers), bool)
    for one, other in ((label, into), (into, label)):
        now = _levels_of(shelf, one)[table.place]
        wrong |= (losers == other) & (winners != one) & ((now < 0) | (now >= height))
    return table.place[wrong]


def _levels_of(shelf: Shelf, label: int) -> Floats:
    """The label's level in each document."""
    levels, found = shelf.problem.levels, np.zeros(len(shelf))
    at = np.flatnonzero(levels.columns == label)
    found[np.searchsorted(levels.starts, at, side="right") - 1] = levels.values[at]
    return found


def _overfull(shelf: Shelf, label: int, into: int) -> Ints:
    """Documents with more on both than a group may have (dis, dme)."""
    table, problem = table_of(shelf), shelf.problem
    pool, starts = problem.pools[0], problem.levels.starts
    losers, winners = pool.label[table.at], problem.levels.columns[table.slot]
    apart = ~np.isin(winners, (label, into))
    found = [np.empty(0, np.int64)]
    for part, code in enumerate(problem.codes):
        if code not in (DIS, DME):
            continue
        group = table.slot if code == DIS else table.place
        most = int(group.max(initial=-1)) + 1
        sums = []
        for one in (label, into):
            own = apart & (table.part == part) & (losers == one)
            duals = pool.alpha[table.at[own]].astype(float)
            sums.append(np.bincount(group[own], duals, most))
        both = (sums[0] > 0) & (sums[1] > 0)
        full = np.flatnonzero(both & (sums[0] + sums[1] > problem.caps.min()))
        alone = code == DIS
        found.append(np.searchsorted(starts, full, "right") - 1 if alone else full)
    return np.concatenate(found)


def join(shelf: Shelf, label: int, into: int) -> None:
    """Read the label as ``into`` in all duals and lists; those torn are away."""
    problem, pool, table = shelf.problem, shelf.problem.pools[0], table_of(shelf)
    winners, losers = problem.levels.columns[table.slot], pool.label[table.at]
    first: dict[tuple[int, int], int] = {}
    rows = np.flatnonzero(np.isin(losers, (label, into)))
    emptied = []
    for row in rows.tolist():
        key = int(table.part[row]), int(table.slot[row])
        if winners[row] in (label, into):
            emptied.append((key, int(table.at[row])))
        elif key in first:
            pool.alpha[first[key]] += pool.alpha[table.at[row]]
            emptied.append((key, int(table.at[row])))
        else:
            first[key] = int(table.at[row])
    for key, at in reversed(emptied):
        slot = problem.slots[key]
        last = int(slot[0]) + int(slot[1]) - 1
        pool.label[at], pool.alpha[at] = pool.label[last], pool.alpha[last]
        pool.alpha[last] = 0.0
        slot[1] -= 1
    pool.label[pool.label == label] = into
    problem.levels.columns[problem.levels.columns == label] = into
