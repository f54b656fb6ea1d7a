"""The price of every document's groups, and the weight of its edges by their ends.

Two ways to enumerate the groups, one price: ``price_groups`` goes through listed edges;
``price_layers`` sums over layers, in logarithms, without listing any.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.losses.formulas import price

ZERO_ONE, DISAGREEMENT, DOMINATION, DOMINATED = 0, 1, 2, 3


@compiled
def _log_add(a: float, b: float) -> float:
    """Return ln(eᵃ + eᵇ)."""
    if a == -math.inf:
        return b
    if b == -math.inf:
        return a
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@compiled
def _sum_levels(x: Any, level: Any, m: int, out: Any) -> None:
    """Sum each level: out_l = ln Σ_{u at l} exp(x_u), −∞ where the level is empty."""
    top = np.full(m, -math.inf)
    for u in range(len(x)):
        if level[u] >= 0:
            top[level[u]] = max(top[level[u]], x[u])
    out[:m] = 0.0
    for u in range(len(x)):
        if level[u] >= 0:
            out[level[u]] += math.exp(x[u] - top[level[u]])
    for at in range(m):
        out[at] = top[at] + math.log(out[at]) if out[at] > 0.0 else -math.inf


@compiled
def _sum_below(x: Any, level: Any, m: int, out: Any) -> None:
    """Sum what is below each level: out_l = ln Σ_{u below l} exp(x_u)."""
    _sum_levels(x, level, m, out)
    total = -math.inf
    for at in range(m):
        total, out[at] = _log_add(total, out[at]), total


@compiled
def _sum_above(x: Any, level: Any, m: int, out: Any) -> None:
    """Sum what is above each level: out_l = ln Σ_{u above l} exp(x_u)."""
    _sum_levels(x, level, m, out)
    total = -math.inf
    for at in range(m - 1, -1, -1):
        total, out[at] = _log_add(total, out[at]), total


@compiled
def _price_graph(f: Any, level: Any, m: int, below: Any, into: Any, out_of: Any) -> Any:
    """Zero-one: all edges are one group; return its price and the number of groups."""
    above = np.empty(m)
    _sum_below(f, level, m, below)
    _sum_above(-f, level, m, above)
    z = -math.inf
    for u in range(len(f)):
        if level[u] >= 0:
            z = _log_add(z, below[level[u]] - f[u])
    if z == -math.inf:
        return 0.0, 0
    cost = price(z)
    for u in range(len(f)):
        if level[u] >= 0:
            out_of[u] = math.exp(below[level[u]] - f[u] - cost)
            into[u] = math.exp(f[u] + above[level[u]] - cost)
    return cost, 1


@compiled
def _price_stars(f: Any, level: Any, m: int, sums: Any, hub: Any, rim: Any) -> Any:
    """Domination: a group for each label above others; return price, number of groups.

    With −f and the levels turned round it is dominated, a group for each label below.
    Label u's group costs P_u = price(z_u), z_u = ln Σ_{v below u} exp(f_v) − f_u. Its
    edges weigh exp(z_u − P_u) together, and exp(f_v − f_u − P_u) each.
    """
    _sum_below(f, level, m, sums)
    shifted = np.empty(len(f))
    total, groups = 0.0, 0
    for u in range(len(f)):
        shifted[u] = -math.inf
        if level[u] >= 0 and sums[level[u]] > -math.inf:
            z = sums[level[u]] - f[u]
            cost = price(z)
            hub[u] = math.exp(z - cost)
            shifted[u] = -f[u] - cost
            total += cost
            groups += 1
    ranked = np.where(shifted > -math.inf, level, -1)
    _sum_above(shifted, ranked, m, sums)
    for v in range(len(f)):
        if level[v] >= 0:
            rim[v] = math.exp(f[v] + sums[level[v]])
    return total, groups


@compiled
def _price_pairs(f: Any, level: Any, m: int, into: Any, out_of: Any) -> Any:
    """Disagreement: each edge alone; return their prices and their number."""
    starts = np.zeros(m + 1, np.int64)
    for u in range(len(f)):
        if level[u] >= 0:
            starts[level[u] + 1] += 1
    starts = np.cumsum(starts)
    place, end = np.empty(starts[m], np.int64), starts.copy()
    for u in range(len(f)):
        if level[u] >= 0:
            place[end[level[u]]] = u
            end[level[u]] += 1
    total, groups = 0.0, 0
    for a in range(starts[m]):
        u = place[a]
        for b in range(starts[level[u]]):
            v = place[b]
            z = f[v] - f[u]
            cost = price(z)
            weight = math.exp(z - cost)
            into[v] += weight
            out_of[u] += weight
            total += cost
        groups += starts[level[u]]
    return total, groups


@compiled
def _price_document(
    kind: int, f: Any, level: Any, m: int, sums: Any, into: Any, out_of: Any
) -> Any:
    """Price one document's layers by the decomposition ``kind``."""
    if kind == ZERO_ONE:
        return _price_graph(f, level, m, sums, into, out_of)
    if kind == DISAGREEMENT:
        return _price_pairs(f, level, m, into, out_of)
    if kind == DOMINATION:
        return _price_stars(f, level, m, sums, out_of, into)
    turned = np.where(level >= 0, m - 1 - level, -1)
    return _price_stars(-f, turned, m, sums, into, out_of)


@compiled
def price_layers(
    kind: int, starts: Any, columns: Any, levels: Any,
    F: Any, into: Any, out_of: Any, losses: Any,
) -> None:  # fmt: skip
    """Add each document's (1/s) Σ_k price to losses, and q/s to its edges' ends.

    Labels listed in row i of (starts, columns, levels) are at that level (−1: compared
    with nothing), all others at 0. F : scores, shape (n, k); into[i, y] gains the q/s
    of the edges that end in label y, out_of[i, y] of those that start in it.
    """
    n, k = F.shape
    level = np.empty(k, np.int64)
    sums = np.empty(k + 2)
    gain, cost = np.empty(k), np.empty(k)
    for i in range(n):
        level[:] = 0
        m = 1
        for p in range(starts[i], starts[i + 1]):
            level[columns[p]] = levels[p]
            m = max(m, levels[p] + 1)
        if m == 1:
            continue
        gain[:] = 0.0
        cost[:] = 0.0
        total, groups = _price_document(kind, F[i], level, m, sums, gain, cost)
        if groups:
            losses[i] += total / groups
            into[i] += gain / groups
            out_of[i] += cost / groups


@compiled
def price_groups(
    starts: Any, group_starts: Any, inits: Any, terms: Any, log_weights: Any,
    F: Any, into: Any, out_of: Any, losses: Any,
) -> None:  # fmt: skip
    """Do as ``price_layers`` for listed edges: document i has the groups starts[i]:….

    Group g has the edges group_starts[g]:group_starts[g + 1], from inits to terms, each
    with the logarithm of its weight.
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
