"""The log-linear loss, slowly: every edge listed, every sum written out."""

import math
from itertools import product


def price(z):
    return math.log(1 + math.exp(z))


def edges_of(levels):
    k = range(len(levels))
    return [(u, v) for u, v in product(k, k) if levels[u] > levels[v] >= 0]


def groups_of(kind, edges):
    if kind == 0:
        return [edges] if edges else []
    if kind == 1:
        return [[edge] for edge in edges]
    end = kind - 2
    return [[e for e in edges if e[end] == y] for y in sorted({e[end] for e in edges})]


def price_document(groups, weights, f, into, out_of):
    total = 0.0
    for group, weight in zip(groups, weights, strict=True):
        parts = [
            w * math.exp(f[v] - f[u]) for (u, v), w in zip(group, weight, strict=True)
        ]
        total += math.log(1 + sum(parts)) / len(groups)
        for (u, v), part in zip(group, parts, strict=True):
            q = part / (1 + sum(parts)) / len(groups)
            into[v] += q
            out_of[u] += q
    return total


def price_layers(kind, starts, columns, levels, F, into, out_of, losses):
    for i, f in enumerate(F):
        level = [0] * len(f)
        for p in range(starts[i], starts[i + 1]):
            level[columns[p]] = levels[p]
        groups = groups_of(kind, edges_of(level))
        ones = [[1.0] * len(group) for group in groups]
        losses[i] += price_document(groups, ones, f, into[i], out_of[i])


def price_groups(
    starts, group_starts, inits, terms, log_weights, F, into, out_of, losses
):
    for i, f in enumerate(F):
        groups, weights = [], []
        for g in range(starts[i], starts[i + 1]):
            of = slice(group_starts[g], group_starts[g + 1])
            groups.append(list(zip(inits[of], terms[of], strict=True)))
            weights.append([math.exp(w) for w in log_weights[of]])
        losses[i] += price_document(groups, weights, f, into[i], out_of[i])
