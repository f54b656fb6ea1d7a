"""Smooth losses of linear scores: L-BFGS, boosting, and Newton for squared hinges.

Without a penalty the first guess of the curvature is the diagonal at W = 0, not the
identity: words are rare or frequent, and a rare word's weight may move further.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Rows
from classmark.language import N_
from classmark.preferences.losses import EdgePrices, LogLinearLoss
from classmark.problems import Mistake
from classmark.progress import track
from classmark.solvers.ascent import Ascent, Solution
from classmark.solvers.cutting_planes import Linear

BLOCK = 1 << 22  # scores held at a time
MEMORY = 10  # steps that L-BFGS remembers
FALL, TURN = 1e-4, 0.9  # of the slope: what a step must gain, and leave
TRIES = 40  # halvings or doublings of a step before rounding is to blame
FLATTEST = 0.5  # of the mean curvature: the least that is assumed, without penalty
PENALTIES = ("l2", "natural")
Smoothing = float | Literal["auto"]


class Sloped(Protocol):
    """A smooth loss of weights; shape : theirs."""

    shape: tuple[int, int]

    def slope(self, W: Floats) -> tuple[float, Floats]:
        """The loss and its gradient, of the shape of W."""

    def curvature(self) -> Floats:
        """Bound the diagonal of the loss's curvature at W = 0."""


class Pulled(Protocol):
    """A loss of weights that boosting can lower; shape : theirs."""

    shape: tuple[int, int]
    n_documents: int

    def widest(self) -> float:
        """ρ = max over edges of Σ_j |π_j|."""

    def pulls(self, W: Floats) -> tuple[float, Floats, Floats]:
        """L, and what wants each weight smaller, W+, and larger, W−."""


