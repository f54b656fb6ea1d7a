"""The price of every document's groups, and the weight of its edges by their ends."""

from __future__ import annotations

import math
from typing import Any

from classmark.compiled import compiled


@compiled
def price(z: float) -> float:
    """Price a group: ln(1 + Σ_e exp(f(term e) − f(init e))) [DekelManningSinger03].

    z : ln Σ_e exp(…), the logarithm of the sum over the group's edges; the price then
    is ln(1 + eᶻ), taken without overflow. Over ln 2 it bounds the group's error.

    >>> round(price(0.0), 4)
    0.6931
    """
    if z > 0.0:
        return z + math.log1p(math.exp(-z))
    return math.log1p(math.exp(z))


@compiled
def _log_add(a: float, b: float) -> float:
    """Return ln(eᵃ + eᵇ)."""
    if a == -math.inf:
        return b
    if b == -math.inf:
        return a
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@compiled
def price_groups(
    starts: Any, group_starts: Any, inits: Any, terms: Any, log_weights: Any,
    F: Any, into: Any, out_of: Any, losses: Any,
) -> None:  # fmt: skip
    """Add each document's (1/s) Σ_k price to losses, and q/s to its edges' ends.

    Document i has the groups starts[i]:starts[i + 1]; group g has the edges
    group_starts[g]:group_starts[g + 1], from inits to terms, each with the logarithm of
    its weight. F : scores, shape (n, k); into[i, y] gains the q/s of the edges that end
    in label y, out_of[i, y] of those that start in it.
    """
    for i in range(len(F)):
        share = 1.0 / max(1, starts[i + 1] - starts[i])
        for g in range(starts[i], starts[i + 1]):
            z = -math.inf
            for e in range(group_starts[g], group_starts[g + 1]):
                z = _log_add(z, F[i, terms[e]] - F[i, inits[e]] + log_weights[e])
            cost = price(z)
            losses[i] += share * cost
            for e in range(group_starts[g], group_starts[g + 1]):
                one = F[i, terms[e]] - F[i, inits[e]] + log_weights[e]
                weight = share * math.exp(one - cost)
                into[i, terms[e]] += weight
                out_of[i, inits[e]] += weight
