"""Hinges: what is to be small, and how near to that a solution is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Bools, Floats
from classmark.problems import Mistake

TINY = 1e-12  # an objective below counts as this much


class Hinges(NamedTuple):
    """One entry a hinge: box · max(0, margin − sign · ⟨w, x_row⟩).

    rows : uint32, several hinges may share a row;  signs : +1 or −1;
    boxes : at least 0, the largest value of the hinge's dual, 0 leaves the hinge out;
    margins : the least sign · score that costs nothing.
    """

    rows: NDArray[np.uint32]
    signs: Floats
    boxes: Floats
    margins: Floats


class Solution(NamedTuple):
    """Weights, and how near they are to the optimum.

    weights : (features,);  duals : (hinges,);  objective : the primal value;
    gap : primal − dual value, at least 0;
    passes : over hinges that could move: 0 where the start was good enough;
    slopes : (hinges,), sign · score − margin of each that has a box, where known.
    """

    weights: Floats
    duals: Floats
    objective: float
    gap: float
    passes: int
    slopes: Floats | None = None


def picked(hinges: Hinges, which: Any) -> Hinges:
    """Some of the hinges, by number, mask or slice."""
    rows, signs, boxes, margins = hinges
    return Hinges(rows[which], signs[which], boxes[which], margins[which])


def joined(one: Hinges, other: Hinges) -> Hinges:
    """Hinges, and others after them.

    >>> both = Hinges(*4 * [np.zeros(1)])
    >>> joined(both, both).signs.tolist()
    [0.0, 0.0]
    """
    return Hinges(
        np.concatenate([one.rows, other.rows]),
        np.concatenate([one.signs, other.signs]),
        np.concatenate([one.boxes, other.boxes]),
        np.concatenate([one.margins, other.margins]),
    )


def checked(hinges: Hinges, n_rows: int) -> Hinges:
    """The same hinges as contiguous arrays; a ``Mistake`` names what cannot be used."""
    rows = np.asarray(hinges.rows)
    if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "ui"):
        raise Mistake("hinges.rows: give a 1-d array of row numbers")
    if len(rows) and not (rows.min() >= 0 and rows.max() < n_rows):
        bad = int(np.argmax((rows < 0) | (rows >= n_rows)))
        raise Mistake(
            f"hinges.rows[{bad}] is {rows[bad]}, but there are {n_rows} rows: number "
            "them from 0, those of the second part after those of the first"
        )
    taken = Hinges(
        np.ascontiguousarray(rows, np.uint32),
        *(np.ascontiguousarray(part, np.float64) for part in hinges[1:]),
    )
    for name, part in zip(Hinges._fields[1:], taken[1:], strict=True):
        if part.shape != rows.shape:
            raise Mistake(
                f"hinges.{name} has shape {part.shape}: give one number for each of "
                f"the {len(rows)} hinges"
            )
    _refuse(np.abs(taken.signs) != 1.0, "signs", taken.signs, "give 1 or −1")
    fit = np.isfinite(taken.boxes) & (taken.boxes >= 0.0)
    _refuse(~fit, "boxes", taken.boxes, "give a finite number of at least 0")
    _refuse(~np.isfinite(taken.margins), "margins", taken.margins, "give numbers")
    return taken


def started(duals: ArrayLike | None, boxes: Floats) -> Floats:
    """A new array of duals to begin with: zeros, or those given, clipped to the boxes.

    >>> started([3.0, -1.0], np.array([2.0, 2.0])).tolist()
    [2.0, 0.0]
    """
    if duals is None:
        return np.zeros(len(boxes))
    given = np.asarray(duals, np.float64)
    if given.shape != boxes.shape or not np.isfinite(given).all():
        raise Mistake(f"duals: give {len(boxes)} finite numbers, one for each hinge")
    return np.clip(given, 0.0, boxes)


def carried(duals: ArrayLike, before: ArrayLike, boxes: ArrayLike) -> Floats:
    """Duals for new boxes: in each the same share of its box, all of it staying all.

    The start for the same hinges after an example has come, when all boxes change.

    >>> carried([1.0, 2.0, 0.0], [2.0, 2.0, 0.0], [3.0, 3.0, 3.0]).tolist()
    [1.5, 3.0, 0.0]
    """
    held, old, new = (np.asarray(part, np.float64) for part in (duals, before, boxes))
    share = np.divide(held, old, out=np.zeros_like(held), where=old > 0.0)
    return np.minimum(share, 1.0) * new


def _refuse(bad: Bools, name: str, values: Any, remedy: str) -> None:
    if bad.any():
        place = int(np.argmax(bad))
        raise Mistake(f"hinges.{name}[{place}] is {values[place]}: {remedy}")
