"""Weights that make a smooth loss of the scores of queries smallest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from classmark.arrays import Floats
from classmark.solvers.cutting.linear import linear
from classmark.solvers.smooth import Objective, Solution, minimise
from classmark.sparse import Rows

Loss = Callable[[Floats], tuple[float, Floats]]


class Scored:
    """Rows, and a loss of their scores X·w; loss : scores → value, −∂/∂score."""

    def __init__(self, rows: Rows, loss: Loss) -> None:
        self.X, self.loss, self.shape = linear([rows]), loss, (rows.width, 1)

    def slope(self, W: Floats) -> tuple[float, Floats]:
        """The loss and its gradient, of the shape of W."""
        value, pull = self.loss(self.X.product(np.ascontiguousarray(W[:, 0])))
        return value, -self.X.back(pull)[:, np.newaxis]

    def curvature(self) -> Floats:
        """No first guess: there is always a penalty."""
        return np.ones(self.shape)


def descend(rows: Rows, loss: Loss, C: float, tol: float) -> Solution:
    """Minimise ½‖w‖² + C · loss(X·w) by L-BFGS."""
    return minimise(Objective(Scored(rows, loss), C, "l2"), tol=tol)
