"""Dot products, slowly."""

from classmark.index.kernels_models import Final
from oracles.topk import best_of


def find_vector(query, lists, x, final, every, acc, heap):
    weights, places = query
    items, values, begins, ends = lists
    scores = dict.fromkeys(range(len(acc)), 0.0) if every else {}
    for weight, place in zip(weights, places, strict=True):
        for j in range(begins[place], ends[place]):
            d = int(items[j])
            scores[d] = scores.get(d, 0.0) + weight * values[j]
    if len(x):
        scores = {d: s * x[d] for d, s in scores.items()}
    return best_of(scores, final, heap)


def square_norms(idf, lists, out):
    items, counts, begins, ends = lists
    for t, weight in enumerate(idf):
        for j in range(begins[t], ends[t]):
            out[items[j]] += (counts[j] * weight) ** 2


SPAN = 65_536


def runs_of_list(items, counts):
    """Yield (span, count or 0, items, their counts) of one list's runs."""
    for span in sorted({int(d) // SPAN for d in items}):
        mine = [
            (int(d) - span * SPAN, int(tf))
            for d, tf in zip(items, counts, strict=True)
            if int(d) // SPAN == span
        ]
        for kind in (1, 2, 3, 0):
            run = [(d, tf) for d, tf in mine if tf == kind or (kind == 0 and tf > 3)]
            if run:
                yield span, kind, [d for d, _ in run], [tf for _, tf in run]


def lay_runs(order, lists, slots, runs, edges):
    items, counts, begins, ends = lists
    written, headers = [], []
    for i, t in enumerate(order):
        edges[i] = len(written), len(headers)
        part = slice(begins[t], ends[t])
        for span, kind, places, tfs in runs_of_list(items[part], counts[part]):
            headers.append((span, kind, len(places) - 1))
            written += places if kind else places + tfs
    edges[len(order)] = len(written), len(headers)
    slots[: len(written)] = written
    for r, header in enumerate(headers):
        runs[r] = header
    return len(written), len(headers)


def add_runs(weight, slots, runs, span, acc, n, r, end):
    while r < end and runs[r][0] == span:
        _, kind, last = map(int, runs[r])
        for i in range(last + 1):
            acc[slots[n + i]] += weight * (kind or float(slots[n + last + 1 + i]))
        n += (last + 1) * (1 if kind else 2)
        r += 1
    return n, r


def arrange(places, weights, limit, keys, kept):
    found = sorted(
        (int(place), i)
        for i, place in enumerate(places)
        if 0 <= place < limit and weights[i]
    )
    for at, (place, i) in enumerate(found):
        keys[0, at], kept[0, at] = place, i
    return len(found)


def find_in_runs(query, lists, rule, acc, heap):
    (weights, places), (slots, runs, edges) = query, lists
    x, alive, every = rule
    scores = dict.fromkeys(range(len(x)), 0.0) if every else {}
    for weight, place in zip(weights, places, strict=True):
        (n, first), last = edges[place], edges[place + 1][1]
        for r in range(first, last):
            span, kind, size = int(runs[r][0]), int(runs[r][1]), int(runs[r][2]) + 1
            for i in range(n, n + size):
                d = span * SPAN + int(slots[i])
                part = weight * (kind or float(slots[i + size]))
                scores[d] = scores.get(d, 0.0) + part
            n += size if kind else 2 * size
    scores = {d: s * x[d] for d, s in scores.items()}
    return best_of(scores, Final(alive, [], 1.0, 0.0), heap)
