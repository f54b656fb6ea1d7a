"""Which labelling is the worst: the separation oracles of tables of hits and misses.

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
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.solvers.cutting.planes import Oracle, Plane


class Scale(NamedTuple):
    """What Δ, the score of a missed example and that of a found other count."""

    loss: float
    example: float
    other: float


def literal_scale(examples: int, others: int) -> Scale:
    """1/2n, 1/n, 1/n: as OP 4 is printed.

    >>> literal_scale(1, 3)
    Scale(loss=0.125, example=0.25, other=0.25)
    """
    n = examples + others
    return Scale(0.5 / n, 1.0 / n, 1.0 / n)


def balanced_scale(examples: int, others: int) -> Scale:
    """Examples count 1, others l/u; Δ counts l, so that margins are about 1."""
    return Scale(float(examples), 1.0, examples / max(others, 1))


def oracle_of(
    kind: str,
    examples: int,
    others: int,
    *,
    k: int | None = None,
    scale: Scale | None = None,
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
    counted = scale or literal_scale(examples, others)
    if kind in {"precision@k", "recall@k"}:
        if k is None or not 1 <= k <= examples + others:
            raise Mistake(f"k: {k} given: give a number from 1 to {examples + others}")
        return _at(k, kind == "precision@k", examples, counted)
    if kind not in ORACLES:
        known = ["one-class", "precision@k", "recall@k", *ORACLES]
        raise Mistake(f"kind {kind!r} is not known: use {', '.join(known)}")
    return ORACLES[kind](examples, others, counted)


def _separate(losses: Floats, counts: Floats) -> Oracle:
    """Each row errs on its own, y · score < its loss / |count|; count has y's sign."""
    priced = losses * np.abs(counts)

    def worst(scores: Floats) -> Plane:
        wrong = priced > counts * scores
        return Plane(np.where(wrong, counts, 0.0), float(priced[wrong].sum()))

    return worst


def _apart(examples: int, others: int, losses: tuple[float, float], s: Scale) -> Oracle:
    """Δ = the sum of what each missed example and each found other adds to it."""
    both = np.repeat(
        [s.loss * losses[0] / s.example, s.loss * losses[1] / s.other],
        [examples, others],
    )
    return _separate(both, np.repeat([s.example, -s.other], [examples, others]))


def _balanced(examples: int, others: int, scale: Scale) -> Oracle:
    return _apart(examples, others, (0.5 / examples, 0.5 / others), scale)


def _error(examples: int, others: int, scale: Scale) -> Oracle:
    return _apart(examples, others, (2.0, 2.0), scale)


def _at(k: int, precision: bool, examples: int, scale: Scale) -> Oracle:
    """The k highest are found, with a start for others: Δ is linear in a."""

    def worst(scores: Floats) -> Plane:
        keys = np.concatenate(
            [scores[:examples] * scale.example, scores[examples:] * scale.other]
        )
        if precision:
            keys[examples:] += scale.loss / k
        else:
            keys[:examples] -= scale.loss / examples
        rows_found = np.argpartition(-keys, k - 1)[:k]
        found = np.zeros(len(scores), bool)
        found[rows_found] = True
        hits = int(found[:examples].sum())
        loss = (k - hits) / k if precision else (examples - hits) / examples
        return Plane(_coefficients(~found[:examples], found[examples:], scale),
                     scale.loss * loss)  # fmt: skip

    return worst


def _coefficients(missed: Any, found: Any, scale: Scale) -> Floats:
    return np.concatenate(
        [np.where(missed, scale.example, 0.0), np.where(found, -scale.other, 0.0)]
    )


def _precision_recall(examples: int, _: int, scale: Scale) -> Oracle:
    """Linear, and a sort of the few whose label depends on the table.

    An example under 0 is always missed, one over 1/l never; an other over 0 is always
    found, one under what a first more would lower Δ by never (in units of Δ).
    """
    from classmark.solvers.cutting.kernels import product_loss, worst_table

    def worst(scores: Floats) -> Plane:
        p = scores[:examples] * (scale.example / scale.loss)
        u = scores[examples:] * (scale.other / scale.loss)
        missed, found = p < 0.0, u > 0.0
        may_miss = np.flatnonzero(~missed & (p <= 1.0 / examples))
        may_miss = may_miss[np.argsort(p[may_miss])]
        a = examples - int(missed.sum()) - len(may_miss)
        b = int(found.sum())
        least = 1.0 / (examples + b) - 1.0 / (examples + b + 1)
        may_find = np.flatnonzero(~found & (u > -examples * least))
        may_find = may_find[np.argsort(-u[may_find])]
        n_miss, n_find = worst_table(p[may_miss], u[may_find], examples, a, b)
        missed[may_miss[:n_miss]] = True
        found[may_find[:n_find]] = True
        a, b = a + len(may_miss) - n_miss, b + n_find
        loss = float(scale.loss * product_loss(float(a), float(b), examples))
        return Plane(_coefficients(missed, found, scale), loss)

    return worst


ORACLES: dict[str, Callable[[int, int, Scale], Oracle]] = {
    "precision-recall": _precision_recall,
    "balanced": _balanced,
    "error": _error,
}
