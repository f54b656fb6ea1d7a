"""Finding, slowly: every posting of every term into a dictionary."""

import numpy as np

from oracles import models
from oracles.topk import best_of


def prepare(code, places, weights, table, world, order, query):
    order[:] = sorted(range(len(places)), key=lambda i: table[places[i], 2])
    spans, a, b = query
    rows = table[places[order]]
    spans[:] = rows[:, :2]
    known, total = rows[:, 2].astype(float), rows[:, 3].astype(float)
    scale, offset = models.constants(code, weights[order], known, total, world, a, b)
    return scale, offset, int((spans[:, 1] - spans[:, 0]).sum())


def sums(code, world, query, data):
    spans, a, b = query
    items, counts, x = data
    scores = {}
    for i, (low, high) in enumerate(spans):
        for d, tf in zip(items[low:high].tolist(), counts[low:high], strict=True):
            part = models.part(code, float(tf), x[d], a[i], b[i], world)
            scores[d] = scores.get(d, 0.0) + part
    return scores


def accumulate(code, world, query, data, acc):
    for d, s in sums(code, world, query, data).items():
        acc[d] += s


def find_one(code, asked, items, counts, table, world, x, *rest):
    _, _, alive, extra, _, _, _, _, _, out_items, out_scores = rest
    m = len(asked) // 2
    query = np.empty((m, 2), int), np.empty(m), np.empty(m)
    terms = asked[:m].astype(int), asked[m:]
    scale, offset, _ = prepare(code, *terms, table, world, np.empty(m, int), query)
    scores = sums(code, world, query, (items, counts, x))
    return best_of(scores, (alive, extra, scale, offset), out_items, out_scores)


def find(code, asked, sizes, *rest):
    *shared, items, scores = rest
    ends, k = np.cumsum(sizes), len(items) // len(sizes)
    for q, end in enumerate(ends):
        best = slice(q * k, (q + 1) * k)
        query = asked[end - sizes[q] : end]
        sizes[q] = find_one(code, query, *shared, items[best], scores[best])
    return sizes[-1]


def parts_of(code, world, query, data, d, out):
    spans, a, b = query
    items, counts, x = data
    out[:], found = 0.0, False
    for i, (low, high) in enumerate(spans):
        for j in range(low, high):
            if items[j] == d:
                out[i] = models.part(code, float(counts[j]), x[d], a[i], b[i], world)
                found = True
    return found
