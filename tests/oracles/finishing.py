"""The longer lists, slowly: every item is looked at for each."""

import math

from oracles import models
from oracles.heaps import push
from oracles.topk import final_score, is_dead, part_at

PLUS = 3


def peak(scoring, t):
    code, world, x, items, counts, spans, _, b = scoring
    second = 0.0 if code == PLUS else b[t]
    parts = [
        models.part(code, float(counts[j]), x[items[j]], 1.0, second, world)
        for j in range(*spans[t])
    ]
    return max([0.0, *parts])


def bound_rest(scoring, terms, peaks, rest):
    each = []
    for t, term in enumerate(terms):
        peaks[term] = peak(scoring, t)
        second = scoring.b[t] if scoring.code == PLUS else 0.0
        each.append(scoring.a[t] * peaks[term] + second)
    for t in range(len(terms) + 1):
        rest[t] = sum(each[t:])


def scores_of(touched, acc, final):
    return {
        d: final_score(final, d, acc[d])
        for d in touched.tolist()
        if not is_dead(final, d)
    }


def find_bar(touched, acc, final, heap, most, most_own):
    best = sorted(scores_of(touched, acc, final).values(), reverse=True)
    k = len(heap.items)
    enough = len(best) >= k and best[k - 1] > most + most_own
    return best[k - 1] if enough else -math.inf


def keep_near(touched, n, acc, final, reach):
    scores = scores_of(touched[:n], acc, final)
    near = [d for d, s in scores.items() if s > reach and acc[d] > 0.0]
    for d in set(touched[:n].tolist()) - set(near):
        acc[d] = -0.0
    touched[: len(near)] = near
    return len(near)


def add_known(scoring, t, acc):
    for j in range(*scoring.spans[t]):
        if acc[scoring.items[j]] != 0.0:
            acc[scoring.items[j]] += part_at(scoring, t, j)


def look_up(scoring, t, acc, touched):
    add_known(scoring, t, acc)


def finish_known(scoring, final, rest, first, bar, acc, touched, n, heap):
    for t in range(first, len(scoring.a)):
        add_known(scoring, t, acc)
    scores = scores_of(touched[:n], acc, final)
    acc[:] = -0.0
    size = 0
    for d, s in scores.items():
        if s > bar:
            size = push(heap, size, d, s)
    return size
