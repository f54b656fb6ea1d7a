"""The one loop of all solvers that know a duality gap, and what they return.

The gap, primal value less dual value, bounds how far the weights are from the optimum:
docs/mathematics.md, section 7.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from classmark.arrays import Array, Floats
from classmark.estimator import TINY
from classmark.language import N_
from classmark.progress import track
from classmark.validation import Seed, generator

SETTLE = 8  # passes after which threads that share W agree on it again


@dataclass(frozen=True, slots=True)
class Solution:
    """Weights, and how near they are to the optimum.

    weights : (features,) or (features, labels), dense or sparse; None over a kernel;
    objective : the primal value;  gap : objective − dual value, ∞ where none is known;
    n_iter : passes, planes or steps, 0 where the start was good enough;
    trace : (seconds, objective, dual value) whenever the gap was computed;
    duals : of each hinge;  slopes : (hinges,), sign · score − margin of each that has a
    box;  coefficients : (rows,), weights = Σ coefficient · x;  scores : (rows,);
    losses : after each iteration, without the penalty.
    """

    weights: Floats
    objective: float
    gap: float
    n_iter: int
    trace: list[tuple[float, float, float]] = field(default_factory=list)
    duals: Any = None
    slopes: Floats | None = None
    coefficients: Any = None
    scores: Any = None
    losses: list[float] = field(default_factory=list)

    @property
    def relative_gap(self) -> float:
        """The gap by the objective; of an objective near zero, the gap itself."""
        return self.gap / max(self.objective, TINY)


class Ascent(ABC):
    """A problem on its way to the optimum; a subclass says what a step is.

    objective, gap : exact, when last computed;  n_iter : what was done so far;
    stuck : whether further steps gain nothing.
    """

    title = N_("passes over the documents")
    smallest = 1e-12  # an objective below counts as this much

    def __init__(self) -> None:
        self.weights: Any = None
        self.objective, self.gap = 0.0, float("inf")
        self.n_iter, self.stuck = 0, False
        self.trace: list[tuple[float, float, float]] = []
        self._started = time.perf_counter()

    @abstractmethod
    def step(self, tol: float) -> None:
        """Raise the dual value; at least now and then, compute objective and gap."""

    def record(self, objective: float, dual: float, gap: float | None = None) -> None:
        """Note the exact values; ``gap`` where it is known better than by both."""
        self.objective = objective
        self.gap = objective - dual if gap is None else gap
        self.trace.append((time.perf_counter() - self._started, objective, dual))

    def is_near(self, tol: float) -> bool:
        """Whether the gap is at most ``tol``, relative to the objective."""
        return bool(self.gap <= tol * max(self.smallest, self.objective))

    def solve(self, tol: float, max_iter: int) -> Solution:
        """Make steps until the gap is small enough, nothing is gained, or the limit."""
        for _ in track(range(max_iter), self.title, max_iter):
            if self.is_near(tol) or self.n_iter >= max_iter or self.stuck:
                break
            self.step(tol)
        return self.solution()

    def solution(self, **parts: Any) -> Solution:
        """The present weights, with objective and gap."""
        objective, gap = float(self.objective), float(self.gap)
        return Solution(self.weights, objective, gap, self.n_iter, self.trace, **parts)


class Dual(ABC):
    """A problem in its dual, with the weights its duals stand for.

    W : the weights, shape (features, labels), dense or sparse.
    """

    W: Any
    n_documents: int

    def learn(self, order: Array) -> float:
        """Visit the documents; return the cost Σ cap · slack as seen on the way."""
        return self._visit(order, learn=True)

    def cost(self) -> float:
        """Σ cap · slack over all groups at the present weights, exactly."""
        return self._visit(np.arange(self.n_documents), learn=False)

    def settle(self) -> None:  # noqa: B027 (nothing to do for one thread)
        """Make W exactly what the duals stand for, where threads have shared it."""

    @abstractmethod
    def _visit(self, order: Array, *, learn: bool) -> float:
        """Visit the documents, to learn or only to look; return Σ cap · slack."""

    @abstractmethod
    def values(self) -> tuple[float, float]:
        """½‖w − w₀‖², and the dual value Σα (1 − ⟨w₀, ψ⟩) − ½‖w − w₀‖²."""


class Passes(Ascent):
    """All documents in random order, again and again.

    The exact gap costs as much as a pass; it is computed when the costs seen during a
    pass say that it may be small enough, and at the end.
    """

    smallest = TINY

    def __init__(self, problem: Dual, max_iter: int, random_state: Seed) -> None:
        super().__init__()
        self.problem, self.max_iter = problem, max_iter
        self.random, self.rest = generator(random_state), 0
        self.order = np.arange(problem.n_documents)

    def step(self, tol: float) -> None:
        """One pass, and the exact gap where it may be small enough."""
        problem = self.problem
        self.n_iter += 1
        self.random.shuffle(self.order)
        seen = problem.learn(self.order)
        half, dual = problem.values()
        near = half + seen - dual <= tol * (half + seen) and self.n_iter >= self.rest
        if near or self.n_iter == self.max_iter:
            problem.settle()
            half, dual = problem.values()
            self.record(half + problem.cost(), dual)
            self.rest = self.n_iter + 1 + self.n_iter // 8
        elif self.n_iter % SETTLE == 0:
            problem.settle()

    def solution(self, **parts: Any) -> Solution:
        """The present weights, which are the problem's own."""
        self.weights = self.problem.W
        return super().solution(**parts)


def ascend(
    problem: Dual, tol: float, max_iter: int, random_state: Seed = 0
) -> Solution:
    """Pass over the documents until the relative gap of the problem is ``tol``."""
    return Passes(problem, max_iter, random_state).solve(tol, max_iter)