class DocumentLoss:
    """Documents and the loss of their scores X·W, gone through block by block.

    pairs : the rows are features h(x, y) of a document and a label, those of one
    document one below the other; the scores are H·λ, and the weights λ one column.
    weights : (n,), what each document's loss is multiplied by; None: 1.
    """

    def __init__(
        self,
        rows: Rows,
        loss: LogLinearLoss,
        weights: Floats | None = None,
        *,
        pairs: bool = False,
    ) -> None:
        self.weights = weights
        matrix = rows.to_scipy().astype(np.float64)
        self.n_documents = len(loss)
        each = loss.n_labels if pairs else 1
        step = max(1, BLOCK // max(1, loss.n_labels))
        self._starts = range(0, self.n_documents, step)
        self.blocks = [
            matrix[start * each : (start + step) * each] for start in self._starts
        ]
        self.loss = loss
        self.shape = (rows.width, 1 if pairs else loss.n_labels)

    def priced(self, W: Floats) -> Iterator[tuple[Any, EdgePrices]]:
        """Yield each block of documents with what it costs under the weights.

        What edges weigh comes in the shape of block · W.
        """
        for start, block in zip(self._starts, self.blocks, strict=True):
            scores = np.ascontiguousarray(block @ W)
            prices = self.loss.prices(scores.reshape(-1, self.loss.n_labels), start)
            if self.weights is not None:
                share = self.weights[start : start + len(prices.losses)]
                prices.losses[:] *= share
                prices.into[:] *= share[:, np.newaxis]
                prices.out_of[:] *= share[:, np.newaxis]
            into, out_of = (
                each.reshape(scores.shape) for each in (prices.into, prices.out_of)
            )
            yield block, EdgePrices(prices.losses, into, out_of)

    def slope(self, W: Floats) -> tuple[float, Floats]:
        """The loss L and its gradient Xᵀ(into − out_of), of the shape of W."""
        value, gradient = 0.0, np.zeros(self.shape)
        for block, prices in self.priced(W):
            value += float(prices.losses.sum())
            gradient += block.T @ (prices.into - prices.out_of)
        return value, gradient

    def curvature(self) -> Floats:
        """Bound the diagonal of L's curvature at W = 0 by Σ_i x² (into + out_of).

        Where labels share features, it may be twice as much.
        """
        total = np.zeros(self.shape)
        for block, prices in self.priced(np.zeros(self.shape)):
            total += block.multiply(block).T @ (prices.into + prices.out_of)
        return total

    def widest(self) -> float:
        """ρ = max over edges of Σ_j |π_j|: twice the largest Σ_w |h_w(x)|.

        An edge touches the weights of its two labels.
        """
        sums = [float(abs(block).sum(axis=1).max()) for block in self.blocks]
        return 2.0 * max(sums, default=0.0)

    def pulls(self, W: Floats) -> tuple[float, Floats, Floats]:
        """L, W+_j = Σ q π_j / s over π_j > 0, and W−_j over π_j < 0.

        Where features are not negative, W+ = Xᵀ·into and W− = Xᵀ·out_of.
        """
        loss, down, up = 0.0, np.zeros(self.shape), np.zeros(self.shape)
        for block, prices in self.priced(W):
            loss += float(prices.losses.sum())
            signed = bool((block.data < 0).any())
            positive = block.maximum(0.0) if signed else block
            down += positive.T @ prices.into
            up += positive.T @ prices.out_of
            if signed:
                negative = (-block).maximum(0.0)
                down += negative.T @ prices.out_of
                up += negative.T @ prices.into
        return loss, down, up


class EdgeLoss:
    """The loss of features h(x, y), by edges: π = h(x, term) − h(x, init), listed.

    Where labels share features, what an edge pulls at is not the sum of what its ends
    do. Memory is that of the features of all edges.

    rows : h of the first document's labels, of the second's, …;  loss : all of whose
    edges are listed (``loss_from(…, edges=True)``).
    """

    def __init__(
        self, rows: Rows, loss: LogLinearLoss, weights: Floats | None = None
    ) -> None:
        H, listed = rows.to_scipy().astype(np.float64), loss.listed
        self.n_documents, self.shape = len(loss), (rows.width, 1)
        groups, sizes = np.diff(listed.starts), np.diff(listed.group_starts)
        owner = np.repeat(np.arange(len(loss)), groups)  # of each group
        self.group = np.repeat(np.arange(len(owner)), sizes)  # of each edge
        self.shares = 1.0 / groups[owner]
        if weights is not None:
            self.shares *= weights[owner]
        first = owner[self.group] * loss.n_labels
        self.log_weights = listed.log_weights
        self.pi = H[first + listed.terms] - H[first + listed.inits]
        self.positive, self.negative = self.pi.maximum(0.0), (-self.pi).maximum(0.0)

    def widest(self) -> float:
        """ρ = max over edges of Σ_j |π_j|."""
        return float(abs(self.pi).sum(axis=1).max()) if self.pi.shape[0] else 0.0

    def pulls(self, W: Floats) -> tuple[float, Floats, Floats]:
        """L, W+_j = Σ q π_j / s over π_j > 0, and W−_j over π_j < 0."""
        z = np.ravel(self.pi @ W) + self.log_weights
        top = np.zeros(len(self.shares))
        np.maximum.at(top, self.group, z)
        powers = np.exp(z - top[self.group])
        sums = np.exp(-top) + np.bincount(self.group, powers, len(top))
        loss = float(self.shares @ (top + np.log(sums)))
        q = (powers * (self.shares / sums)[self.group])[:, np.newaxis]
        return loss, self.positive.T @ q, self.negative.T @ q


def penalty(W: Floats, kind: str) -> tuple[float, Floats]:
    """The size of the weights and its gradient.

    "l2": ½ Σ λ². "natural": Σ ln(1 + e^λ) + ln(1 + e^−λ), two more groups of one edge
    for each weight, which pull it to 0 from either side [DekelShalevSinger03]; about
    λ²/4 near 0 and |λ| far from it.

    >>> round(penalty(np.zeros((1, 1)), "natural")[0], 4)
    1.3863
    """
    if kind == "l2":
        return float(0.5 * np.vdot(W, W)), W
    size = np.abs(W)
    value = size.sum() + 2.0 * np.log1p(np.exp(-size)).sum()
    return float(value), np.tanh(0.5 * W)


def require_penalty(kind: str, C: float | None) -> None:
    """Refuse a penalty or a C that means nothing."""
    if kind not in PENALTIES:
        raise Mistake(f"penalty {kind!r} is not known: use {' or '.join(PENALTIES)}")
    if C is not None and not 0 < C < np.inf:
        raise Mistake(f"C is {C}: give more than 0, or None for no penalty")


class SmoothPoint(NamedTuple):
    """Weights, the objective there, its gradient, and the loss without penalty."""

    W: Floats
    objective: float
    gradient: Floats
    loss: float


@dataclass(frozen=True, slots=True)
class Objective:
    """L, or penalty(W) + C·L where C is given."""

    documents: Sloped
    C: float | None
    kind: str

    def at(self, W: Floats) -> SmoothPoint:
        """Evaluate the objective."""
        loss, gradient = self.documents.slope(W)
        if self.C is None:
            return SmoothPoint(W, loss, gradient, loss)
        size, pull = penalty(W, self.kind)
        return SmoothPoint(W, size + self.C * loss, pull + self.C * gradient, loss)

    def curvature(self) -> Floats:
        """Return the diagonal that L-BFGS starts from, all of it positive."""
        if self.C is not None:
            return np.ones(self.documents.shape)
        curved = self.documents.curvature()
        return curved + (FLATTEST * curved.mean() if curved.any() else 1.0)


class _Memory:
    """The last steps and the changes of gradient they brought: L-BFGS's two loops."""

    def __init__(self, curvature: Floats) -> None:
        self.spread = 1.0 / curvature
        self.scale = 1.0
        self.pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)

    def add(self, step: Floats, change: Floats) -> None:
        """Remember a step, unless the objective does not bend along it."""
        bend = float(np.vdot(step, change))
        if bend > 0.0:
            self.pairs.append((step, change, 1.0 / bend))
            self.scale = bend / float(np.vdot(change, self.spread * change))

    def direction(self, gradient: Floats) -> Floats:
        """Return where to go from here: −H⁻¹ · gradient, roughly."""
        q = -gradient
        shares = []
        for step, change, rho in reversed(self.pairs):
            shares.append(rho * float(np.vdot(step, q)))
            q -= shares[-1] * change
        q *= self.scale * self.spread
        for (step, change, rho), share in zip(
            self.pairs, reversed(shares), strict=True
        ):
            q += (share - rho * float(np.vdot(change, q))) * step
        return q


