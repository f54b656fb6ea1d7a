"""WorkingSet: the planes found so far, and the lowest point of their envelope."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.solvers.cutting.linear import dot

IDLE = 40  # a plane that has had no dual for so many solutions is dropped
ROOM = 16
STEPS = 100_000


class Point(NamedTuple):
    """Weights w = Xᵀ · coefficients, with X · w and ‖w‖²."""

    coefficients: Floats
    scores: Floats
    norm: float

    def toward(self, other: Point, t: float) -> Point:
        """(1 − t) · self + t · other."""
        return Point(
            (1.0 - t) * self.coefficients + t * other.coefficients,
            (1.0 - t) * self.scores + t * other.scores,
            (1.0 - t) ** 2 * self.norm
            + 2.0 * t * (1.0 - t) * dot(self.coefficients, other.scores)
            + t**2 * other.norm,
        )


class WorkingSet:
    """max Σ α·loss − ½ ‖Σ α·Xᵀc‖² over α ≥ 0, Σα ≤ C, a plane at a time.

    The Gram matrix grows by a row; place 0 is the plane ξ ≥ 0, whose dual is what the
    others leave of C. Memory: 8 bytes for each row of X and plane.
    """

    def __init__(self, rows: int, C: float) -> None:
        self.size, self.rows = 1, rows
        self.G = np.zeros((ROOM, ROOM))
        self.scores = np.zeros((ROOM, rows))
        self.losses, self.alpha = np.zeros(ROOM), np.zeros(ROOM)
        self.alpha[0] = C
        self.idle = np.zeros(ROOM, np.int64)
        self.planes: list[tuple[Ints, Floats]] = [(np.empty(0, np.int64), np.empty(0))]

    def add(self, coefficients: Floats, loss: float, scores: Floats) -> None:
        """One more plane; ``scores`` are X · Xᵀ · coefficients."""
        if self.size == len(self.losses):
            self._grow()
        k, places = self.size, np.flatnonzero(coefficients)
        values = coefficients[places]
        self.scores[k], self.losses[k], self.alpha[k], self.idle[k] = scores, loss, 0, 0
        row = self.scores[: k + 1, places] @ values
        self.G[k, : k + 1] = row
        self.G[: k + 1, k] = row
        self.planes.append((places, values))
        self.size += 1

    def solve(self, tol: float) -> None:
        """Move the duals to the optimum; drop what has been of no use for long."""
        from classmark.solvers.cutting.kernels import maximise_dual

        k = self.size
        maximise_dual(self.G[:k, :k], self.losses[:k], self.alpha[:k], tol, STEPS)
        self.idle[:k] = np.where(self.alpha[:k] > 0.0, 0, self.idle[:k] + 1)
        self.idle[0] = 0
        if (self.idle[:k] > IDLE).any():
            self._keep(np.flatnonzero(self.idle[:k] <= IDLE))

    def lowest(self) -> tuple[Point, float]:
        """The point that the duals stand for, and the dual value."""
        used = np.flatnonzero(self.alpha[: self.size])
        alpha = self.alpha[used]
        coefficients = np.zeros(self.rows)
        for dual, place in zip(alpha, used, strict=True):
            places, values = self.planes[place]
            coefficients[places] += dual * values
        norm = float(alpha @ self.G[np.ix_(used, used)] @ alpha)
        scores = np.einsum("k,kn", self.alpha[: self.size], self.scores[: self.size])
        point = Point(coefficients, scores, norm)
        return point, float(alpha @ self.losses[used]) - 0.5 * norm

    def _grow(self) -> None:
        more = self.size
        self.G = np.pad(self.G, (0, more))
        self.scores = np.pad(self.scores, ((0, more), (0, 0)))
        self.losses, self.alpha = (
            np.pad(self.losses, (0, more)),
            np.pad(self.alpha, (0, more)),
        )
        self.idle = np.pad(self.idle, (0, more))

    def _keep(self, which: Ints) -> None:
        m = len(which)
        self.G[:m, :m] = self.G[np.ix_(which, which)]
        for array in (self.scores, self.losses, self.alpha, self.idle):
            array[:m] = array[which]
        self.planes = [self.planes[place] for place in which]
        self.size = m
