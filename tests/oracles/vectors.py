"""Dot products, slowly."""

from oracles.topk import best_of


def find_vector(
    weights,
    places,
    items,
    values,
    begins,
    ends,
    x,
    alive,
    extra,
    every,
    acc,
    out_items,
    out_scores,
):
    scores = dict.fromkeys(range(len(acc)), 0.0) if every else {}
    for weight, place in zip(weights, places, strict=True):
        for j in range(begins[place], ends[place]):
            d = int(items[j])
            scores[d] = scores.get(d, 0.0) + weight * values[j]
    if len(x):
        scores = {d: s * x[d] for d, s in scores.items()}
    return best_of(scores, (alive, extra, 1.0, 0.0), out_items, out_scores)


def square_norms(idf, items, counts, begins, ends, out):
    for t, weight in enumerate(idf):
        for j in range(begins[t], ends[t]):
            out[items[j]] += (counts[j] * weight) ** 2
