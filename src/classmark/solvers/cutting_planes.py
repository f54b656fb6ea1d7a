"""One slack for all labellings: cutting planes, and precision times recall.

P are the ``examples`` first rows, U the ``others`` after them; a and b of them are
found (labelled +), c and d missed. Of all labellings with the same table the worst
takes the a highest of P and the b highest of U.

Scales
------
The plane of a labelling is example · Σ_missed ⟨w, x⟩ − other · Σ_found ⟨w, x⟩ ≥ loss ·
Δ − ξ, over the missed of P and the found of U. OP 4 of [ZhangLee09] has loss = 1/2n,
example = other = 1/n. It is

- SVM-perf's problem [Joachims05] as printed, with C/2n for its C;
- that of the program of the same name, whose labels are ±50/n and whose loss is 100 Δ,
  with C = 50 · (its C) / n and w = (its w) / 2n: a C of 100 there is .6 here for 8,000
  documents;
- for "error" liblinear's hinge loss with C/n for its C; for "balanced" (OP 5) a hinge
  of box C/n with margins 1/4l on P and 1/4u on U; for "one-class" (OP 1) box C/l.

With u ≫ l the many of U drown P at every C; ``balanced_scale`` weighs the scores of P
and U as SVM_ba with weighted slacks does, and its C is that C_P: boxes C and C · l/u.

docs/mathematics.md, section 11, has the losses, derives the coordinate ascent of
SVM_pr, and says why cutting planes end it where there is a handful of examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints, Rows
from classmark.problems import Mistake
from classmark.solvers.ascent import Ascent, Solution
from classmark.solvers.hinge import (
    Gram,
    HingeAscent,
    Hinges,
    KernelFunction,
    Table,
    as_parts,
)
from classmark.solvers.kernels_hinge import (
    combine,
    margins_of,
    maximise_dual,
    multiply,
    product_loss,
    worst_table,
)
from classmark.validation import Seed, generator


class Linear(NamedTuple):
    """product : weights → scores;  back : coefficients → weights;  width : features."""

    product: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]
    width: int


def dot(first: Floats, second: Floats) -> float:
    """⟨first, second⟩ in this thread: for vectors like these more threads only wait.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i", first, second))


def linear(parts: Sequence[Rows]) -> Linear:
    """The two products of some matrices; rows of coefficient 0 cost nothing.

    >>> from classmark.arrays import rows_from
    >>> X = linear([rows_from([[1.0, 2.0]]), rows_from([[0.0, 3.0]])])
    >>> X.product(np.array([1.0, 1.0])).tolist(), X.back(np.ones(2)).tolist()
    ([3.0, 3.0], [1.0, 5.0])
    """
    if not parts:
        raise Mistake("parts: none given: give at least one matrix")
    ends = np.cumsum([0, *map(len, parts)])
    spans = [slice(*span) for span in pairwise(ends)]
    each = [(as_parts([part]), span) for part, span in zip(parts, spans, strict=True)]
    width = max(part.width for part in parts)

    def product(weights: Floats) -> Floats:
        scores = np.empty(ends[-1])
        for arrays, span in each:
            multiply(arrays, weights, scores[span])
        return scores

    def back(coefficients: Floats) -> Floats:
        weights = np.zeros(width)
        for arrays, span in each:
            rows = np.flatnonzero(coefficients[span]).astype(np.uint32)
            combine(arrays, rows, coefficients[span][rows], weights)
        return weights

    return Linear(product, back, width)


def linear_in_kernel(
    parts: Sequence[Rows], kernel: KernelFunction, memory: str | float = "512MB"
) -> Linear:
    """The same in the space of a kernel, whose weights are the rows' coefficients.

    A vector w = Σ c_r φ(x_r) is its c: ``back`` changes nothing, and ``product`` sums
    rows of the Gram matrix, of which as many are kept as fit in ``memory``.

    >>> from classmark.arrays import rows_from
    >>> X = linear_in_kernel([rows_from([[1.0], [2.0]])], KernelFunction("polynomial"))
    >>> X.product(X.back(np.array([0.0, 1.0]))).tolist()
    [9.0, 25.0]
    """
    gram = Gram(parts, kernel, memory)
    return Linear(gram.combine, lambda coefficients: coefficients, len(gram.squares))


