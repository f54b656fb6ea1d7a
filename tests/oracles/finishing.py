"""The longer lists, slowly: every item is looked at for each."""

import math

from oracles import models
from oracles.heaps import push

PLUS = 3


def peak(code, world, b, data, begin, end):
    items, counts, x = data
    second = 0.0 if code == PLUS else b
    return max(
        [0.0]
        + [
            models.part(code, float(counts[j]), x[items[j]], 1.0, second, world)
            for j in range(begin, end)
        ]
    )


def bound_rest(code, world, query, data, terms, peaks, rest):
    spans, a, b = query
    each = []
    for i, t in enumerate(terms):
        peaks[t] = peak(code, world, b[i], data, *spans[i])
        each.append(a[i] * peaks[t] + (b[i] if code == PLUS else 0.0))
    for i in range(len(terms) + 1):
        rest[i] = sum(each[i:])


def scores_of(touched, n, acc, rule):
    alive, extra, scale, offset = rule
    return {
        d: acc[d] + (scale * extra[d] if len(extra) else 0.0) + offset
        for d in touched[:n].tolist()
        if not len(alive) or alive[d]
    }


def find_bar(touched, n, acc, rule, heap, most, most_own):
    best = sorted(scores_of(touched, n, acc, rule).values(), reverse=True)
    k = len(heap[0])
    found = len(best) >= k and best[k - 1] > most + most_own
    return best[k - 1] if found else -math.inf


def keep_near(touched, n, acc, rule, reach):
    scores = scores_of(touched, n, acc, rule)
    near = [d for d, s in scores.items() if s > reach and acc[d] > 0.0]
    for d in set(touched[:n].tolist()) - set(near):
        acc[d] = -0.0
    touched[: len(near)] = near
    return len(near)


def add_known(code, world, a, b, data, span, acc):
    items, counts, x = data
    for j in range(*span):
        if acc[items[j]] != 0.0:
            tf = float(counts[j])
            acc[items[j]] += models.part(code, tf, x[items[j]], a, b, world)


def look_up(code, world, a, b, data, span, acc, touched, n):
    add_known(code, world, a, b, data, span, acc)


def finish_known(
    code, world, query, data, rule, rest, first, bar, acc, touched, n, heap
):
    spans, a, b = query
    for i in range(first, len(a)):
        add_known(code, world, a[i], b[i], data, spans[i], acc)
    scores = scores_of(touched, n, acc, rule)
    acc[:] = -0.0
    size = 0
    for d, s in scores.items():
        if s > bar:
            size = push(*heap, size, d, s)
    return size
