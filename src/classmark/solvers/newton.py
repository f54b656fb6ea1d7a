"""One vector of weights for squared hinges, by Newton steps on the primal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Bools, Floats
from classmark.problems import Mistake

if TYPE_CHECKING:
    from collections.abc import Callable

    from classmark.sparse import Rows

HALVINGS = 30


class Weights(NamedTuple):
    """The solution: weights (features,), bias, objective, length of the gradient."""

    weights: Floats
    bias: float
    objective: float
    gradient: float
    steps: int


def squared_hinges(
    rows: Rows,
    signs: ArrayLike,
    prices: ArrayLike,
    *,
    start: ArrayLike | None = None,
    tol: float = 1e-3,
    steps: int = 50,
) -> Weights:
    """Minimise ½‖w‖² + ½b² + Σ price · max(0, 1 − sign · (⟨w, x⟩ + b))².

    Each step solves for the examples that are now within the margin, by conjugate
    gradients, and goes as far along as lowers the objective [KeerthiDeCoste05].

    signs, prices : shape (n,);  start : (features + 1,), the bias last, to go on from;
    tol : of the gradient, relative to that at 0;  steps : the most to be made.

    >>> from classmark.sparse import rows_from
    >>> solution = squared_hinges(rows_from([[1.0], [-1.0]]), [1, -1], [1.0, 1.0])
    >>> solution.weights.round(3).tolist(), round(solution.bias, 3)
    ([0.8], 0.0)
    """
    y, c = np.asarray(signs, float), np.asarray(prices, float)
    if y.shape != c.shape or y.shape != (len(rows),):
        raise Mistake(
            f"signs and prices have shapes {y.shape} and {c.shape}: give one each for "
            f"the {len(rows)} rows"
        )
    problem = _Problem(rows, y, c)
    w = np.zeros(rows.width + 1) if start is None else np.array(start, float)
    margins = problem.margins(w)
    limit = tol * float(np.linalg.norm(problem.gradient(0 * w, np.ones(len(y)))))
    slope, n_steps = problem.gradient(w, margins), 0
    while (size := float(np.linalg.norm(slope))) > limit and n_steps < steps:
        step = conjugate(problem.curved(margins > 0), -slope, 0.1 * size)
        w, margins = problem.along(w, step, margins, slope)
        slope = problem.gradient(w, margins)
        n_steps += 1
    return Weights(w[:-1], float(w[-1]), problem.value(w, margins), size, n_steps)


class _Problem:
    """The objective and its slopes; margins : 1 − sign · score, shape (n,)."""

    def __init__(self, rows: Rows, signs: Floats, prices: Floats) -> None:
        self.X = rows.to_scipy()
        self.XT = self.X.T.tocsr()
        self.signs, self.prices = signs, prices

    def margins(self, w: Floats) -> Floats:
        return np.asarray(1 - self.signs * (self.X @ w[:-1] + w[-1]), float)

    def value(self, w: Floats, margins: Floats) -> float:
        losses = self.prices * np.maximum(margins, 0) ** 2
        return 0.5 * float(w @ w) + float(losses.sum())

    def gradient(self, w: Floats, margins: Floats) -> Floats:
        pulls = 2 * self.prices * self.signs * np.maximum(margins, 0)
        return w - self._spread(pulls)

    def curved(self, inside: Bools) -> Callable[[Floats], Floats]:
        """The second derivative applied to a vector."""
        scale = np.where(inside, 2 * self.prices, 0.0)
        return lambda v: v + self._spread(scale * (self.X @ v[:-1] + v[-1]))

    def along(
        self, w: Floats, step: Floats, margins: Floats, slope: Floats
    ) -> tuple[Floats, Floats]:
        """The place as far along a step as lowers the objective."""
        before, falls = self.value(w, margins), float(slope @ step)
        change = self.margins(step) - 1
        length = 1.0
        for _ in range(HALVINGS):
            place, there = w + length * step, margins + length * change
            if self.value(place, there) <= before + 1e-4 * length * falls:
                return place, there
            length /= 2
        return w, margins

    def _spread(self, values: Floats) -> Floats:
        return np.append(self.XT @ values, values.sum())


def conjugate(
    product: Callable[[Floats], Floats], right: Floats, tol: float, most: int = 100
) -> Floats:
    """Solve A v = right for a symmetric positive A known by its products.

    tol : of the residual's length.

    >>> conjugate(lambda v: np.array([2.0, 4.0]) * v, np.ones(2), 1e-9).tolist()
    [0.5, 0.25]
    """
    v, residual = np.zeros(len(right)), right.copy()
    direction, square = residual.copy(), float(residual @ residual)
    for _ in range(most):
        if square <= tol * tol:
            break
        curved = product(direction)
        length = square / float(direction @ curved)
        v += length * direction
        residual -= length * curved
        square, before = float(residual @ residual), square
        direction = residual + square / before * direction
    return v
