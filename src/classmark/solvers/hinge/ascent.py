"""One vector of weights for many hinges: coordinate ascent on the dual."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.problems import Mistake
from classmark.progress import track
from classmark.randomness import Seed, generator
from classmark.solvers.hinge.problem import TINY, Hinges, Solution, checked, started
from classmark.sparse import Rows

NEAR = 0.1  # of the largest slope that may move: a bound is left alone beyond it
LONG = 30  # passes after which all hinges are looked at again, come what may
VISITS = 1 << 22  # hinges that are visited before an interrupt is heard
Part = tuple[Ints, NDArray[np.uint32], Array]


def ascend(  # noqa: PLR0913 (what a solver is asked)
    parts: Sequence[Rows],
    hinges: Hinges,
    *,
    center: ArrayLike | None = None,
    duals: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    tol: float = 1e-3,
    passes: int = 1000,
    random_state: Seed = 0,
) -> Solution:
    """Minimise ½‖w − center‖² + Σ box · max(0, margin − sign · ⟨w, x_row⟩).

    One dual at a time, in random order; duals that are sure of their bound rest until
    all are looked at again [HsiehEtAl08]. That look gives the exact duality gap; it is
    taken at the start where there is one, and whenever the gap seen on the way is small
    enough. Where all duals stay where they started, it is all that is done.

    parts : one or two matrices, seen as one below the other;  center : (features,), 0
    unless given;  duals : (hinges,), where to start, 0 unless given (``hinges.boxes``,
    all at their bound, is the start of choice for few examples);  weights : what these
    duals stand for, where it is known;  tol : of the gap, relative to the objective;
    passes : the most to be made.

    >>> from classmark.sparse import rows_from
    >>> one = np.ones(2)
    >>> hinges = Hinges(np.arange(2, dtype=np.uint32), np.array([1.0, -1.0]), one, one)
    >>> ascend([rows_from([[2.0, 0.0], [0.0, 0.5]])], hinges).weights.tolist()
    [0.5, -0.5]
    """
    ascent = Ascent(parts, hinges, center, duals, generator(random_state))
    ascent.weights = ascent.combined() if weights is None else ascent.taken(weights)
    target, allowed = tol, max(0, passes)
    if duals is not None or center is not None or allowed == 0:
        ascent.look()
    for _ in track(range(allowed + 1), "looks at all hinges"):
        if ascent.gap <= tol * max(TINY, ascent.objective) or ascent.passes >= allowed:
            break
        before, gained = (
            ascent.gap,
            ascent.climb(target, min(allowed, ascent.passes + LONG)),
        )
        ascent.look()
        if gained <= 0.0 and ascent.gap >= before:
            break  # rounding allows no more
        target *= 0.5
    return ascent.solution()


class Ascent:
    """Where an ascent stands."""

    def __init__(
        self,
        parts: Sequence[Rows],
        hinges: Hinges,
        center: ArrayLike | None,
        duals: ArrayLike | None,
        random: np.random.Generator,
    ) -> None:
        self.first, self.second = _two(parts)
        self.hinges = checked(hinges, sum(map(len, parts)))
        self.duals = started(duals, self.hinges.boxes)
        self.center = _center(center, max(part.width for part in parts))
        self.weights = self.center
        self.squares = np.full(len(self.duals), -1.0)
        self.slopes = np.empty(len(self.duals))
        self.order = _listed(self.hinges.boxes > 0.0)
        self.limits = np.array([-np.inf, np.inf])
        self.seed = int(random.integers(1, 2**31 - 1))
        self.objective, self.gap, self.value, self.passes = 0.0, np.inf, 0.0, 0

    def combined(self) -> Floats:
        """The weights that the duals stand for: center + Σ sign · dual · x."""
        from classmark.solvers.hinge.kernels import combine

        weights = self.center.copy()
        coefficients = self.hinges.signs * self.duals
        combine(self.first, self.second, self.hinges.rows, coefficients, weights)
        return weights

    def taken(self, weights: ArrayLike) -> Floats:
        """The weights that are given for the duals, as an array of their own."""
        given = np.array(weights, np.float64)
        if given.shape != self.center.shape:
            raise Mistake(f"weights: give {len(self.center)} numbers, one a feature")
        return given

    def look(self) -> None:
        """The exact objective and gap; which duals may have to move.

        A dual rests that would have to be drawn from its bound by more than the median
        slope of those that may move now.
        """
        from classmark.solvers.hinge.kernels import survey

        self.objective, self.gap = survey(
            self.first, self.second, self.hinges, self.duals, self.weights, self.center,
            self.slopes,
        )  # fmt: skip
        self.value = self.objective - self.gap
        g, zero, full = self.slopes, self.duals == 0.0, self.duals == self.hinges.boxes
        may = ~((zero & (g >= 0.0)) | (full & (g <= 0.0)))
        reach = float(np.median(np.abs(g[may]))) if may.any() else 0.0
        rest = NEAR * reach
        self.order = _listed(~((zero & (g > rest)) | (full & (g < -rest))))
        self.limits[:] = -reach, reach

    def climb(self, tol: float, passes: int) -> float:
        """Passes until it is time to look at all; return the dual value's growth."""
        from classmark.solvers.hinge.kernels import climb

        total, left = 0.0, len(self.order)
        while left and self.passes < passes:
            left, made, gained, self.seed = climb(
                self.first, self.second, self.hinges, self.duals, self.weights,
                self.squares, self.order[:left], self.limits, tol, self.value,
                self.seed, min(passes - self.passes, 1 + VISITS // left),
            )  # fmt: skip
            self.passes += made
            self.value += gained
            total += gained
        return total

    def solution(self) -> Solution:
        """What has been found."""
        return Solution(
            self.weights,
            self.duals,
            float(self.objective),
            float(self.gap),
            self.passes,
            self.slopes,
        )


def _two(parts: Sequence[Rows]) -> tuple[Part, Part]:
    """Two parts as the kernels take them, the second empty where there is none.

    Of two kinds of numbers that of the larger part is used for both.
    """
    if len(parts) not in {1, 2}:
        raise Mistake(f"parts: {len(parts)} given: give one or two, stack the others")
    kind = max(parts, key=lambda part: part.nnz).values.dtype
    none = Rows(np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0), 0)
    first, second = (
        (
            _frozen(p.starts),
            _frozen(p.columns),
            _frozen(p.values.astype(kind, copy=False)),
        )
        for p in [*parts, none][:2]
    )
    return first, second


def _frozen(array: Array) -> Array:
    """A view not to be written through: arrays from files and from memory are alike."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _listed(mask: Bools) -> NDArray[np.uint32]:
    return np.flatnonzero(mask).astype(np.uint32)


def _center(center: ArrayLike | None, width: int) -> Floats:
    if center is None:
        return np.zeros(width)
    given = np.asarray(center, np.float64)
    if given.shape != (width,) or not np.isfinite(given).all():
        raise Mistake(f"center: give {width} finite numbers, one for each feature")
    return given