def _searched(
    objective: Objective, here: SmoothPoint, direction: Floats
) -> SmoothPoint | None:
    """Find a point in the direction with enough fall and a flatter slope, by bisection.

    These are Wolfe's conditions; None when rounding leaves no such point.
    """
    slope = float(np.vdot(here.gradient, direction))
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(TRIES):
        there = objective.at(here.W + length * direction)
        if not there.objective <= here.objective + FALL * length * slope:
            high = length
        elif np.vdot(there.gradient, direction) < TURN * slope:
            low = length
        else:
            return there
        length = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return None


def minimise(
    objective: Objective,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    start: Floats | None = None,
) -> Solution:
    """Minimise the objective by L-BFGS [LiuNocedal89].

    Stops when the largest slope is ``tol`` times that at W = 0, after ``max_iter``
    iterations, or where rounding allows no further fall. Without a penalty the smallest
    loss may lie at infinity (separable documents).

    start : weights to begin with, those of a neighbouring C for instance.
    """
    require_penalty(objective.kind, objective.C)
    here = objective.at(np.zeros(objective.documents.shape))
    enough = tol * float(np.abs(here.gradient).max(initial=0.0))
    if start is not None:
        here = objective.at(start)
    memory = _Memory(objective.curvature())
    losses: list[float] = []
    for _ in track(range(max_iter), "minimising the loss", max_iter):
        if float(np.abs(here.gradient).max(initial=0.0)) <= enough:
            break
        there = _searched(objective, here, memory.direction(here.gradient))
        if there is None:
            break
        memory.add(there.W - here.W, there.gradient - here.gradient)
        here = there
        losses.append(here.loss)
    return Solution(here.W, here.objective, np.inf, len(losses), losses=losses)


