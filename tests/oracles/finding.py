"""Finding, slowly: every posting of every term into a dictionary."""

import numpy as np

from oracles import models
from oracles.topk import best_of


def prepare(code, numbers, weights, places, begins, ends, df, cf, world, order, query):
    order[:] = sorted(range(len(numbers)), key=lambda i: df[numbers[i]])
    spans, a, b = query
    spans[:, 0], spans[:, 1] = begins[places[order]], ends[places[order]]
    known, total = df[numbers[order]].astype(float), cf[numbers[order]].astype(float)
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


def find(
    code,
    numbers,
    weights,
    places,
    items,
    counts,
    begins,
    ends,
    df,
    cf,
    world,
    x,
    firsts,
    max_counts,
    min_lengths,
    alive,
    extra,
    most_extra,
    way,
    acc,
    touched,
    out_items,
    out_scores,
):
    m = len(numbers)
    query = np.empty((m, 2), int), np.empty(m), np.empty(m)
    lists = places, begins, ends, df, cf, world, np.empty(m, int), query
    scale, offset, _ = prepare(code, numbers, weights, *lists)
    scores = sums(code, world, query, (items, counts, x))
    return best_of(scores, (alive, extra, scale, offset), out_items, out_scores)


def find_many(code, starts, numbers, weights, places, *rest):
    *shared, out_items, out_scores, sizes = rest
    for q in range(len(sizes)):
        run = slice(starts[q], starts[q + 1])
        asked = numbers[run], weights[run], places[run]
        sizes[q] = find(code, *asked, *shared, out_items[q], out_scores[q])


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
