"""Precision and recall as losses: the separation oracles, and coordinate ascent.

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

docs/mathematics.md, section 11, derives the coordinate ascent of SVM_pr, and says why
cutting planes end it where there is a handful of examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Floats, Rows
from classmark.problems import Mistake
from classmark.solvers.ascent import Solution
from classmark.solvers.cutting_planes import Oracle, Plane, cutting_planes, dot, linear
from classmark.solvers.hinge import HingeAscent, Hinges, Table
from classmark.solvers.kernels_hinge import margins_of, product_loss, worst_table
from classmark.validation import Seed, generator


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

    title = "passes"
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