LARGEST_STEP = -float(np.log(np.finfo(np.float64).eps))  # 36.04


@dataclass(frozen=True, slots=True)
class LossState:
    """The loss at some weights, and how strongly the edges pull each of them.

    down, up : W+ and W−, shape (features, labels): what wants the weight smaller, and
    what wants it larger.
    """

    loss: float
    objective: float
    down: Floats
    up: Floats

    @property
    def steepest(self) -> float:
        """The largest slope |W+ − W−|."""
        return float(np.abs(self.down - self.up).max(initial=0.0))

    def step(self, epsilon: float = 0.0) -> Floats:
        """Λ = ½ ln((W+ + ε) / (W− + ε)), no longer than 36.04; 0 where nothing pulls.

        Each step lowers the objective by at least
        (1/ρ) Σ_j (√A − √B)² (1 + ε/√(AB)), A = W+_j + ε, B = W−_j + ε: never negative,
        and 0 only where W+ = W−. With ε = 0 this is Theorem 1 [DekelManningSinger03];
        where one of W± is 0 the best Λ is then infinite. Cut at c it keeps the fraction
        1 − 2e^−c of the fall: with c = 36.04 all but rounding.
        """
        with np.errstate(divide="ignore"):
            both = np.log(self.down + epsilon), np.log(self.up + epsilon)
        pulled = (self.down > 0) | (self.up > 0)
        ratio = np.subtract(*both, out=np.zeros_like(self.down), where=pulled)
        return np.asarray(np.clip(0.5 * ratio, -LARGEST_STEP, LARGEST_STEP))


def widest(documents: Pulled, C: float | None = None) -> float:
    """ρ of the documents; the edges of a penalty have Σ|π| = 1."""
    return max(documents.widest(), 0.0 if C is None else 1.0)


def survey(documents: Pulled, W: Floats, C: float | None = None) -> LossState:
    """Weigh the edges under W: the loss and the pulls W+ and W−.

    With C, the "natural" penalty over C is part of the objective.
    """
    loss, down, up = documents.pulls(W)
    objective = loss
    if C is not None:
        size, slope = penalty(W, "natural")
        objective += size / C
        down += (0.5 + 0.5 * slope) / C
        up += (0.5 - 0.5 * slope) / C
    return LossState(loss, objective, down, up)


def smoothing_of(smoothing: Smoothing, documents: Pulled, C: float | None) -> float:
    """The number that stands for a smoothing; refuse what is not known."""
    if smoothing == "auto":
        return 0.0 if C is not None else 1.0 / max(1, documents.n_documents)
    if isinstance(smoothing, str) or not 0 <= smoothing < np.inf:
        raise Mistake(
            f'smoothing is {smoothing!r}: give "auto", or a number from 0; 0 is the '
            "step as printed in the paper"
        )
    return float(smoothing)