IDLE = 40  # a plane that has had no dual for so many solutions is dropped
ROOM = 16
STEPS = 100_000


class Point(NamedTuple):
    """Weights w = Xᵀ · coefficients, with X · w and ‖w‖²."""

    coefficients: Floats
    scores: Floats
    norm: float

    def toward(self, other: Point, t: float) -> Point:
        """(1 − t) · self + t · other."""
        return Point(
            (1.0 - t) * self.coefficients + t * other.coefficients,
            (1.0 - t) * self.scores + t * other.scores,
            (1.0 - t) ** 2 * self.norm
            + 2.0 * t * (1.0 - t) * dot(self.coefficients, other.scores)
            + t**2 * other.norm,
        )


class WorkingSet:
    """max Σ α·loss − ½ ‖Σ α·Xᵀc‖² over α ≥ 0, Σα ≤ C, a plane at a time.

    The Gram matrix grows by a row; place 0 is the plane ξ ≥ 0, whose dual is what the
    others leave of C. Memory: 8 bytes for each row of X and plane.
    """

    def __init__(self, rows: int, C: float) -> None:
        self.size, self.rows = 1, rows
        self.G = np.zeros((ROOM, ROOM))
        self.scores = np.zeros((ROOM, rows))
        self.losses, self.alpha = np.zeros(ROOM), np.zeros(ROOM)
        self.alpha[0] = C
        self.idle = np.zeros(ROOM, np.int64)
        self.planes: list[tuple[Ints, Floats]] = [(np.empty(0, np.int64), np.empty(0))]

    def add(self, coefficients: Floats, loss: float, scores: Floats) -> None:
        """One more plane; ``scores`` are X · Xᵀ · coefficients."""
        k, places = self.size, np.flatnonzero(coefficients)
        if k == len(self.losses):  # twice the room
            self.G = np.pad(self.G, (0, k))
            self.scores = np.pad(self.scores, ((0, k), (0, 0)))
            self.losses, self.alpha = np.pad(
                [self.losses, self.alpha], ((0, 0), (0, k))
            )
            self.idle = np.pad(self.idle, (0, k))
        values = coefficients[places]
        self.scores[k], self.losses[k], self.alpha[k], self.idle[k] = scores, loss, 0, 0
        row = self.scores[: k + 1, places] @ values
        self.G[k, : k + 1] = row
        self.G[: k + 1, k] = row
        self.planes.append((places, values))
        self.size += 1

    def solve(self, tol: float) -> None:
        """Move the duals to the optimum; drop what has been of no use for long."""
        k = self.size
        maximise_dual(self.G[:k, :k], self.losses[:k], self.alpha[:k], tol, STEPS)
        self.idle[:k] = np.where(self.alpha[:k] > 0.0, 0, self.idle[:k] + 1)
        self.idle[0] = 0
        used = np.flatnonzero(self.idle[:k] <= IDLE)
        if len(used) < k:
            m = self.size = len(used)
            self.G[:m, :m] = self.G[np.ix_(used, used)]
            for array in (self.scores, self.losses, self.alpha, self.idle):
                array[:m] = array[used]
            self.planes = [self.planes[place] for place in used]

    def lowest(self) -> tuple[Point, float]:
        """The point that the duals stand for, and the dual value."""
        used = np.flatnonzero(self.alpha[: self.size])
        alpha = self.alpha[used]
        coefficients = np.zeros(self.rows)
        for dual, place in zip(alpha, used, strict=True):
            places, values = self.planes[place]
            coefficients[places] += dual * values
        norm = float(alpha @ self.G[np.ix_(used, used)] @ alpha)
        scores = np.einsum("k,kn", self.alpha[: self.size], self.scores[: self.size])
        point = Point(coefficients, scores, norm)
        return point, float(alpha @ self.losses[used]) - 0.5 * norm


MIX = 0.1  # where to cut: so far from the best point toward the envelope's lowest
EXACT = 0.01  # of the tolerance: how exactly the envelope's lowest point is found
TRIES = 12  # oracle calls on one segment


class Plane(NamedTuple):
    """The constraint ⟨w, Xᵀc⟩ ≥ loss − ξ; coefficients: c, one for each row."""

    coefficients: Floats
    loss: float


