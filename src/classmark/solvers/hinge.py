"""Hinges, each with its own weight and margin, by dual ascent.

The solution is one vector of weights or, over a Gram matrix of similarities that stand
for dot products (``KernelFunction``), one coefficient for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Array, Floats, Rows, dense_tail, read_only
from classmark.language import N_
from classmark.problems import Mistake
from classmark.solvers.ascent import Ascent, Solution
from classmark.solvers.kernels_hinge import climb, climb_gram, combine, survey
from classmark.validation import Seed, byte_size, generator


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


class Table(NamedTuple):
    """Margins that follow the duals: precision times recall; none without counts.

    counts : (2,), the retrieved examples and others, each a sum of 1 − dual/box or
    dual/box;  n : how many examples there are;  loss, example, other : the scale of
    ``precision_recall``;  C : what the slack costs.
    """

    counts: Floats
    n: int
    loss: float
    example: float
    other: float
    C: float


FIXED = Table(np.empty(0), 0, 0.0, 0.0, 0.0, 0.0)


def picked(hinges: Hinges, which: Any) -> Hinges:
    """Some of the hinges, by number, mask or slice."""
    return Hinges(*(part[which] for part in hinges))


def joined(first: Hinges, second: Hinges) -> Hinges:
    """The first hinges, then the second.

    >>> both = Hinges(*4 * [np.zeros(1)])
    >>> joined(both, both).signs.tolist()
    [0.0, 0.0]
    """
    pairs: Any = zip(first, second, strict=True)
    return Hinges(*map(np.concatenate, pairs))


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
    signs, boxes, margins = (np.ascontiguousarray(p, np.float64) for p in hinges[1:])
    boxed = np.isfinite(boxes) & (boxes >= 0.0)
    for name, part, fits, remedy in (
        ("signs", signs, np.abs(signs) == 1.0, "give 1 or −1"),
        ("boxes", boxes, boxed, "give a finite number of at least 0"),
        ("margins", margins, np.isfinite(margins), "give numbers"),
    ):
        if part.shape != rows.shape:
            raise Mistake(
                f"hinges.{name} has shape {part.shape}: give one number for each of "
                f"the {len(rows)} hinges"
            )
        if not fits.all():
            at = int(np.argmin(fits))
            raise Mistake(f"hinges.{name}[{at}] is {part[at]}: {remedy}")
    return Hinges(np.ascontiguousarray(rows, np.uint32), signs, boxes, margins)


def started(duals: ArrayLike | None, boxes: Floats) -> Floats:
    """A new array of duals to begin with: zeros, or those given, clipped to the boxes.

    >>> started([3.0, -1.0], np.array([2.0, 2.0])).tolist()
    [2.0, 0.0]
    """
    if duals is None:
        return np.zeros(len(boxes))
    start = np.asarray(duals, np.float64)
    if start.shape != boxes.shape or not np.isfinite(start).all():
        raise Mistake(f"duals: give {len(boxes)} finite numbers, one for each hinge")
    return np.clip(start, 0.0, boxes)


NEAR = 0.1  # of the largest slope that may move: a bound is left alone beyond it
LONG = 30  # passes after which all hinges are looked at again, come what may
VISITS = 1 << 22  # hinges that are visited before an interrupt is heard
Part = tuple[Any, ...]


def ascend(  # noqa: PLR0913 (what a solver is asked)
    parts: Sequence[Rows],
    hinges: Hinges,
    *,
    center: ArrayLike | None = None,
    duals: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    random_state: Seed = 0,
) -> Solution:
    """Minimise ½‖w − center‖² + Σ box · max(0, margin − sign · ⟨w, x_row⟩).

    One dual at a time, in random order; duals that are sure of their bound rest until
    all are looked at again [HsiehEtAl08]. That look gives the exact duality gap; it is
    taken at the start where there is one, and whenever the gap seen on the way is small
    enough. Where all duals stay where they started, it is all that is done. A step is
    that of docs/mathematics.md, section 6, on a group of one.

    parts : one or two matrices, seen as one below the other;  center : (features,), 0
    unless given;  duals : (hinges,), where to start, 0 unless given (``hinges.boxes``,
    all at their bound, is the start of choice for few examples);  weights : what these
    duals stand for, where it is known;  tol : of the gap, relative to the objective;
    max_iter : the most passes over hinges that could move.

    >>> from classmark.arrays import rows_from
    >>> ones = np.ones(2)
    >>> rows, signs = np.arange(2, dtype=np.uint32), np.array([1.0, -1.0])
    >>> hinges = Hinges(rows, signs, ones, ones)
    >>> ascend([rows_from([[2.0, 0.0], [0.0, 0.5]])], hinges).weights.tolist()
    [0.5, -0.5]
    """
    ascent = HingeAscent(parts, hinges, center, duals, weights, generator(random_state))
    ascent.max_iter = max_iter
    if duals is not None or center is not None or max_iter <= 0:
        ascent.look()
    return ascent.solve(tol, max_iter)


class HingeAscent(Ascent):
    """The state of an ascent: duals, weights, and which duals may have to move."""

    title = N_("passes over the documents")
    table = FIXED
    longest = LONG
    max_iter = 0

    def __init__(
        self,
        parts: Sequence[Rows],
        hinges: Hinges,
        center: ArrayLike | None,
        duals: ArrayLike | None,
        weights: ArrayLike | None,
        random: np.random.Generator,
    ) -> None:
        super().__init__()
        self.parts = as_parts(parts)
        self.hinges = checked(hinges, sum(map(len, parts)))
        self.duals = started(duals, self.hinges.boxes)
        width = max(part.width for part in parts)
        self.center = np.zeros(width) if center is None else np.array(center, float)
        if self.center.shape != (width,) or not np.isfinite(self.center).all():
            raise Mistake(f"center: give {width} finite numbers, one for each feature")
        self.weights = np.array(self.center if weights is None else weights, float)
        if self.weights.shape != self.center.shape:
            raise Mistake(f"weights: give {len(self.center)} numbers, one a feature")
        if weights is None:  # center + Σ sign · dual · x
            coefficients = self.hinges.signs * self.duals
            combine(self.parts, self.hinges.rows, coefficients, self.weights)
        self.squares = np.full(len(self.duals), -1.0)
        self.slopes = np.empty(len(self.duals))
        self.order = np.flatnonzero(self.hinges.boxes > 0.0).astype(np.uint32)
        self.limits = np.array([-np.inf, np.inf])
        self.seed = int(random.integers(1, 2**31 - 1))
        self.value, self.finer = 0.0, 1.0

    def look(self) -> None:
        """The exact objective and gap; which duals may have to move."""
        objective, gap = survey(
            self.parts, self.hinges, self.duals, self.weights, self.center, self.slopes
        )
        self.value = objective - gap
        self.record(objective, self.value, gap)
        self.choose(np.median, NEAR)

    def choose(self, reach_of: Callable[[Floats], Any], near: float) -> None:
        """Let a dual rest that its slope draws to its bound by over ``near`` reach.

        The reach is the median, or the largest, slope of those that may move now.
        """
        g, zero, full = self.slopes, self.duals == 0.0, self.duals == self.hinges.boxes
        may = ~((zero & (g >= 0.0)) | (full & (g <= 0.0)))
        reach = float(reach_of(np.abs(g[may]))) if may.any() else 0.0
        rest = near * reach
        sure = (zero & (g > rest)) | (full & (g < -rest))
        self.order = np.flatnonzero(~sure).astype(np.uint32)
        self.limits[:] = -reach, reach

    def step(self, tol: float) -> None:
        """Some passes to a tolerance that becomes finer, and a look at all hinges."""
        before = self.gap
        limit = min(self.max_iter, self.n_iter + self.longest)
        gained = self.climb(self.finer * tol, limit)
        self.look()
        if gained <= 0.0 and self.gap >= before:
            self.stuck = True  # rounding allows no more
        self.finer *= 0.5

    def climb(self, tol: float, limit: int) -> float:
        """Passes until it is time to look at all; return the dual value's growth."""
        state = (self.duals, self.weights, self.squares, self.table)
        total, left = 0.0, len(self.order)
        while left and self.n_iter < limit:
            left, n_passes, gained, self.seed = climb(
                self.parts, self.hinges, state, self.order[:left], self.limits, tol,
                self.value, self.seed, min(limit - self.n_iter, 1 + VISITS // left),
            )  # fmt: skip
            self.n_iter += n_passes
            self.value += gained
            total += gained
        return total

    def solution(self, **parts: Any) -> Solution:
        """The present weights and duals, with objective and gap."""
        return super().solution(duals=self.duals, slopes=self.slopes, **parts)


def as_parts(parts: Sequence[Rows]) -> tuple[Part, Part]:
    """Two parts as the kernels take them, the second empty where there is none.

    Of two kinds of numbers that of the larger part is used for both. The arrays are
    views not to be written through, so those from files and from memory are alike.
    """
    if len(parts) not in {1, 2}:
        raise Mistake(f"parts: {len(parts)} given: give one or two, stack the others")
    kind = max(parts, key=lambda part: part.nnz).values.dtype
    none = Rows(np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0), 0)
    first, second = (
        (*read_only(map(np.ascontiguousarray, arrays)), dense_tail(p))
        for p in [*parts, none][:2]
        for arrays in [(p.starts, p.columns, p.values.astype(kind, copy=False))]
    )
    return first, second


