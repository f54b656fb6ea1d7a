"""What does an error cost at the top, and what in a query of many pairs?"""

from __future__ import annotations

import numpy as np

from classmark.arrays import Floats
from classmark.rankers.ltr.judged import Judged

CUTOFF = 10


def drops(given: Judged, cutoff: int = CUTOFF) -> Floats:
    """τ, (grades, grades): how much nDCG falls when two of the grades change places.

    In each query's ideal order one document of the higher grade and one of the lower,
    both at random, are exchanged; the expected fall of nDCG@cutoff, which is

        (2^a − 2^b) (mean discount of grade a − mean discount of b) / ideal DCG,

    is averaged over the queries that have both grades [Cao06]. The discount of rank r
    is 1/log2(1 + r), 0 beyond the cutoff; a grade below 0 gains nothing.
    """
    size = len(given.distinct)
    total, seen = np.zeros((size, size)), np.zeros((size, size))
    gains = np.exp2(np.maximum(given.distinct, 0.0)) - 1.0
    bounds, levels = given.runs.bounds, given.runs.levels
    for first, last in _runs_of_queries(given):
        lengths = np.diff(bounds[first : last + 1])[::-1]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        ranks = np.arange(1, ends[-1] + 1)
        discounts = np.where(ranks <= cutoff, 1.0 / np.log2(1.0 + ranks), 0.0)
        mean = np.add.reduceat(discounts, ends[:-1]) / lengths
        own = levels[first:last][::-1]
        ideal = float((gains[own] * lengths) @ mean)
        if ideal > 0.0:
            fall = np.subtract.outer(gains[own], gains[own])
            fall *= np.subtract.outer(mean, mean) / ideal
            total[np.ix_(own, own)] += fall
            seen[np.ix_(own, own)] += 1.0
    return np.divide(total, seen, out=np.zeros_like(total), where=seen > 0.0)


def query_shares(given: Judged) -> Floats:
    """μ, (queries,): the most pairs a query has, divided by its own number [Cao06].

    A query without pairs has 0.
    """
    pairs = np.zeros(len(given.starts) - 1)
    lengths = np.diff(given.runs.bounds).astype(np.float64)
    for first, last in _runs_of_queries(given):
        own = lengths[first:last]
        query = given.runs.queries[first]
        pairs[query] = 0.5 * (own.sum() ** 2 - (own**2).sum())
    shares = np.zeros_like(pairs)
    np.divide(pairs.max(initial=0.0), pairs, out=shares, where=pairs > 0.0)
    return shares


def _runs_of_queries(given: Judged) -> list[tuple[int, int]]:
    first = np.searchsorted(given.runs.queries, np.arange(len(given.starts)))
    return list(zip(first[:-1].tolist(), first[1:].tolist(), strict=True))