Oracle = Callable[[Floats], Plane]


def cutting_planes(
    X: Linear,
    oracle: Oracle,
    C: float,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: Plane | None = None,
) -> Solution:
    """Minimise ½‖w‖² + C · max(0, max over planes of loss − ⟨w, Xᵀc⟩).

    The best point so far is kept; each plane is cut between it and the lowest point of
    the envelope of all planes, to which an exact line search then leads
    [FrancSonnenburg08]. It ends when the objective is at most ``tol`` (relative) above
    the envelope's lowest, the dual value. [Joachims05]

    X : its two products, X · w and Xᵀ · c, are all that is used of it;  oracle : scores
    → the plane that is violated most;  max_iter : the most planes to cut; where they do
    not suffice, ``gap`` says so;  start : a plane that holds, as an average of planes
    does, to begin with.

    >>> from classmark.solvers.cutting_planes import oracle_of
    >>> from classmark.arrays import rows_from
    >>> X = linear([rows_from([[2.0, 0.0]]), rows_from([[0.0, 0.5], [0.0, 1.0]])])
    >>> found = cutting_planes(X, oracle_of("balanced", 1, 2), 6.0)
    >>> found.weights.round(3).tolist(), round(found.objective, 4)
    ([0.125, -0.25], 0.0391)
    """
    if not C > 0.0:
        raise Mistake(f"C is {C}: give a number over 0")
    ascent = _Planes(X, oracle, float(C))
    if start is not None:
        ascent.cut(start, tol)
    return ascent.solve(tol, max_iter)


class _Planes(Ascent):
    """The state of the search: the best point, its value, and the planes."""

    title = "optimisation steps"

    def __init__(self, X: Linear, oracle: Oracle, C: float) -> None:
        super().__init__()
        zero = X.product(np.zeros(X.width))
        self.X, self.oracle, self.C = X, oracle, C
        self.set = WorkingSet(len(zero), C)
        self.best, self.next = Point(np.zeros(len(zero)), zero, 0.0), zero
        self.objective = self.gap = self._value(self.best)

    def step(self, tol: float) -> None:
        """Cut the plane that is violated most between best and lowest point."""
        self.cut(self.oracle(self.next), tol)

    def cut(self, plane: Plane, tol: float) -> None:
        """Add a plane; go to the lowest point between the best and the envelope's."""
        scores = self.X.product(self.X.back(plane.coefficients))
        self.n_iter += 1
        self.set.add(plane.coefficients, plane.loss, scores)
        self.set.solve(EXACT * tol * self.objective / self.C)
        lowest, dual = self.set.lowest()
        point, value = self._between(lowest, EXACT * tol * self.objective)
        if value < self.objective:
            self.best, self.objective = point, value
        gap = max(0.0, min(self.gap, self.objective - dual))
        self.record(self.objective, self.objective - gap, gap)
        self.next = (1.0 - MIX) * self.best.scores + MIX * lowest.scores

    def solution(self, **parts: Any) -> Solution:
        """The best weights so far, with objective and gap."""
        self.weights = self.X.back(self.best.coefficients)
        return super().solution(coefficients=self.best.coefficients, **parts)

    def _value(self, point: Point) -> float:
        plane = self.oracle(point.scores)
        slack = plane.loss - dot(plane.coefficients, point.scores)
        return 0.5 * point.norm + self.C * max(0.0, slack)

    def _between(self, end: Point, near: float) -> tuple[Point, float]:
        """The lowest point on the segment from the best to ``end``, nearly.

        On it the slack is convex and piecewise linear, and the quadratic part of ½‖w‖²
        + C ξ is known exactly: the slack's lines at both ends of an interval, each its
        value at 0 and its slope, give the next place to look at.
        """
        C, begin, change = self.C, self.best.scores, end.scores - self.best.scores
        cross = dot(self.best.coefficients, end.scores)
        curve = max(end.norm - 2.0 * cross + self.best.norm, 0.0)
        tilt = cross - self.best.norm

        def line_at(t: float) -> tuple[float, float]:
            plane = self.oracle(begin + t * change)
            at_zero = plane.loss - dot(plane.coefficients, begin)
            rise = -dot(plane.coefficients, change)
            return (at_zero, rise) if at_zero + rise * t > 0.0 else (0.0, 0.0)

        def slope(line: tuple[float, float], t: float) -> float:
            return tilt + t * curve + C * line[1]

        low, high = line_at(0.0), line_at(1.0)
        t = 0.0 if slope(low, 0.0) >= 0.0 else 1.0
        tries = TRIES if slope(low, 0.0) < 0.0 < slope(high, 1.0) else 0
        for _ in range(tries):
            bend = high[1] - low[1]
            t = (low[0] - high[0]) / bend if bend > 0.0 else 1.0
            if slope(low, t) >= 0.0:
                t = -(tilt + C * low[1]) / curve
            elif slope(high, t) <= 0.0:
                t = -(tilt + C * high[1]) / curve
            t = min(max(t, 0.0), 1.0)
            line = line_at(t)
            lines = max(low[0] + low[1] * t, high[0] + high[1] * t)
            if (line[0] + line[1] * t - lines) * C <= near:
                break
            low, high = (low, line) if slope(line, t) > 0.0 else (line, high)
        point = self.best.toward(end, t)
        return point, self._value(point)