Similarity = Callable[[Any, Any], Any]
NAMES = ("linear", "polynomial", "rbf")
BLOCK = 64  # rows of the Gram matrix that are computed together


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """⟨x, y⟩, (γ⟨x, y⟩ + c)^p, exp(−γ‖x − y‖²), or any function of two matrices.

    >>> square = KernelFunction("polynomial", gamma=1.0, degree=2, coef0=1.0)
    >>> square([[1.0]], [[2.0]]).tolist()
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
        A, B = (M if hasattr(M, "tocsr") else np.asarray(M, float) for M in (A, B))
        product = A @ B.T
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


def kernel_of(estimator: Any) -> KernelFunction:
    """The kernel that the parameters of an estimator name; linear by default."""
    named = estimator.kernel or "linear"
    return KernelFunction(named, estimator.gamma, estimator.degree, estimator.coef0)


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


def _squares(matrix: Any) -> Floats:
    if hasattr(matrix, "multiply"):
        return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
    return np.asarray((matrix**2).sum(axis=1))


def ascend_gram(
    parts: Sequence[Any],
    hinges: Hinges,
    kernel: KernelFunction,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    memory: str | float = "512MB",
) -> Solution:
    """Minimise ½‖f‖² + Σ box · max(0, margin − sign · f(x_row)) over f of the kernel.

    The solution is a sum over rows: the score of x is Σ coefficient_r k(x_r, x). Each
    step is on the dual that gains most by it. It needs one row of the Gram matrix: rows
    are computed when they are first needed, as float32, and the ones that are of no use
    for longest give way when ``memory`` is full.

    parts : matrices, seen as one below the other;  tol : of the gap, relative to the
    objective;  max_iter : the most steps for each hinge.

    >>> ones = np.ones(2)
    >>> rows, signs = np.arange(2, dtype=np.uint32), np.array([1.0, -1.0])
    >>> hinges = Hinges(rows, signs, ones, ones)
    >>> blocks, kernel = [[[2.0, 0.0], [0.0, 0.5]]], KernelFunction("linear")
    >>> solution = ascend_gram(blocks, hinges, kernel)
    >>> solution.scores.tolist(), solution.coefficients.tolist()
    ([1.0, -0.25], [0.25, -1.0])
    """
    ascent = _GramAscent(Gram(parts, kernel, memory), hinges)
    ascent.limit = max(0, max_iter) * len(ascent.duals)
    return ascent.solve(tol, ascent.limit + 1)


class _GramAscent(Ascent):
    """Steps on the best dual; they stop where a row of the Gram matrix is missing."""

    title = N_("comparing documents")
    limit = 0

    def __init__(self, gram: Gram, hinges: Hinges) -> None:
        super().__init__()
        self.gram, self.hinges = gram, checked(hinges, len(gram.squares))
        self.duals, self.gains = np.zeros((2, len(self.hinges.rows)))
        self.scores, self.value = np.zeros(len(gram.squares)), 0.0

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
            gram.compute(np.array(list(useful)[: gram.room], np.int64))

    def solution(self, **parts: Any) -> Solution:
        """Coefficients, scores and duals; n_iter : steps for each hinge, rounded up."""
        self.n_iter = -(-self.n_iter // max(1, len(self.duals)))
        return super().solution(
            duals=self.duals,
            scores=self.scores,
            coefficients=self.coefficients(),
            **parts,
        )


def _whole(parts: Sequence[Any]) -> Any:
    """Matrices one below the other, sparse where one of them is."""
    if not len(parts):
        raise Mistake("parts: none given: give one matrix or more")
    matrices = [part.to_scipy() if isinstance(part, Rows) else part for part in parts]
    if any(hasattr(part, "tocsr") for part in matrices):
        from scipy import sparse

        return sparse.vstack([sparse.csr_matrix(part) for part in matrices], "csr")
    return np.vstack([np.asarray(part, np.float64) for part in matrices])


class Gram:
    """Rows of the Gram matrix, those kept in a table of limited size.

    parts : matrices, seen as one below the other;  squares : k(x, x), (rows,).
    """

    def __init__(
        self, parts: Sequence[Any], kernel: KernelFunction, memory: str | float
    ) -> None:
        matrix = _whole(parts)
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

    def compute(self, which: Array) -> None:
        """Compute rows and keep them, in place of those unused for longest."""
        order = np.argsort(np.where(self.owners < 0, -1, self.used[: len(self.owners)]))
        places = order[: len(which)]
        lost = self.owners[places]
        self.slots[lost[lost >= 0]] = -1
        self.table[places] = self.kernel(self.matrix[which], self.matrix)
        self.owners[places], self.slots[which] = which, places
        self.used[places] = self.used.max() + 1

    def combine(self, coefficients: Floats) -> Floats:
        """Σ_r coefficient_r · k(x_r, x) for every row x, (rows,).

        >>> gram = Gram([[[1.0], [2.0]]], KernelFunction("linear"), "1MB")
        >>> gram.combine(np.array([0.0, 3.0])).tolist()
        [6.0, 12.0]
        """
        rows, scores = np.flatnonzero(coefficients), np.zeros(len(self.slots))
        away = self.slots[rows] < 0
        for which, missing in ((rows[~away], False), (rows[away], True)):
            step = self.room if missing else BLOCK
            for first in range(0, len(which), step):
                block = which[first : first + step]
                if missing:
                    self.compute(block)
                places = self.slots[block]
                self.used[places] = self.used.max() + 1
                scores += coefficients[block] @ self.table[places].astype(np.float64)
        return scores
