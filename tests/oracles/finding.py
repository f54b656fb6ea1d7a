"""Finding, slowly: every posting of every term into a dictionary."""

import numpy as np

from classmark.index.kernels_models import Final, Heap, Scoring
from oracles import models
from oracles.topk import best_of, part_at


def prepare(code, places, weights, table, world, order, query):
    order[:] = sorted(range(len(places)), key=lambda i: table[places[i], 2])
    spans, a, b = query
    rows = table[places[order]]
    spans[:] = rows[:, :2]
    df, cf = rows[:, 2].astype(float), rows[:, 3].astype(float)
    scale, offset = models.constants(code, weights[order], df, cf, world, a, b)
    return scale, offset, int((spans[:, 1] - spans[:, 0]).sum())


def sums(scoring):
    scores = {}
    for t, (low, high) in enumerate(scoring.spans):
        for j in range(low, high):
            d = int(scoring.items[j])
            scores[d] = scores.get(d, 0.0) + part_at(scoring, t, j)
    return scores


def accumulate(scoring, acc):
    for d, s in sums(scoring).items():
        acc[d] += s


def find_one(query, postings, model, scratch, heap):
    m = len(query) // 2
    spans, a, b = np.empty((m, 2), int), np.empty(m), np.empty(m)
    places, weights, table = query[:m].astype(int), query[m:], postings.table
    order, terms = np.empty(m, int), (spans, a, b)
    scale, offset, _ = prepare(
        model.code, places, weights, table, model.world, order, terms
    )
    scoring = Scoring(*model[:3], postings.items, postings.counts, *terms)
    return best_of(
        sums(scoring), Final(postings.alive, model.extra, scale, offset), heap
    )


def find(queries, sizes, postings, model, scratch, heap):
    ends, k = np.cumsum(sizes), len(heap.items) // len(sizes)
    for q, end in enumerate(ends):
        best = slice(q * k, (q + 1) * k)
        query = queries[end - sizes[q] : end]
        own = Heap(heap.items[best], heap.scores[best])
        sizes[q] = find_one(query, postings, model, scratch, own)
    return sizes[-1]


def parts_of(scoring, d, out):
    out[:], occurs = 0.0, False
    for t, (low, high) in enumerate(scoring.spans):
        for j in range(low, high):
            if scoring.items[j] == d:
                out[t], occurs = part_at(scoring, t, j), True
    return occurs