class LossScale(NamedTuple):
    """The weights of Δ, of a missed example's score and of a retrieved other's."""

    loss: float
    example: float
    other: float


def literal_scale(examples: int, others: int) -> LossScale:
    """1/2n, 1/n, 1/n: as OP 4 is printed.

    >>> literal_scale(1, 3)
    LossScale(loss=0.125, example=0.25, other=0.25)
    """
    n = examples + others
    return LossScale(0.5 / n, 1.0 / n, 1.0 / n)


def balanced_scale(examples: int, others: int) -> LossScale:
    """Examples count 1, others l/u; Δ counts l, so that margins are about 1."""
    return LossScale(float(examples), 1.0, examples / max(others, 1))


def oracle_of(
    kind: str,
    examples: int,
    others: int,
    *,
    k: int | None = None,
    scale: LossScale | None = None,
) -> Oracle:
    """The oracle that maximises loss − c · scores over all labellings.

    kind : "precision-recall" (Δ = 1 − a² / ((a + b)(a + c))), "precision@k" (b / k) and
    "recall@k" (c / l), both over tables with a + b = k, "balanced" (c/2l + b/2u),
    "error" (2 (b + c), which makes OP 4 the SVM of OP 3) or "one-class" (OP 2, over the
    examples only, its Δ and scores counted 1/l);  scale : OP 4's unless given.

    >>> plane = oracle_of("precision@k", 1, 2, k=1)(np.array([0.1, 0.2, 0.3]))
    >>> (6 * plane.loss, (3 * plane.coefficients).tolist())
    (1.0, [1.0, 0.0, -1.0])
    """
    if examples < 1 or others < (0 if kind == "one-class" else 1):
        raise Mistake(f"{kind}: {examples} examples, {others} others: give at least 1")
    if kind == "one-class":
        return _separate(np.ones(examples), np.full(examples, 1.0 / examples))
    s = scale or literal_scale(examples, others)
    if kind in {"precision@k", "recall@k"}:
        if k is None or not 1 <= k <= examples + others:
            raise Mistake(f"k: {k} given: give a number from 1 to {examples + others}")
        return _at(k, kind == "precision@k", examples, s)
    if kind == "precision-recall":
        return _precision_recall(examples, s)
    if kind not in DELTAS:
        kinds = ["one-class", "precision@k", "recall@k", "precision-recall", *DELTAS]
        raise Mistake(f"kind {kind!r} is not known: use {', '.join(kinds)}")
    missed, retrieved = DELTAS[kind](examples, others)
    losses = [s.loss * missed / s.example, s.loss * retrieved / s.other]
    sizes = examples, others
    return _separate(np.repeat(losses, sizes), np.repeat([s.example, -s.other], sizes))


def without(oracle: Oracle, hidden: Ints) -> Oracle:
    """The oracle for the other rows alone: those hidden are in no plane.

    >>> oracle = without(oracle_of("precision@k", 1, 1, k=1), np.array([1]))
    >>> oracle(np.array([0.1, 9.0, 0.3])).coefficients.tolist()
    [0.5, 0.0, -0.5]
    """
    if not len(hidden):
        return oracle

    def worst(scores: Floats) -> Plane:
        rest = np.delete(np.arange(len(scores)), hidden)
        plane, coefficients = oracle(scores[rest]), np.zeros(len(scores))
        coefficients[rest] = plane.coefficients
        return Plane(coefficients, plane.loss)

    return worst


