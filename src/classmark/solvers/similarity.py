"""Kernels in the other sense: similarities of documents that stand for dot products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake

Similarity = Callable[[Any, Any], Any]
NAMES = ("linear", "polynomial", "rbf")


@dataclass(frozen=True, slots=True)
class Kernel:
    """⟨x, y⟩, (γ⟨x, y⟩ + c)^p, exp(−γ‖x − y‖²), or any function of two matrices.

    >>> Kernel("polynomial", gamma=1.0, degree=2, coef0=1.0)([[1.0]], [[2.0]]).tolist()
    [[9.0]]
    """

    name: str | Similarity
    gamma: float = 1.0
    degree: int = 2
    coef0: float = 1.0

    def __call__(self, A: Any, B: Any) -> Floats:
        """Similarities of the rows of A with those of B (None: of A again)."""
        B = A if B is None else B
        if callable(self.name):
            return np.asarray(self.name(A, B), dtype=np.float64)
        dots = _dense(_matrix(A) @ _matrix(B).T)
        if self.name == "linear":
            return dots
        if self.name == "polynomial":
            return np.asarray((self.gamma * dots + self.coef0) ** self.degree)
        if self.name == "rbf":
            distance = _squares(A)[:, None] + _squares(B)[None, :] - 2.0 * dots
            return np.asarray(np.exp(-self.gamma * np.maximum(distance, 0.0)))
        raise Mistake(
            f"kernel {self.name!r} is not known: use {', '.join(NAMES)} or a function"
        )


def features_of(gram: Floats) -> Floats:
    """Rows Φ with Φ Φᵀ = gram: the documents in the kernel's own space.

    Any solver for linear scores, given Φ, solves the problem with the kernel.
    """
    if not np.allclose(gram, gram.T, atol=1e-8 * max(1.0, float(np.abs(gram).max()))):
        raise Mistake("the kernel is not symmetric: k(x, y) must equal k(y, x)")
    values, vectors = np.linalg.eigh(gram)
    limit = 1e-10 * max(float(values[-1]), 1e-300)
    if values[0] < -1e4 * limit:
        raise Mistake(
            f"the kernel is not positive semi-definite (an eigenvalue is "
            f"{values[0]:.3g}): use one that is"
        )
    mask = values > limit
    return np.asarray(vectors[:, mask] * np.sqrt(values[mask]))


def _matrix(A: Any) -> Any:
    return A if hasattr(A, "tocsr") else np.asarray(A, dtype=np.float64)


def _dense(product: Any) -> Floats:
    if hasattr(product, "toarray"):
        product = product.toarray()
    return np.asarray(product, dtype=np.float64)


def _squares(A: Any) -> Floats:
    matrix = _matrix(A)
    if hasattr(matrix, "multiply"):
        return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
    return np.asarray((matrix**2).sum(axis=1))
