"""Passes over documents that move the odds of each label's group up the dual.

The group of a document's label u is u and all labels that the document has not; its
dual is a distribution p over the group, and w gains cap · x ⊗ (e_u − p) from it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.scores.kernels import scores_of, square


@compiled
def odds_pass(
    order: Any, starts: Any, columns: Any, values: Any, label_starts: Any, labels: Any,
    caps: Any, W: Any, P: Any, entropy: Any, costs: Any, learn: bool,
) -> None:  # fmt: skip
    """Visit the documents of ``order``: one step for each of their groups.

    P : (groups, labels), the duals, rows summing to 1;  entropy : −Σ p ln p of each;
    caps : what a group's loss costs;  costs : Σ cap · loss of each document as seen.
    """
    k = W.shape[1]
    f, d = np.empty(k, W.dtype), np.empty(k)
    for o in range(len(order)):
        i = order[o]
        row = slice(starts[i], starts[i + 1])
        q = square(values[row])
        scores_of(columns[row], values[row], W, f)
        costs[i] = 0.0
        for g in range(label_starts[i], label_starts[i + 1]):
            u = labels[g]
            for h in range(label_starts[i], label_starts[i + 1]):
                if h != g:
                    d[labels[h]] = f[labels[h]]
                    f[labels[h]] = -np.inf
            total = _log_sum(f)
            costs[i] += caps[g] * (total - f[u])
            kept = d.copy() if label_starts[i + 1] - label_starts[i] > 1 else d
            step = 0.0
            if learn and q > 0.0:
                step = _step(f, total, P[g], entropy[g], caps[g] * q, d)
            for h in range(label_starts[i], label_starts[i + 1]):
                if h != g:
                    f[labels[h]] = kept[labels[h]]
            if step > 0.0:
                entropy[g] = _move(P[g], d, step)
                _add(columns[row], values[row], W, d, -caps[g] * step)
                for r in range(k):
                    f[r] -= caps[g] * step * q * d[r]


@compiled
def _log_sum(f: Any) -> Any:
    """Return ln Σ exp(f)."""
    largest, total = -np.inf, 0.0
    for r in range(len(f)):
        largest = max(largest, f[r])
    for r in range(len(f)):
        total += math.exp(f[r] - largest)
    return largest + math.log(total)


@compiled
def _step(f: Any, total: float, p: Any, entropy: float, curve: float, d: Any) -> Any:
    """How far to go from p towards t = softmax(f); d becomes t − p.

    The dual gains at least s KL(p‖t) + ½ s(1 − s)‖d‖₁² − ½ s² curve ‖d‖₂², the entropy
    being 1-strongly concave in the first norm [ShalevZhang13]; s makes that largest.
    """
    one, two, apart = 0.0, 0.0, -entropy
    for r in range(len(f)):
        log = f[r] - total
        d[r] = math.exp(log) - p[r]
        one += abs(d[r])
        two += d[r] * d[r]
        if p[r] > 0.0:
            apart -= p[r] * log
    flat = one * one
    if flat + curve * two <= 0.0:
        return 0.0
    return min(1.0, (max(0.0, apart) + 0.5 * flat) / (flat + curve * two))


@compiled
def _move(p: Any, d: Any, step: float) -> Any:
    """Go from p a share of the way d; return the new entropy."""
    entropy = 0.0
    for r in range(len(p)):
        p[r] = max(0.0, p[r] + step * d[r])
        if p[r] > 0.0:
            entropy -= p[r] * math.log(p[r])
    return entropy


@compiled
def _add(columns: Any, values: Any, W: Any, d: Any, share: float) -> None:
    """W[j] += share · x_j · d."""
    for j in range(len(columns)):
        row, value = W[columns[j]], share * values[j]
        for r in range(len(d)):
            row[r] += value * d[r]