# Δ as a sum: what each missed example and each retrieved other adds to it
DELTAS: dict[str, Callable[[int, int], tuple[float, float]]] = {
    "balanced": lambda examples, others: (0.5 / examples, 0.5 / others),
    "error": lambda *_: (2.0, 2.0),
}


def _separate(losses: Floats, counts: Floats) -> Oracle:
    """Each row errs on its own, y · score < its loss / |count|; count has y's sign."""
    priced = losses * np.abs(counts)

    def worst(scores: Floats) -> Plane:
        wrong = priced > counts * scores
        return Plane(np.where(wrong, counts, 0.0), float(priced[wrong].sum()))

    return worst


def _at(k: int, precision: bool, examples: int, scale: LossScale) -> Oracle:
    """The k highest are retrieved, with a start for others: Δ is linear in a."""

    def worst(scores: Floats) -> Plane:
        keys = np.concatenate(
            [scores[:examples] * scale.example, scores[examples:] * scale.other]
        )
        if precision:
            keys[examples:] += scale.loss / k
        else:
            keys[:examples] -= scale.loss / examples
        best = np.argpartition(-keys, k - 1)[:k]
        retrieved = np.zeros(len(scores), bool)
        retrieved[best] = True
        hits = int(retrieved[:examples].sum())
        loss = (k - hits) / k if precision else (examples - hits) / examples
        return Plane(_coefficients(~retrieved[:examples], retrieved[examples:], scale),
                     scale.loss * loss)  # fmt: skip

    return worst


def _coefficients(missed: Any, retrieved: Any, scale: LossScale) -> Floats:
    return np.concatenate(
        [np.where(missed, scale.example, 0.0), np.where(retrieved, -scale.other, 0.0)]
    )


def _precision_recall(examples: int, scale: LossScale) -> Oracle:
    """Linear, and a sort of the few whose label depends on the table.

    An example under 0 is always missed, one over 1/l never; an other over 0 is always
    retrieved, one under what a first more would lower Δ by never (in units of Δ).
    """

    def worst(scores: Floats) -> Plane:
        p = scores[:examples] * (scale.example / scale.loss)
        u = scores[examples:] * (scale.other / scale.loss)
        missed, retrieved = p < 0.0, u > 0.0
        may_miss = np.flatnonzero(~missed & (p <= 1.0 / examples))
        may_miss = may_miss[np.argsort(p[may_miss])]
        a = examples - int(missed.sum()) - len(may_miss)
        b = int(retrieved.sum())
        least = 1.0 / (examples + b) - 1.0 / (examples + b + 1)
        may_find = np.flatnonzero(~retrieved & (u > -examples * least))
        may_find = may_find[np.argsort(-u[may_find])]
        n_miss, n_find = worst_table(p[may_miss], u[may_find], examples, a, b)
        missed[may_miss[:n_miss]] = True
        retrieved[may_find[:n_find]] = True
        a, b = a + len(may_miss) - n_miss, b + n_find
        loss = float(scale.loss * product_loss(float(a), float(b), examples))
        return Plane(_coefficients(missed, retrieved, scale), loss)

    return worst


PASSES = 2000  # after so many the rest is left to cutting planes
SHARE = 0.2  # of the gap: when less is due to the duals, whole tables are the rest


def ascend_precision(
    parts: Sequence[Rows],
    C: float,
    *,
    scale: LossScale | None = None,
    tol: float = 1e-3,
    random_state: Seed = 0,
) -> Solution:
    """Minimise ½‖w‖² + C ξ over the tables of precision · recall: SVM_pr [ZhangLee09].

    parts : examples and others;  scale : OP 4's unless given;  tol : of the gap,
    relative to the objective. It starts from Rocchio's duals; the weights are Σ_P dual
    · x − Σ_U dual · x.

    >>> from classmark.arrays import rows_from
    >>> P, U = rows_from([[1.0, 0.0]]), rows_from([[0.6, 0.8], [0.0, 1.0]])
    >>> found = ascend_precision([P, U], 6.0, tol=1e-6)
    >>> found.weights.round(3).tolist(), round(found.objective, 4)
    ([0.5, -0.687], 0.3613)
    """
    if len(parts) != 2 or not all(map(len, parts)):
        raise Mistake("parts: give two matrices, examples and others, neither empty")
    if not C > 0.0:
        raise Mistake(f"C is {C}: give a number over 0")
    counted = scale or literal_scale(*map(len, parts))
    ascent = _TableAscent(parts, float(C), counted, generator(random_state))
    solution = ascent.solve(tol, PASSES)
    return solution if ascent.is_near(tol) else ascent.finished(tol)


