"""Which weights make the log-linear loss smallest? By boosting, all at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.progress import track
from classmark.solvers.smooth import Documents, Solution, penalty

LARGEST_STEP = -float(np.log(np.finfo(np.float64).eps))  # 36.04


@dataclass(frozen=True, slots=True)
class State:
    """The loss at some weights, and how strongly the edges pull each of them.

    down, up : W+ and W−, shape (features, labels): what wants the weight smaller, and
    what wants it larger.
    """

    loss: float
    objective: float
    down: Floats
    up: Floats

    @property
    def least_fall(self) -> float:
        """Theorem 1, times ρ: Σ_j (√W+_j − √W−_j)²."""
        return float(np.square(np.sqrt(self.down) - np.sqrt(self.up)).sum())

    @property
    def step(self) -> Floats:
        """Λ = ½ ln(W+/W−), no longer than 36.04; 0 where nothing pulls.

        Where one of W± is 0 the best Λ is infinite. Cut at c it keeps the fraction
        1 − 2e^−c of the fall that Theorem 1 promises: with c = −ln ε all but rounding.
        """
        with np.errstate(divide="ignore"):
            both = np.log(self.down), np.log(self.up)
        pulled = (self.down > 0) | (self.up > 0)
        ratio = np.subtract(*both, out=np.zeros_like(self.down), where=pulled)
        cut: Floats = np.clip(0.5 * ratio, -LARGEST_STEP, LARGEST_STEP)
        return cut


def widest(documents: Documents, C: float | None = None) -> float:
    """ρ = max over edges of Σ_j |π_j|: twice the largest Σ_w |h_w(x)|.

    An edge touches the weights of its two labels. The penalty's edges have Σ|π| = 1.
    """
    sums = [float(abs(block).sum(axis=1).max()) for block in documents.blocks]
    return max(2.0 * max(sums, default=0.0), 0.0 if C is None else 1.0)


def survey(documents: Documents, W: Floats, C: float | None = None) -> State:
    """Weigh the edges under W: W+_j = Σ q π_j / s over π_j > 0, W−_j over π_j < 0.

    Where features are not negative, W+ = Xᵀ·into and W− = Xᵀ·out_of. With C, the
    "natural" penalty over C is part of the objective.
    """
    loss, down, up = 0.0, np.zeros(documents.shape), np.zeros(documents.shape)
    for block, prices in documents.priced(W):
        loss += float(prices.losses.sum())
        signed = bool((block.data < 0).any())
        positive = block.maximum(0.0) if signed else block
        down += positive.T @ prices.into
        up += positive.T @ prices.out_of
        if signed:
            negative = (-block).maximum(0.0)
            down += negative.T @ prices.out_of
            up += negative.T @ prices.into
    if C is None:
        return State(loss, loss, down, up)
    size, slope = penalty(W, "natural")
    return State(
        loss,
        loss + size / C,
        down + (0.5 + 0.5 * slope) / C,
        up + (0.5 - 0.5 * slope) / C,
    )


def boost(
    documents: Documents,
    *,
    C: float | None = None,
    max_iter: int = 1000,
    tol: float = 1e-5,
) -> Solution:
    """Minimise L, or the natural penalty + C·L, by parallel updates from W = 0.

    W ← W − Λ/ρ, with Λ = ½ ln(W+/W−) for every weight at once. Each iteration lowers
    L (with C: L + penalty/C) by at least (1/ρ) Σ_j (√W+_j − √W−_j)²
    [DekelManningSinger03]. Stops when the largest slope |W+ − W−| is ``tol`` times that
    of the start, or after ``max_iter`` iterations.
    """
    if C is not None and not 0 < C < np.inf:
        raise Mistake(f"C is {C}: give more than 0, or None for no penalty")
    W = np.zeros(documents.shape)
    rho = widest(documents, C)
    state = survey(documents, W, C)
    enough = tol * _steepest(state)
    losses: list[float] = []
    for _ in track(range(max_iter), "boosting", max_iter):
        if _steepest(state) <= enough:
            break
        W -= state.step / rho
        state = survey(documents, W, C)
        losses.append(state.loss)
    return Solution(W, losses, state.objective * (1.0 if C is None else C))


def _steepest(state: State) -> float:
    return float(np.abs(state.down - state.up).max(initial=0.0))
