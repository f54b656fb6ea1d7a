"""Hinges over a kernel: ascent on the dual with rows of the Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Array, Floats, Ints
from classmark.problems import Mistake
from classmark.solvers.hinge import Hinges, checked, started
from classmark.solvers.similarity import Kernel
from classmark.sparse import Rows
from classmark.validation import byte_size

BLOCK = 64  # rows of the Gram matrix that are computed together


class Expansion(NamedTuple):
    """A solution that is a sum over rows: the score of x is Σ coefficient_r k(x_r, x).

    coefficients, scores : (rows,);  duals : (hinges,);  objective : the primal value;
    gap : primal − dual value;  passes : steps for each hinge, rounded up.
    """

    coefficients: Floats
    scores: Floats
    duals: Floats
    objective: float
    gap: float
    passes: int


def ascend_gram(  # noqa: PLR0913 (what a solver is asked)
    parts: Sequence[Any],
    hinges: Hinges,
    kernel: Kernel,
    *,
    duals: ArrayLike | None = None,
    tol: float = 1e-3,
    passes: int = 1000,
    memory: str | float = "512MB",
) -> Expansion:
    """Minimise ½‖f‖² + Σ box · max(0, margin − sign · f(x_row)) over f of the kernel.

    Each step is on the dual that gains most by it. It needs one row of the Gram matrix:
    rows are computed when they are first needed, as float32, and the ones that are of
    no use for longest give way when ``memory`` is full.

    parts : matrices, seen as one below the other;  duals, tol, passes : as of
    :func:`classmark.solvers.hinge.ascend`.

    >>> ones = np.ones(2)
    >>> rows, signs = np.arange(2, dtype=np.uint32), np.array([1.0, -1.0])
    >>> hinges = Hinges(rows, signs, ones, ones)
    >>> solution = ascend_gram([[[2.0, 0.0], [0.0, 0.5]]], hinges, Kernel("linear"))
    >>> solution.scores.tolist(), solution.coefficients.tolist()
    ([1.0, -0.25], [0.25, -1.0])
    """
    from classmark.solvers.kernels_hinge import climb_gram

    gram = _Gram(_joined(parts), kernel, memory)
    hinges = checked(hinges, len(gram.squares))
    alpha = started(duals, hinges.boxes)
    scores = gram.times(_coefficients(hinges, alpha, len(gram.squares)))
    value = _dual_value(hinges, alpha, scores)
    steps, done, gains = max(0, passes) * len(alpha), 0, np.zeros(len(alpha))
    while True:
        n_steps, value, cost, gap, missed = climb_gram(
            hinges, alpha, gram.squares, scores, gains,
            (gram.slots, gram.table, gram.used), tol, value, steps - done,
        )  # fmt: skip
        done += n_steps
        if missed < 0:
            break
        gram.fetch(_rows_to_fetch(hinges.rows, gains, gram, missed))
    coefficients = _coefficients(hinges, alpha, len(scores))
    objective = 0.5 * float(coefficients @ scores) + cost
    rounds = -(-done // max(1, len(alpha)))
    return Expansion(coefficients, scores, alpha, objective, float(gap), rounds)


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

    def fetch(self, which: Array) -> None:
        """Compute rows and keep them, in place of those unused for longest."""
        self.keep(which, self.rows(which))

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


def _rows_to_fetch(
    rows: NDArray[np.uint32], gains: Floats, gram: _Gram, missed: int
) -> Ints:
    """The missed row, and others not kept whose hinges would gain most."""
    away = np.flatnonzero((gains > 0.0) & (gram.slots[rows] < 0))
    best = away[np.argsort(-gains[away], kind="stable")]
    listed = dict.fromkeys([int(rows[missed]), *rows[best[: 2 * BLOCK]].tolist()])
    return np.array(list(listed)[: gram.room], np.int64)


def _joined(parts: Sequence[Any]) -> Any:
    """One matrix, sparse if a part is."""
    if not len(parts):
        raise Mistake("parts: none given: give one matrix or more")
    matrices = [part.to_scipy() if isinstance(part, Rows) else part for part in parts]
    if any(hasattr(part, "tocsr") for part in matrices):
        from scipy import sparse

        return sparse.vstack([sparse.csr_matrix(part) for part in matrices], "csr")
    return np.vstack([np.asarray(part, np.float64) for part in matrices])


def _coefficients(hinges: Hinges, duals: Any, n_rows: int) -> Floats:
    """Of each row, Σ sign · dual over its hinges."""
    sums: Any = np.bincount(hinges.rows, hinges.signs * duals, n_rows)
    return np.asarray(sums, np.float64)


def _dual_value(hinges: Hinges, duals: Any, scores: Any) -> float:
    """The dual value Σ dual · margin − ½ Σ sign · dual · score."""
    half = 0.5 * hinges.signs * scores[hinges.rows]
    return float(duals @ (hinges.margins - half))
