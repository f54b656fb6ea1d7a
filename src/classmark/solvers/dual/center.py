"""Center: the weights one starts from, and pays for leaving."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Center:
    """w₀ of ½‖w − w₀‖², sparse, shape (features, labels); zero unless given.

    With a good guess as the center, few documents need few changes; with many, the
    margins decide.
    """

    def __init__(self, weights: csr_matrix | None = None) -> None:
        self._places = np.empty(0, np.int64)
        self._known = np.empty(0)
        if weights is not None:
            lengths = np.diff(weights.indptr)
            rows = np.repeat(np.arange(weights.shape[0]), lengths)
            self._places = rows * weights.shape[1] + weights.indices
            self._known = weights.data

    def add_to(self, W: Floats) -> None:
        """W += w₀."""
        W.reshape(-1)[self._places] += self._known

    def values(self, W: Floats, total: float) -> tuple[float, float]:
        """½‖W − w₀‖², and the dual value Σα − ⟨W − w₀, w₀⟩ − ½‖W − w₀‖², given Σα."""
        from classmark.solvers.dual.kernels import square_and_dot

        norm, dot = square_and_dot(W.reshape(-1), self._places, self._known)
        square = float(self._known @ self._known)
        half = 0.5 * norm - dot + 0.5 * square
        return half, total - (dot - square) - half
