"""Which weights make a smooth loss of linear scores smallest? By L-BFGS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.losses.loglinear import LogLinearLoss, Prices
from classmark.problems import Mistake
from classmark.progress import track
from classmark.sparse import Rows

Weights = NDArray[np.float64]
BLOCK = 1 << 22  # scores held at a time
MEMORY = 10  # steps that L-BFGS remembers
PENALTIES = ("l2", "natural")


@dataclass(frozen=True, slots=True)
class Solution:
    """The weights found, shape (features, labels), and the loss after each iteration.

    losses : of the problem without its penalty;  objective : of what was minimised.
    """

    weights: Weights
    losses: list[float]
    objective: float


class Documents:
    """Documents and the loss of their scores X·W, gone through block by block."""

    def __init__(self, rows: Rows, loss: LogLinearLoss) -> None:
        matrix = rows.to_scipy().astype(np.float64)
        step = max(1, BLOCK // max(1, loss.n_labels))
        self._starts = range(0, len(rows), step)
        self.blocks = [matrix[start : start + step] for start in self._starts]
        self.loss = loss
        self.shape = (rows.width, loss.n_labels)

    def priced(self, W: Weights) -> Iterator[tuple[Any, Prices]]:
        """Yield each block of documents with what it costs under the weights."""
        for start, block in zip(self._starts, self.blocks, strict=True):
            yield block, self.loss.prices(np.ascontiguousarray(block @ W), start)

    def slope(self, W: Weights) -> tuple[float, Weights]:
        """The loss L and its gradient Xᵀ(into − out_of), of the shape of W."""
        value, gradient = 0.0, np.zeros(self.shape)
        for block, prices in self.priced(W):
            value += float(prices.losses.sum())
            gradient += block.T @ (prices.into - prices.out_of)
        return value, gradient


def penalty(W: Weights, kind: str) -> tuple[float, Weights]:
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


@dataclass(slots=True)
class _Curve:
    """The objective, and the loss without penalty at each iterate."""

    documents: Documents
    C: float | None
    kind: str
    last: tuple[float, float] = (0.0, 0.0)
    losses: list[float] = field(default_factory=list)

    def evaluate(self, w: Weights) -> tuple[float, Weights]:
        W = w.reshape(self.documents.shape)
        loss, gradient = self.documents.slope(W)
        objective = loss
        if self.C is not None:
            size, pull = penalty(W, self.kind)
            objective = size + self.C * loss
            gradient = pull + self.C * gradient
        self.last = (objective, loss)
        return objective, gradient.ravel()

    def record(self, w: Weights, objective: float) -> None:
        """Keep the loss of an accepted step: usually that of the last evaluation."""
        if objective != self.last[0]:
            self.evaluate(w)
        self.losses.append(self.last[1])


def minimise(
    documents: Documents,
    *,
    C: float | None = None,
    kind: str = "l2",
    max_iter: int = 1000,
    tol: float = 1e-5,
    start: Weights | None = None,
) -> Solution:
    """Minimise L, or penalty(W) + C·L where C is given, by L-BFGS [LiuNocedal89].

    Stops when the largest slope is ``tol`` times that at W = 0, or after ``max_iter``
    iterations. Without a penalty the smallest loss may lie at infinity (separable
    documents): then it is the iterations that end the search.

    start : weights to begin with, those of a neighbouring C for instance.
    """
    from scipy.optimize import minimize

    require_penalty(kind, C)
    curve = _Curve(documents, C, kind)
    nought = np.zeros(documents.shape)
    first = curve.evaluate(nought.ravel())[1]
    steps = iter(track(range(max_iter), "minimising the loss", max_iter))

    def told(intermediate_result: Any) -> None:
        curve.record(intermediate_result.x, intermediate_result.fun)
        next(steps, None)

    found = minimize(
        curve.evaluate,
        (nought if start is None else start).ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=told,
        options={
            "maxiter": max_iter,
            "maxfun": 20 * max_iter + 20,
            "maxcor": MEMORY,
            "gtol": tol * float(np.abs(first).max(initial=0.0)),
            "ftol": 0.0,
        },
    )
    weights = np.asarray(found.x, np.float64).reshape(documents.shape)
    return Solution(weights, curve.losses, float(found.fun))
