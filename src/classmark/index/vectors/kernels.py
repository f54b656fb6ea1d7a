"""Dot products of a sparse vector with all items, list by list."""

from __future__ import annotations

from typing import Any

from classmark.compiled import compiled
from classmark.index.topk.kernels import add_products, select_all


@compiled
def find_vector(
    weights: Any,
    places: Any,
    items: Any,
    values: Any,
    begins: Any,
    ends: Any,
    x: Any,
    alive: Any,
    extra: Any,
    every: bool,
    acc: Any,
    out_items: Any,
    out_scores: Any,
) -> int:
    """Find the largest x_d Σ weight · value + extra_d; return how many were found.

    x, extra : empty, or one entry per item, x ≥ 0.
    every : items that share no term with the query are ranked too, with score 0.
    """
    for i in range(len(places)):
        add_products(weights[i], items, values, acc, begins[places[i]], ends[places[i]])
    for d in range(len(x)):
        acc[d] *= x[d]
    return select_all(acc, every, (alive, extra, 1.0, 0.0), out_items, out_scores)


@compiled
def square_norms(
    idf: Any, items: Any, counts: Any, begins: Any, ends: Any, out: Any
) -> None:
    """Add (tf · idf)² of each term's postings to their items."""
    for t in range(len(idf)):
        for j in range(begins[t], ends[t]):
            weight = float(counts[j]) * idf[t]
            out[items[j]] += weight * weight
