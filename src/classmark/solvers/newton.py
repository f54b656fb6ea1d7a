"""One vector of weights for squared hinges, by Newton steps on the primal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.solvers.ascent import Ascent, Solution

if TYPE_CHECKING:
    from classmark.sparse import Rows

HALVINGS = 30
PRODUCTS = 100  # the most of a direction


def squared_hinges(
    rows: Rows,
    signs: ArrayLike,
    prices: ArrayLike,
    *,
    start: ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int = 50,
) -> Solution:
    """Minimise ½‖w‖² + ½b² + Σ price · max(0, 1 − sign · (⟨w, x⟩ + b))².

    Each step solves for the examples that are now within the margin, by conjugate
    gradients, and goes as far along as lowers the objective [KeerthiDeCoste05].

    signs, prices : shape (n,);  start : (features + 1,), the bias last, to go on from;
    tol : of the gradient, relative to that at 0;  max_iter : the most steps to be made.
    The solution has the bias as its last weight; its gap is ½‖gradient‖², which bounds
    what a 1-strongly convex objective is above its smallest value.

    >>> from classmark.sparse import rows_from
    >>> solution = squared_hinges(rows_from([[1.0], [-1.0]]), [1, -1], [1.0, 1.0])
    >>> solution.weights.round(3).tolist()
    [0.8, 0.0]
    """
    y, c = np.asarray(signs, float), np.asarray(prices, float)
    if y.shape != c.shape or y.shape != (len(rows),):
        raise Mistake(
            f"signs and prices have shapes {y.shape} and {c.shape}: give one each for "
            f"the {len(rows)} rows"
        )
    w = np.zeros(rows.width + 1) if start is None else np.array(start, float)
    return _Newton(rows, y, c, w, tol).solve(0.0, max_iter)


class _Newton(Ascent):
    """Steps on the primal; margins : 1 − sign · score, shape (n,)."""

    title = "steps of Newton"

    def __init__(
        self, rows: Rows, signs: Floats, prices: Floats, start: Floats, tol: float
    ) -> None:
        super().__init__()
        self.X = rows.to_scipy()
        self.XT = self.X.T.tocsr()
        self.signs, self.prices, self.weights = signs, prices, start
        self.margins = self._margins(start)
        at_zero = self._spread(2 * prices * signs)
        self.limit = tol * float(np.linalg.norm(at_zero))
        self._look()

    def step(self, tol: float) -> None:  # noqa: ARG002 (of the gradient, see ``limit``)
        """A direction by conjugate gradients, followed while the objective falls."""
        from scipy.sparse.linalg import LinearOperator, cg

        scale, n = np.where(self.margins > 0, 2 * self.prices, 0.0), len(self.weights)
        curved = LinearOperator(
            (n, n), lambda v: v + self._spread(scale * (self.X @ v[:-1] + v[-1]))
        )
        direction, _ = cg(
            curved, -self.slope, rtol=0.0, atol=0.1 * self.size, maxiter=PRODUCTS
        )
        self._go(direction)
        self.n_iter += 1
        self._look()

    def _look(self) -> None:
        """The objective and its gradient, whose length says when it is enough."""
        inside = np.maximum(self.margins, 0)
        self.slope = self.weights - self._spread(2 * self.prices * self.signs * inside)
        self.size = float(np.linalg.norm(self.slope))
        self.stuck = self.size <= self.limit
        value, gap = self._value(self.weights, self.margins), 0.5 * self.size**2
        self.record(value, value - gap, gap)

    def _margins(self, w: Floats) -> Floats:
        return np.asarray(1 - self.signs * (self.X @ w[:-1] + w[-1]), float)

    def _value(self, w: Floats, margins: Floats) -> float:
        losses = self.prices * np.maximum(margins, 0) ** 2
        return 0.5 * float(w @ w) + float(losses.sum())

    def _go(self, step: Floats) -> None:
        """As far along a step as lowers the objective."""
        before = self._value(self.weights, self.margins)
        falls, change, length = float(self.slope @ step), self._margins(step) - 1, 1.0
        for _ in range(HALVINGS):
            place = self.weights + length * step
            margins = self.margins + length * change
            if self._value(place, margins) <= before + 1e-4 * length * falls:
                self.weights, self.margins = place, margins
                return
            length /= 2

    def _spread(self, values: Floats) -> Floats:
        return np.append(self.XT @ values, values.sum())
