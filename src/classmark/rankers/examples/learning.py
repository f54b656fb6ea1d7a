"""What each method makes of what is given: means, hinges, or tables."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.rankers.examples import auto
from classmark.rankers.examples.biased import biased
from classmark.rankers.examples.collection import Collection, climb, products
from classmark.rankers.examples.given import Given, mean_of
from classmark.rankers.examples.hinges import PRICES, hinges_of
from classmark.scores.similarity import Kernel
from classmark.solvers.cutting.planes import cutting_planes
from classmark.solvers.cutting.precision import ascend_precision
from classmark.solvers.cutting.tables import balanced_scale, oracle_of
from classmark.solvers.hinge.kernelised import ascend_gram
from classmark.sparse import Rows, stack

NEED_NOTHING = ("centroid", "one-class")
NEED_MEAN = ("rocchio", "auto")
PRODUCTS = ("precision-recall", "precision-recall-balanced")
WEIGHTED = ("balanced", "precision-recall-balanced")  # C is what an example costs


class Settings(Protocol):
    """What an ``ExampleQuery`` is told."""

    method: str
    C: float | None
    k: int | None
    tol: float | None
    kernel: Any
    gamma: float
    degree: int
    coef0: float
    random_state: int


class Learned(NamedTuple):
    """A query: weights, or coefficients of support documents under a kernel."""

    weights: Floats | None
    objective: float
    gap: float
    method: str
    C: float
    answer: auto.Answer | None = None
    coefficients: Floats = np.empty(0)
    support: Rows | None = None
    kernel: Kernel | None = None

    def scores(self, X: Rows | Collection) -> Floats:
        """Score documents, shape (n,)."""
        if self.weights is not None:
            if X.width != len(self.weights):
                raise Mistake(f"X has {X.width} columns: give {len(self.weights)}")
            return products([X]).product(self.weights)
        if not isinstance(X, Rows):
            raise Mistake(
                "X: a kernel needs rows at hand: score some at a time (X.take(rows)), "
                "or use the linear one"
            )
        if self.kernel is None or self.support is None:
            raise TypeError("a query without weights has support documents")
        alike = self.kernel(X.to_scipy(), self.support.to_scipy())
        return np.asarray(alike @ self.coefficients)


def learned(told: Settings, all_: Given, before: Learned | None) -> Learned:
    """Learn by the method that was told; ``before`` is where to start from."""
    _require(told.method, all_)
    if told.kernel != "linear":
        return _by_kernel(told, all_)
    if told.method in {"centroid", "rocchio"}:
        return _by_means(told, all_)
    if told.method == "auto":
        return _by_choice(told, all_, before)
    if told.method in PRICES:
        return _by_hinges(told, all_)
    if told.method == "biased":
        return _by_bias(told, all_)
    return _by_tables(told, all_)


def _require(method: str, all_: Given) -> None:
    if len(all_.U) or method in NEED_NOTHING:
        return
    if method not in NEED_MEAN:
        raise Mistake(f"{method} learns from the collection: give U")
    if not all_.mean.any():
        raise Mistake(f"{method} learns from the collection: give U, or its mean")


def _by_means(told: Settings, all_: Given) -> Learned:
    """The mean of P, less that of U: the minimum of ½‖w‖² − w · (mean P − mean U)."""
    weights = mean_of(all_.P)
    if told.method == "rocchio":
        weights = weights - all_.mean
    if len(all_.N):
        weights = weights - mean_of(all_.N)
    value = -0.5 * float(weights @ weights)
    return Learned(weights, value, 0.0, told.method, float("nan"))


def _by_choice(told: Settings, all_: Given, before: Learned | None) -> Learned:
    C = 1.0 if told.C is None else told.C
    if len(all_.U):
        answer = auto.learn(
            all_, C, _tol(told), None if before is None else before.answer
        )
    else:
        answer = auto.learn_online(all_, C, _tol(told))
    found = answer.found
    return Learned(found.weights, found.objective, found.gap, "auto", C, answer)


def _by_hinges(told: Settings, all_: Given) -> Learned:
    C = _cost(told)
    hinges = hinges_of(all_, PRICES[told.method](all_, C))
    duals, tol = hinges.boxes, _tol(told)
    found = climb(all_.judged(), all_.U, hinges, duals=duals, tol=tol)
    return Learned(found.weights, found.objective, found.gap, told.method, C)


def _by_bias(told: Settings, all_: Given) -> Learned:
    found, C = biased(all_, told.C, _tol(told), told.random_state)
    return Learned(found.weights, found.objective, found.gap, "biased", C)


def _by_tables(told: Settings, all_: Given) -> Learned:
    """SVM_pr, SVM_p@k, SVM_r@k: rejected documents stand among the others."""
    C, tol = _cost(told), _tol(told)
    parts = _tables(all_)
    examples, others = len(all_.P), len(all_.N) + len(all_.U)
    weighted = told.method == "precision-recall-balanced"
    scale = balanced_scale(examples, others) if weighted else None
    here = [part for part in parts if isinstance(part, Rows)]
    found: Any
    if told.method in PRODUCTS and len(here) == len(parts):
        found = ascend_precision(here, C, scale=scale, tol=tol)
    else:
        kind = "precision-recall" if told.method in PRODUCTS else told.method
        k = examples if told.k is None else told.k
        oracle = oracle_of(kind, examples, others, k=k, scale=scale)
        found = cutting_planes(products(parts), oracle, C, tol=tol)
    return Learned(found.weights, found.objective, found.gap, told.method, C)


def _tables(all_: Given) -> list[Rows | Collection]:
    """The examples, and all others below them."""
    if not len(all_.N):
        return [all_.P, all_.U]
    if isinstance(all_.U, Rows):
        return [all_.P, stack([all_.N, all_.U])]
    return [all_.P, all_.N, all_.U]


def _by_kernel(told: Settings, all_: Given) -> Learned:
    if isinstance(all_.U, Collection):
        raise Mistake(
            f"the kernel {told.kernel!r} needs the rows of U at hand: use the linear "
            "one, or give how many documents to learn from as sample"
        )
    kernel = Kernel(told.kernel, told.gamma, told.degree, told.coef0)
    parts = [all_.judged(), all_.U] if len(all_.U) else [all_.judged()]
    support = stack(parts)
    if told.method in {"centroid", "rocchio"}:
        return _means_by_kernel(told, all_, support, kernel)
    if told.method not in PRICES:
        known = ", ".join(["centroid", "rocchio", *PRICES])
        raise Mistake(f"{told.method} has no form with kernels: use {known}")
    C = _cost(told)
    hinges = hinges_of(all_, PRICES[told.method](all_, C))
    matrices = [part.to_scipy() for part in parts]
    found = ascend_gram(matrices, hinges, kernel, tol=_tol(told))
    return Learned(
        None, found.objective, found.gap, told.method, C, None,
        found.coefficients, support, kernel,
    )  # fmt: skip


def _means_by_kernel(
    told: Settings, all_: Given, support: Rows, kernel: Kernel
) -> Learned:
    """Means in the kernel's space: coefficients 1/l, and −1/u."""
    counts = [len(part) for part in (all_.P, all_.N, all_.U)]
    if told.method == "rocchio" and not counts[2]:
        raise Mistake("rocchio with a kernel needs the documents of U: give them")
    each = [1.0, -1.0, -1.0 if told.method == "rocchio" else 0.0]
    parts = zip(each, counts, strict=True)
    coefficients = np.concatenate([np.full(n, sign / max(n, 1)) for sign, n in parts])
    return Learned(
        None, float("nan"), 0.0, told.method, float("nan"), None,
        coefficients, support, kernel,
    )  # fmt: skip


def _cost(told: Settings) -> float:
    if told.C is not None:
        return float(told.C)
    return 1.0 if told.method in WEIGHTED else 100.0


def _tol(told: Settings) -> float:
    if told.tol is not None:
        return told.tol
    return 1e-2 if told.method == "auto" else 1e-3