class _TableAscent(HingeAscent):
    """Hinges whose margins follow the table of examples and others retrieved."""

    title = "passes over the documents"
    longest = max_iter = PASSES

    def __init__(
        self, parts: Sequence[Rows], C: float, scale: LossScale, random: Any
    ) -> None:
        self.sizes = sizes = len(parts[0]), len(parts[1])
        self.X, self.C, self.scale = linear(parts), C, scale
        self.oracle = oracle_of("precision-recall", *sizes, scale=scale)
        self.table = Table(np.zeros(2), sizes[0], *scale, C)
        n, boxes = sum(sizes), C * np.repeat([scale.example, scale.other], sizes)
        signs = np.repeat([1.0, -1.0], sizes)
        hinges = Hinges(np.arange(n, dtype=np.uint32), signs, boxes, np.zeros(n))
        # Rocchio's: examples at their bound, others sharing as much
        duals = np.repeat([boxes[0], sizes[0] * boxes[0] / sizes[1]], sizes)
        super().__init__(parts, hinges, None, duals, None, random)
        self.look()

    def look(self) -> None:
        """The exact objective and gap of whole tables; which duals may have to move.

        Where most of the gap is not that of fractional tables, duals are stuck.
        """
        n, (_, signs, boxes, _) = self.sizes[0], self.hinges
        shares = self.duals / boxes
        self.table.counts[:] = n - shares[:n].sum(), shares[n:].sum()
        scores = self.X.product(self.weights)
        half = 0.5 * dot(self.weights, self.weights)
        plane = self.oracle(scores)
        slack = max(0.0, plane.loss - dot(plane.coefficients, scores))
        objective = float(half + self.C * slack)
        a, b = map(float, self.table.counts)
        self.loss = self.scale.loss * _interpolated(a, b, *self.sizes)
        dual = float(self.C * self.loss - half)
        self.record(objective, dual, max(0.0, objective - dual))
        self.value = self.C * self.scale.loss * product_loss(a, b, n) - half
        self.slopes = signs * scores - np.repeat(margins_of(self.table), self.sizes)
        costs = boxes * np.maximum(0.0, -self.slopes) + self.duals * self.slopes
        self.stuck = float(costs.sum()) <= SHARE * self.gap
        self.choose(np.max, 1.0)

    def finished(self, tol: float) -> Solution:
        """The rest by cutting planes, from the average plane that the duals are."""
        _, signs, boxes, _ = self.hinges
        start = Plane(signs * self.duals / self.C, self.loss)
        solution = cutting_planes(self.X, self.oracle, self.C, tol=tol, start=start)
        duals = np.clip(signs * solution.coefficients, 0.0, boxes)
        n_iter = self.n_iter + solution.n_iter
        return replace(solution, duals=duals, n_iter=n_iter)


def _interpolated(a: float, b: float, examples: int, others: int) -> float:
    """Δ of a fractional table: the highest average of the whole tables around it.

    >>> _interpolated(0.5, 0.5, 1, 1)
    0.75
    """
    low = min(int(a), examples - 1), min(int(b), others - 1)
    x, y = min(max(a - low[0], 0.0), 1.0), min(max(b - low[1], 0.0), 1.0)
    none, right, up, both = (
        product_loss(float(low[0] + i), float(low[1] + j), examples)
        for j in (0, 1)
        for i in (0, 1)
    )
    least, most = max(0.0, x + y - 1.0), min(x, y)  # of the weight of ``both``
    weigh = [t * both + (x - t) * right + (y - t) * up + (1 - x - y + t) * none
             for t in (least, most)]  # fmt: skip
    return float(max(weigh))
