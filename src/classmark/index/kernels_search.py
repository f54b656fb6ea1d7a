"""One query in one call: constants, then the cheaper of two ways to the best k."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from classmark.compiled import compiled, unchecked
from classmark.index.kernels_impacts import COLUMNS, WINDOW, find_by_impacts
from classmark.index.kernels_models import (
    Final,
    Heap,
    Scoring,
    constants,
    part_at,
)
from classmark.index.kernels_pruning import (
    BEGIN,
    CF,
    DF,
    END,
    LOOK_UP,
    bound_rest,
    find_bar,
    find_pruned,
    finish_known,
    keep_near,
)
from classmark.index.kernels_topk import (
    add_parts,
    finish_parts,
    list_parts,
    select_all,
    select_listed,
    sort_heap,
)
from classmark.kernels import gallop

SPARSE = 2  # touched items are listed below one posting for so many items
WORTH = 1  # a bar is looked for while so many postings are left for an item touched
SORTED = 64  # terms are put in order up to so many
LEAST, MOST_TERMS, MANY = 1 << 14, 8, 1 << 18  # postings, terms, items: to prune
ANEW, IMPACT_TERMS = 128, 128  # items that are always scored anew; terms at most


class Postings(NamedTuple):
    """The lists of a field, or of a query's terms alone.

    items, counts : the postings;  table : per term the begin and end of its list, df,
    cf and the number of its first block;  max_counts, min_lengths : of each block of
    128 postings;  alive : empty, or whether each item is there.
    """

    items: Any
    counts: Any
    table: Any
    max_counts: Any
    min_lengths: Any
    alive: Any


class Scratch(NamedTuple):
    """Accumulators, all −0.0 between queries, and room for a list of items.

    sums : those of a window, all 0 between queries;  tops : room for sums of a list.
    """

    acc: Any
    touched: Any
    sums: Any
    tops: Any


def empty_scratch(n: int) -> Scratch:
    """Make accumulators for so many items."""
    touched, tops = np.empty(n + 1, np.uint32), np.empty(n + 1, np.uint16)
    width = -(-min(n, WINDOW) // COLUMNS) * COLUMNS
    return Scratch(np.full(n, -0.0), touched, np.zeros(width, np.uint16), tops)


class Ready(NamedTuple):
    """A model with its parameters, made ready for one field.

    extra : the items' own parts, or empty, and the largest;  peaks : as ``bound_rest``
    takes them;  strategy : 0 accumulators, 1 windows, 2 whichever is cheaper, 3 impacts
    wherever they can be used;  impacts : of all postings, or empty.
    """

    code: int
    world: Any
    x: Any
    extra: Any
    most_extra: float
    peaks: Any
    strategy: int
    impacts: Any


@compiled
def prepare(
    code: int,
    places: Any,
    weights: Any,
    table: Any,
    world: Any,
    order: Any,
    query: Any,
) -> tuple[float, float, int]:
    """Put the terms in order, rarest first, and fill in their lists and constants.

    places : the terms' rows of ``table``, int64: begin, end, df, cf, first block.  The
    order is that of all sums; a query of very many terms keeps its own.
    Returns the scale of the document's part, the offset of all scores, the postings.
    """
    m, postings = len(places), 0
    for i in range(m):
        j = i
        df = table[places[i], DF]
        while m <= SORTED and j > 0 and table[places[order[j - 1]], DF] > df:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    statistics = np.empty((3, m))
    known, total, wanted = statistics[0], statistics[1], statistics[2]
    for i in range(m):
        row = table[places[order[i]]]
        known[i], total[i], wanted[i] = row[DF], row[CF], weights[order[i]]
        query[0][i, 0], query[0][i, 1] = row[BEGIN], row[END]
        postings += row[END] - row[BEGIN]
    scale, offset = constants(code, wanted, known, total, world, query[1], query[2])
    return scale, offset, postings


@unchecked
def accumulate(scoring: Any, acc: Any) -> None:
    """Add all parts of all terms of a query."""
    for t in range(len(scoring.a)):
        add_parts(scoring, t, scoring.spans[t, 0], scoring.spans[t, 1], acc)


@compiled
def _find_listed(
    scoring: Any,
    final: Any,
    rest: Any,
    most_own: float,
    acc: Any,
    touched: Any,
    heap: Any,
) -> int:
    """Accumulate terms until no later one can bring an item in, or all but the last.

    rest : what the terms from each one on can add, or empty where that has no bound.
    """
    spans = scoring.spans
    n, last, left = 0, len(spans) - 1, (spans[:, 1] - spans[:, 0]).sum()
    for t in range(last):
        n = list_parts(scoring, t, spans[t, 0], spans[t, 1], acc, touched, n)
        left -= spans[t, 1] - spans[t, 0]
        if not len(rest) or not n >= len(heap.items) > 0 or left < WORTH * n:
            continue
        if rest[0] > 2.0 * rest[t + 1]:
            bar = find_bar(touched[:n], acc, final, heap, rest[t + 1], most_own)
            if bar > -math.inf:
                n = keep_near(touched, n, acc, final, bar - rest[t + 1])
                known = (acc, touched, n, heap)
                return finish_known(scoring, final, rest, t + 1, bar, *known)
    size = finish_parts(scoring, last, acc, final, 0, heap)
    return select_listed(acc, touched, n, final, size, heap)


@compiled
def _pruning_pays(a: Any, postings: int, last: int, k: int, n: int) -> bool:
    """Choose by cost, as measured: many postings, few terms, no negative part.

    Windows win where the accumulators of all items do not fit a core's cache, and where
    the last list is far longer than the others together.
    """
    m = len(a)
    if m < 2 or m > MOST_TERMS or postings < max(LEAST, LEAST * k // 16) or k == 0:
        return False
    skewed = last >= LOOK_UP * (postings - last)
    return (n >= MANY or skewed) and bool(a.min() >= 0.0)


@compiled
def _impacts_pay(model: Any, a: Any, postings: int, k: int) -> bool:
    """Choose by cost, as measured: few items to score anew, or many postings."""
    if not len(model.impacts) or len(model.extra) or k == 0:
        return False
    cheap = len(a) <= IMPACT_TERMS and (k <= ANEW or 2 * k <= postings)
    return (cheap or model.strategy == 3) and bool(a.min() >= 0.0)


@compiled
def find_one(query: Any, postings: Any, model: Any, scratch: Any, heap: Any) -> int:
    """Find the best items of one query; return how many.

    query : the terms' rows of the table, then their weights;  scratch : accumulators,
    and room for a list of items.
    """
    acc, touched = scratch.acc, scratch.touched
    m, n, k = len(query) // 2, len(acc), len(heap.items)
    if m == 0:
        return 0
    spans, a, b = np.empty((m, 2), np.int64), np.empty(m), np.empty(m)
    places, order = query[:m].astype(np.int64), np.zeros(m, np.int64)
    scale, offset, total = prepare(
        model.code, places, query[m:], postings.table, model.world, order, (spans, a, b)
    )
    items, counts = postings.items, postings.counts
    scoring = Scoring(model.code, model.world, model.x, items, counts, spans, a, b)
    final = Final(postings.alive, model.extra, scale, offset)
    own = scale * model.most_extra + offset
    last = spans[m - 1, 1] - spans[m - 1, 0]
    if _impacts_pay(model, a, total, k):
        size = find_by_impacts(scoring, final, places[order], model, scratch, heap)
        if size >= 0:
            return size
    if model.strategy == 1 or (
        model.strategy == 2 and _pruning_pays(a, total, last, k, n)
    ):
        return find_pruned(scoring, final, places[order], postings, own, acc, heap)
    bounded = model.strategy == 2 and a.min() >= 0.0
    if bounded or (total - last) * SPARSE < n:
        rest = np.empty(m + 1 if bounded else 0)
        if bounded:
            bound_rest(scoring, places[order], model.peaks, rest)
        size = _find_listed(scoring, final, rest, own, acc, touched, heap)
        sort_heap(heap, size)
        return size
    accumulate(scoring, acc)
    return select_all(acc, False, final, heap)


@unchecked
def find(
    queries: Any, sizes: Any, postings: Any, model: Any, scratch: Any, heap: Any
) -> int:
    """Find the best k items of each query; return how many the last query has.

    queries : as ``find_one`` takes them, one after another;  sizes : how many numbers
    of ``queries`` are each query's, then how many items it has; empty: there is one;
    heap : k items and scores for each query.
    """
    if len(sizes) == 0:
        return find_one(queries, postings, model, scratch, heap)
    begin, k, n = 0, len(heap.items) // max(1, len(sizes)), 0
    for q in range(len(sizes)):
        end, low, high = begin + sizes[q], q * k, (q + 1) * k
        best = Heap(heap.items[low:high], heap.scores[low:high])
        n = find_one(queries[begin:end], postings, model, scratch, best)
        begin, sizes[q] = end, n
    return n


@compiled
def parts_of(scoring: Any, d: int, out: Any) -> bool:
    """Fill in each term's part in the score of item ``d``; say whether any occurs."""
    any_occurs = False
    for t in range(len(scoring.a)):
        out[t] = 0.0
        j = gallop(scoring.items, scoring.spans[t, 0], scoring.spans[t, 1], d)
        if j < scoring.spans[t, 1] and scoring.items[j] == d:
            out[t] = part_at(scoring, t, j)
            any_occurs = True
    return any_occurs