def boost(
    documents: Pulled,
    smoothing: Smoothing = "auto",
    *,
    C: float | None = None,
    max_iter: int = 1000,
    tol: float = 1e-5,
) -> Solution:
    """Minimise L, or the natural penalty + C·L, by parallel updates from W = 0.

    W ← W − Λ/ρ, with Λ = ½ ln((W+/m + s) / (W−/m + s)) for every weight at once, m
    documents and the smoothing s [SchapireSinger00]; s = 0 is the step as printed in
    [DekelManningSinger03], with which a word of few documents moves furthest. Each
    iteration lowers L (with C: L + penalty/C), see ``LossState.step``. Stops when the
    largest slope |W+ − W−| is ``tol`` times that of the start, or after ``max_iter``
    iterations.

    smoothing : s; "auto" is 1/m, and 0 with C, since the penalty pulls every weight
    from both sides.
    """
    require_penalty("natural", C)
    epsilon = documents.n_documents * smoothing_of(smoothing, documents, C)
    W = np.zeros(documents.shape)
    rho = widest(documents, C)
    state = survey(documents, W, C)
    enough = tol * state.steepest
    losses: list[float] = []
    for _ in track(range(max_iter), "boosting", max_iter):
        if state.steepest <= enough:
            break
        W -= state.step(epsilon) / rho
        state = survey(documents, W, C)
        losses.append(state.loss)
    objective = state.objective * (1.0 if C is None else C)
    return Solution(W, objective, np.inf, len(losses), losses=losses)


HALVINGS = 30
PRODUCTS = 100  # the most of a direction


def squared_hinges(
    rows: Rows | Linear,
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

    rows : a matrix, or its two products;  signs, prices : shape (n,);  start :
    (features + 1,), the bias last, to go on from;
    tol : of the gradient, relative to that at 0;  max_iter : the most steps to be made.
    The solution has the bias as its last weight; its gap is ½‖gradient‖², which bounds
    what a 1-strongly convex objective is above its smallest value.

    >>> from classmark.arrays import rows_from
    >>> solution = squared_hinges(rows_from([[1.0], [-1.0]]), [1, -1], [1.0, 1.0])
    >>> solution.weights.round(3).tolist()
    [0.8, 0.0]
    """
    y, c = np.asarray(signs, float), np.asarray(prices, float)
    n = len(rows) if isinstance(rows, Rows) else len(y)
    if y.shape != c.shape or y.shape != (n,):
        raise Mistake(
            f"signs and prices have shapes {y.shape} and {c.shape}: give one each for "
            f"the {n} rows"
        )
    w = np.zeros(rows.width + 1) if start is None else np.array(start, float)
    return _Newton(_products(rows), y, c, w, tol).solve(0.0, max_iter)


def _products(rows: Rows | Linear) -> Linear:
    if isinstance(rows, Linear):
        return rows
    X = rows.to_scipy()
    return Linear(X.__matmul__, X.T.tocsr().__matmul__, rows.width)


class _Newton(Ascent):
    """Steps on the primal; margins : 1 − sign · score, shape (n,)."""

    title = N_("optimisation steps")

    def __init__(
        self, X: Linear, signs: Floats, prices: Floats, start: Floats, tol: float
    ) -> None:
        super().__init__()
        self.X = X
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
            (n, n),
            lambda v: v + self._spread(scale * (self.X.product(v[:-1]) + v[-1])),
            dtype=float,
        )
        direction, _ = cg(
            curved, -self.slope, rtol=0.0, atol=0.1 * self.size, maxiter=PRODUCTS
        )
        before = self._value(self.weights, self.margins)
        falls, change = float(self.slope @ direction), self._margins(direction) - 1
        for length in 0.5 ** np.arange(HALVINGS):  # as far as lowers the objective
            place = self.weights + length * direction
            margins = self.margins + length * change
            if self._value(place, margins) <= before + 1e-4 * length * falls:
                self.weights, self.margins = place, margins
                break
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
        return np.asarray(1 - self.signs * (self.X.product(w[:-1]) + w[-1]), float)

    def _value(self, w: Floats, margins: Floats) -> float:
        losses = self.prices * np.maximum(margins, 0) ** 2
        return 0.5 * float(w @ w) + float(losses.sum())

    def _spread(self, values: Floats) -> Floats:
        return np.append(self.X.back(values), values.sum())
