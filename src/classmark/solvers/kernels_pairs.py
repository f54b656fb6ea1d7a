"""Loops over the pairs of queries: sorted by score, a row's pairs are a few ranges.

A join says that all rows up[0]:up[1] should be above all rows low[0]:low[1]; it has a
price, and a pair (i, j) of it counts price · counts[i]. Joins are (depth, low[0],
low[1], up[0], up[1]), by depth; orders[depth] holds each side of it by rising score. A
pair's hinge is max(0, z), z = 1 − s_i + s_j, smoothed: z²/2ε for z < ε, else z − ε/2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.kernels import fill, sort_by


@compiled
def _merge(scores: Any, first: Any, second: Any, out: Any) -> None:
    """Two lists of rows, each by rising score, as one."""
    a, b = 0, 0
    for k in range(len(out)):
        if b == len(second) or (
            a < len(first) and scores[first[a]] <= scores[second[b]]
        ):
            out[k] = first[a]
            a += 1
        else:
            out[k] = second[b]
            b += 1


@compiled
def arrange(scores: Any, runs: Any, joins: Any, orders: Any) -> None:
    """Sort the rows of every run by score; at each further depth the joined sides.

    runs : bounds of runs of rows of one query and grade;  orders : uint32, (depths, n);
    orders[0] comes with the rows of each run in any order, best in that of last time.
    """
    for r in range(len(runs) - 1):
        sort_by(scores, orders[0, runs[r] : runs[r + 1]], runs[r + 1] - runs[r])
    for depth in range(1, len(orders)):
        for k in range(orders.shape[1]):
            orders[depth, k] = orders[depth - 1, k]
    for m in range(len(joins)):
        depth, low, middle, _, high = joins[m]
        if depth + 1 < len(orders):
            before = orders[depth]
            _merge(
                scores, before[low:middle], before[middle:high],
                orders[depth + 1, low:high],
            )  # fmt: skip
            for deeper in range(depth + 2, len(orders)):
                for k in range(low, high):
                    orders[deeper, k] = orders[depth + 1, k]


@compiled
def _winners(
    scores: Any, lower: Any, upper: Any, counts: Any, width: float, each: float,
    out: Any, sums: Any,
) -> None:  # fmt: skip
    """What the winners gain; sums gain Σ hinge, Σ slope."""
    n, near, far = len(lower), 0, 0
    total, near_sum, far_sum = 0.0, 0.0, 0.0
    for k in range(n):
        total += scores[lower[k]]
    for k in range(len(upper)):
        i = upper[k]
        s = scores[i]
        while far < n and s - scores[lower[far]] >= 1.0:
            far_sum += scores[lower[far]]
            far += 1
        while near < n and s - scores[lower[near]] >= 1.0 - width:
            near_sum += scores[lower[near]]
            near += 1
        bent, straight, lack = near - far, n - near, 1.0 - s
        bent_sum, rest = near_sum - far_sum, total - near_sum
        slope = straight + (bent * lack + bent_sum) / width
        worth = each * counts[i]
        out[i] += worth * slope
        sums[0] += worth * ((straight + bent) * lack + rest + bent_sum)
        sums[1] += worth * slope


@compiled
def _losers(
    scores: Any, lower: Any, upper: Any, counts: Any, width: float, each: float,
    out: Any,
) -> None:  # fmt: skip
    """What the losers lose."""
    n, near, far = len(upper), 0, 0
    near_count, far_count, near_sum, far_sum = 0.0, 0.0, 0.0, 0.0
    for k in range(len(lower)):
        j = lower[k]
        s = scores[j]
        while far < n and scores[upper[far]] - s < 1.0:
            far_count += counts[upper[far]]
            far_sum += counts[upper[far]] * scores[upper[far]]
            far += 1
        while near < n and scores[upper[near]] - s < 1.0 - width:
            near_count += counts[upper[near]]
            near_sum += counts[upper[near]] * scores[upper[near]]
            near += 1
        bent = (far_count - near_count) * (1.0 + s) - (far_sum - near_sum)
        out[j] -= each * (near_count + bent / width)


@compiled
def price(
    scores: Any, orders: Any, joins: Any, prices: Any, counts: Any, width: float,
    out: Any,
) -> Any:  # fmt: skip
    """Write Σ slope of pairs won, less those lost, of each row; width : ε.

    Return Σ hinge and Σ slope over all pairs.
    """
    sums = np.zeros(2)
    fill(out, 0.0)
    for m in range(len(joins)):
        depth, a, b, c, d = joins[m]
        lower, upper = orders[depth, a:b], orders[depth, c:d]
        _winners(scores, lower, upper, counts, width, prices[m], out, sums)
        _losers(scores, lower, upper, counts, width, prices[m], out)
    return sums[0], sums[1]


@compiled
def _bend(
    scores: Any, lower: Any, upper: Any, counts: Any, width: float, each: float,
    x: Any, out: Any,
) -> None:  # fmt: skip
    """What one join adds to the product with its second derivative."""
    near, far, held = 0, 0, 0.0
    for k in range(len(upper)):
        i = upper[k]
        s = scores[i]
        while near < len(lower) and s - scores[lower[near]] >= 1.0 - width:
            held += x[lower[near]]
            near += 1
        while far < near and s - scores[lower[far]] >= 1.0:
            held -= x[lower[far]]
            far += 1
        out[i] += each * counts[i] * ((near - far) * x[i] - held)
    near, far, held, count = 0, 0, 0.0, 0.0
    for k in range(len(lower)):
        j = lower[k]
        s = scores[j]
        while far < len(upper) and scores[upper[far]] - s < 1.0:
            held += counts[upper[far]] * x[upper[far]]
            count += counts[upper[far]]
            far += 1
        while near < far and scores[upper[near]] - s < 1.0 - width:
            held -= counts[upper[near]] * x[upper[near]]
            count -= counts[upper[near]]
            near += 1
        out[j] += each * (count * x[j] - held)


@compiled
def bend(
    scores: Any, orders: Any, joins: Any, prices: Any, counts: Any, width: float,
    x: Any, out: Any,
) -> None:  # fmt: skip
    """Write the second derivative of Σ smoothed hinge times x, shape (n,)."""
    fill(out, 0.0)
    for m in range(len(joins)):
        depth, a, b, c, d = joins[m]
        lower, upper = orders[depth, a:b], orders[depth, c:d]
        _bend(scores, lower, upper, counts, width, prices[m] / width, x, out)


@compiled
def log_linear(scores: Any, joins: Any, prices: Any, counts: Any, out: Any) -> Any:
    """Write what rows gain, less what they lose; return Σ ln(1 + e^(s_j − s_i)).

    Every pair is looked at, none is kept.
    """
    loss = 0.0
    fill(out, 0.0)
    for m in range(len(joins)):
        _, a, b, c, d = joins[m]
        for i in range(c, d):
            worth, gained = prices[m] * counts[i], 0.0
            for j in range(a, b):
                behind = scores[j] - scores[i]
                power = np.exp(-abs(behind))
                share = 1.0 / (1.0 + power) if behind > 0.0 else power / (1.0 + power)
                loss += worth * (max(behind, 0.0) + np.log1p(power))
                gained += share
                out[j] -= worth * share
            out[i] += worth * gained
    return loss


@compiled
def worst_orders(
    scores: Any, queries: Any, prices: Any, orders: Any, out: Any
) -> float:  # fmt: skip
    """The orders that average precision and the scores like least [YueEtAl07].

    queries : (q, 3), the first row of each, the first relevant one, the end;  prices :
    (q,);  orders : uint32, (n,), the rows, those of a side in any order;  out : (n,)
    gains 2 price / R N for each relevant row below one that is not, which loses it.
    Return Σ price · (1 − average precision) of these orders.

    The j-th best of the N others goes above those of the R relevant rows from the k-th
    best on for which Σ_k (k/(k + j − 1) − k/(k + j))/R − 2 (s_k − s_j)/R N is largest:
    each for itself, for the better one never has to stand below the worse.
    """
    loss = 0.0
    fill(out, 0.0)
    for q in range(len(queries)):
        begin, middle, end = queries[q]
        others, relevant, price = middle - begin, end - middle, prices[q]
        each = 2.0 * price / (relevant * others)
        sort_by(scores, orders[begin:middle], others)
        sort_by(scores, orders[middle:end], relevant)
        for j in range(1, others + 1):
            row = orders[middle - j]
            total, best, fall, best_fall, first = 0.0, 0.0, 0.0, 0.0, relevant + 1
            for k in range(relevant, 0, -1):
                fall += price * (k / (k + j - 1.0) - k / (k + float(j))) / relevant
                total += each * (scores[row] - scores[orders[end - k]])
                if fall + total > best:
                    best, best_fall, first = fall + total, fall, k
            loss += best_fall
            for k in range(first, relevant + 1):
                out[orders[end - k]] += each
                out[row] -= each
    return loss
