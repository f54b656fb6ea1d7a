"""Passes until the duality gap is small enough."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from classmark.arrays import Array, Floats
from classmark.progress import track
from classmark.validation import Seed, generator

LINE = 64  # bytes


def with_room(table: Array, shape: tuple[int, int], kind: Any) -> Array:
    """A copy of a table with more room, zeros in it, beginning on a cache line.

    >>> with_room(np.ones((1, 1)), (2, 2), np.float32).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    size = np.dtype(kind).itemsize
    raw = np.zeros(shape[0] * shape[1] * size + LINE, np.uint8)
    first = -raw.ctypes.data % LINE
    used = raw[first : len(raw) - LINE + first]
    roomy: Array = used.view(kind).reshape(shape)
    roomy[: table.shape[0], : table.shape[1]] = table
    return roomy


TINY = 1e-6
SETTLE = 8  # passes after which threads that share W agree on it again


class Dual(Protocol):
    """A problem in its dual, with the weights its duals stand for."""

    n_documents: int

    @property
    def W(self) -> Any:  # noqa: N802 (mathematics)
        """The weights, shape (features, labels), dense or sparse."""

    def learn(self, order: Array) -> float:
        """Visit the documents; return the cost Σ cap · slack as seen on the way."""

    def cost(self) -> float:
        """Σ cap · slack over all groups at the present weights, exactly."""

    def settle(self) -> None:
        """Make W exactly what the duals stand for, where threads may have lost some."""

    def values(self) -> tuple[float, float]:
        """½‖w − w₀‖², and the dual value Σα (1 − ⟨w₀, ψ⟩) − ½‖w − w₀‖²."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Weights, and how near they are to the optimum.

    objective : the primal value ½‖w − w₀‖² + Σ cap · slack;  dual : at most the
    optimum;  trace : (seconds, objective, dual) whenever the gap was computed.
    """

    W: Floats
    objective: float
    dual: float
    passes: int
    trace: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """The relative duality gap; of an objective near zero, the gap itself."""
        return (self.objective - self.dual) / max(self.objective, TINY)


def ascend(
    problem: Dual, tol: float, max_passes: int, random_state: Seed = 0
) -> Solution:
    """Visit all documents in random order, again and again, until gap ≤ tol.

    The exact gap costs as much as a pass; it is computed when the costs seen during a
    pass say that it may be small enough, and at the end.
    """
    random = generator(random_state)
    started = time.perf_counter()
    trace: list[tuple[float, float, float]] = []
    passes, rest = 0, 0
    order = np.arange(problem.n_documents)
    for passes in track(range(1, max_passes + 1), "passes", max_passes):
        random.shuffle(order)
        seen = problem.learn(order)
        half, dual = problem.values()
        near = half + seen - dual <= tol * (half + seen) and passes >= rest
        if not near and passes < max_passes:
            if passes % SETTLE == 0:
                problem.settle()
            continue
        problem.settle()
        half, dual = problem.values()
        objective = half + problem.cost()
        trace.append((time.perf_counter() - started, objective, dual))
        if objective - dual <= tol * max(objective, TINY):
            break
        rest = passes + 1 + passes // 8
    return Solution(problem.W, objective, dual, passes, trace)
