"""Kernels, similarities that stand for dot products, and hinges over a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Array, Floats
from classmark.problems import Mistake
from classmark.solvers.ascent import Ascent, Solution
from classmark.solvers.hinge import Hinges, checked, started
from classmark.solvers.kernels_hinge import climb_gram
from classmark.sparse import Rows
from classmark.validation import byte_size

Similarity = Callable[[Any, Any], Any]
NAMES = ("linear", "polynomial", "rbf")
BLOCK = 64  # rows of the Gram matrix that are computed together


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
        product = _matrix(A) @ _matrix(B).T
        dots = np.asarray(
            product.toarray() if hasattr(product, "toarray") else product, np.float64
        )
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


def _squares(A: Any) -> Floats:
    matrix = _matrix(A)
    if hasattr(matrix, "multiply"):
        return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
    return np.asarray((matrix**2).sum(axis=1))


def ascend_gram(  # noqa: PLR0913 (what a solver is asked)
    parts: Sequence[Any],
    hinges: Hinges,
    kernel: Kernel,
    *,
    duals: ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    memory: str | float = "512MB",
) -> Solution:
    """Minimise ½‖f‖² + Σ box · max(0, margin − sign · f(x_row)) over f of the kernel.

    The solution is a sum over rows: the score of x is Σ coefficient_r k(x_r, x). Each
    step is on the dual that gains most by it. It needs one row of the Gram matrix: rows
    are computed when they are first needed, as float32, and the ones that are of no use
    for longest give way when ``memory`` is full.

    parts : matrices, seen as one below the other;  duals, tol : as of
    :func:`classmark.solvers.hinge.ascend`;  max_iter : the most steps for each hinge.

    >>> ones = np.ones(2)
    >>> rows, signs = np.arange(2, dtype=np.uint32), np.array([1.0, -1.0])
    >>> hinges = Hinges(rows, signs, ones, ones)
    >>> solution = ascend_gram([[[2.0, 0.0], [0.0, 0.5]]], hinges, Kernel("linear"))
    >>> solution.scores.tolist(), solution.coefficients.tolist()
    ([1.0, -0.25], [0.25, -1.0])
    """
    if not len(parts):
        raise Mistake("parts: none given: give one matrix or more")
    matrices = [part.to_scipy() if isinstance(part, Rows) else part for part in parts]
    if any(hasattr(part, "tocsr") for part in matrices):
        from scipy import sparse

        whole = sparse.vstack([sparse.csr_matrix(part) for part in matrices], "csr")
    else:
        whole = np.vstack([np.asarray(part, np.float64) for part in matrices])
    ascent = _GramAscent(_Gram(whole, kernel, memory), hinges, duals)
    ascent.limit = max(0, max_iter) * len(ascent.duals)
    return ascent.solve(tol, ascent.limit + 1)


class _GramAscent(Ascent):
    """Steps on the best dual; they stop where a row of the Gram matrix is missing."""

    title = "rows of the Gram matrix"
    limit = 0

    def __init__(self, gram: _Gram, hinges: Hinges, duals: ArrayLike | None) -> None:
        super().__init__()
        self.gram, self.hinges = gram, checked(hinges, len(gram.squares))
        self.duals = started(duals, self.hinges.boxes)
        self.gains = np.zeros(len(self.duals))
        self.scores = gram.times(self.coefficients())
        half = 0.5 * self.hinges.signs * self.scores[self.hinges.rows]
        self.value = float(self.duals @ (self.hinges.margins - half))

    def coefficients(self) -> Floats:
        """Of each row, Σ sign · dual over its hinges."""
        rows, signed = self.hinges.rows, self.hinges.signs * self.duals
        sums: Any = np.bincount(rows, signed, len(self.gram.squares))
        return np.asarray(sums, np.float64)

    def step(self, tol: float) -> None:
        """Steps until a row is missing, which is computed with others of use."""
        gram = self.gram
        n_steps, self.value, cost, gap, missed = climb_gram(
            self.hinges, self.duals, gram.squares, self.scores, self.gains,
            (gram.slots, gram.table, gram.used), tol, self.value,
            self.limit - self.n_iter,
        )  # fmt: skip
        self.n_iter += n_steps
        objective = 0.5 * float(self.coefficients() @ self.scores) + cost
        self.record(objective, objective - gap, gap)
        self.stuck = missed < 0
        if not self.stuck:
            rows = self.hinges.rows
            away = np.flatnonzero((self.gains > 0.0) & (gram.slots[rows] < 0))
            best = away[np.argsort(-self.gains[away], kind="stable")[: 2 * BLOCK]]
            useful = dict.fromkeys([int(rows[missed]), *rows[best].tolist()])
            which = np.array(list(useful)[: gram.room], np.int64)
            gram.keep(which, gram.rows(which))

    def solution(self, **parts: Any) -> Solution:
        """Coefficients, scores and duals; n_iter : steps for each hinge, rounded up."""
        self.n_iter = -(-self.n_iter // max(1, len(self.duals)))
        return super().solution(
            duals=self.duals,
            scores=self.scores,
            coefficients=self.coefficients(),
            **parts,
        )


class _Gram:
    """Rows of the Gram matrix, those kept in a table of limited size."""

    def __init__(self, matrix: Any, kernel: Kernel, memory: str | float) -> None:
        n = matrix.shape[0]
        places = min(n, int(byte_size(memory) // (4 * max(1, n))))
        if n and not places:
            raise Mistake(
                f"memory is {memory!r}: a row of the Gram matrix takes {4 * n} bytes: "
                "allow at least that, better a hundred times as much"
            )
        self.matrix, self.kernel = matrix, kernel
        self.slots = np.full(n, -1, np.int64)
        self.owners = np.full(places, -1, np.int64)
        self.used = np.zeros(max(1, places), np.int64)
        self.table = np.zeros((max(1, places), n), np.float32)
        blocks = [matrix[i : i + BLOCK] for i in range(0, n, BLOCK)]
        diagonals = [np.diagonal(kernel(block, block)) for block in blocks]
        self.squares = np.concatenate([np.empty(0), *diagonals])
        if (self.squares < 0.0).any():
            raise Mistake(
                "the kernel is not positive semi-definite: k(x, x) is below 0"
            )

    @property
    def room(self) -> int:
        """How many rows to compute in one go without losing many that are kept."""
        free = int((self.owners < 0).sum())
        return min(BLOCK, max(free, len(self.owners) // 8, 1))

    def rows(self, which: Array) -> NDArray[np.float32]:
        """Rows of the matrix, computed."""
        return self.kernel(self.matrix[which], self.matrix).astype(np.float32)

    def keep(self, which: Array, rows: NDArray[np.float32]) -> None:
        """Keep rows, in place of those unused for longest."""
        order = np.argsort(np.where(self.owners < 0, -1, self.used[: len(self.owners)]))
        places = order[: len(which)]
        lost = self.owners[places]
        self.slots[lost[lost >= 0]] = -1
        self.table[places] = rows
        self.owners[places], self.slots[which] = which, places
        self.used[places] = self.used.max() + 1

    def times(self, coefficients: Floats) -> Floats:
        """K · coefficients, from the rows whose coefficient is not 0; some are kept."""
        out = np.zeros(len(coefficients))
        needed = np.flatnonzero(coefficients)
        for start in range(0, len(needed), BLOCK):
            which = needed[start : start + BLOCK]
            rows = self.rows(which)
            out += coefficients[which] @ rows
            if (self.owners < 0).sum() >= len(which):
                self.keep(which, rows)
        return out
