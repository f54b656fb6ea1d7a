"""Pairs of queries, one by one."""

from itertools import combinations, pairwise

import numpy as np


def arrange(scores, runs, joins, orders):
    spans = [(int(a), int(b)) for a, b in pairwise(runs)]
    for depth in range(len(orders)):
        for a, b in spans:
            orders[depth, a:b] = sorted(range(a, b), key=lambda row: scores[row])
        for join in joins:
            if join[0] == depth and join[2] == join[3]:
                low, middle, high = (int(at) for at in join[[1, 2, 4]])
                spans = [s for s in spans if not low <= s[0] < high]
                assert low < middle < high
                spans.append((low, high))


def pairs_of(joins, prices, counts):
    for (_, a, b, c, d), each in zip(joins, prices, strict=True):
        for i in range(c, d):
            for j in range(a, b):
                yield i, j, each * counts[i]


def smoothed(scores, joins, prices, counts, width):
    total = 0.0
    for i, j, count in pairs_of(joins, prices, counts):
        z = 1.0 - scores[i] + scores[j]
        slope = min(max(z / width, 0.0), 1.0)
        total += count * (slope * z - 0.5 * width * slope**2)
    return total


def price(scores, orders, joins, prices, counts, width, out):
    hinge = slopes = 0.0
    out[:] = 0.0
    for i, j, count in pairs_of(joins, prices, counts):
        z = 1.0 - scores[i] + scores[j]
        slope = min(max(z / width, 0.0), 1.0)
        hinge += count * max(0.0, z)
        slopes += count * slope
        out[i] += count * slope
        out[j] -= count * slope
    return hinge, slopes


def bend(scores, orders, joins, prices, counts, width, x, out):
    out[:] = 0.0
    for i, j, count in pairs_of(joins, prices, counts):
        if 0.0 < 1.0 - scores[i] + scores[j] <= width:
            out[i] += count / width * (x[i] - x[j])
            out[j] -= count / width * (x[i] - x[j])


def log_linear(scores, joins, prices, counts, out):
    loss = 0.0
    out[:] = 0.0
    for i, j, count in pairs_of(joins, prices, counts):
        loss += count * np.logaddexp(0.0, scores[j] - scores[i])
        share = count / (1.0 + np.exp(scores[i] - scores[j]))
        out[i] += share
        out[j] -= share
    return loss


def average_precision(relevant):
    """Of relevances, best first."""
    places = np.flatnonzero(relevant) + 1
    return float(np.mean(np.arange(1, len(places) + 1) / places))


def worst_orders(scores, queries, prices):
    """Every way to mix the two sides, each sorted by score: what is worst, by query.

    Of orders with the relevant rows at the same places the worst has each side by
    falling score. Returns Σ (loss − ⟨coefficients, scores⟩).
    """
    total = 0.0
    for (begin, middle, end), price in zip(queries.tolist(), prices, strict=True):
        others = sorted(scores[begin:middle], reverse=True)
        good = sorted(scores[middle:end], reverse=True)
        n, best = end - begin, -np.inf
        for places in combinations(range(n), len(good)):
            relevant = np.isin(np.arange(n), places)
            mixed = np.empty(n)
            mixed[relevant], mixed[~relevant] = good, others
            wrong = sum(
                mixed[i] - mixed[j] for i in places for j in range(i) if not relevant[j]
            )
            each = 2.0 / (len(good) * len(others))
            value = 1.0 - average_precision(relevant) - each * wrong
            best = max(best, price * value)
        total += best
    return total
