"""One query in one call: constants, then the cheaper of two exact ways to the best k.

Inside, ``query`` is (spans, a, b): where its terms' lists are, and their constants;
``data`` is (items, counts, x): the postings, and one number per item.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.index.kernels_models import constants, part
from classmark.index.kernels_pruning import (
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
    gallop,
    list_parts,
    select_all,
    select_listed,
    sort_heap,
)

BEGIN, END, DF, CF, FIRST_BLOCK = range(5)  # the columns of a field's table
SPARSE = 2  # touched items are listed below one posting for so many items
WORTH = 1  # a bar is looked for while so many postings are left for an item touched
SORTED = 64  # terms are put in order up to so many
LEAST, MOST_TERMS, MANY = 1 << 14, 8, 1 << 18  # postings, terms, items: to prune


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
    known, total, wanted = np.empty(m), np.empty(m), np.empty(m)
    for i in range(m):
        row = table[places[order[i]]]
        known[i], total[i], wanted[i] = row[DF], row[CF], weights[order[i]]
        query[0][i, 0], query[0][i, 1] = row[BEGIN], row[END]
        postings += row[END] - row[BEGIN]
    scale, offset = constants(code, wanted, known, total, world, query[1], query[2])
    return scale, offset, postings


@compiled
def accumulate(code: int, world: Any, query: Any, data: Any, acc: Any) -> None:
    """Add all parts of all terms of a query."""
    spans, a, b = query
    items, counts, x = data
    for i in range(len(a)):
        low, high = spans[i]
        add_parts(code, a[i], b[i], world, items, counts, x, acc, low, high)


@compiled
def _find_listed(
    code: int,
    world: Any,
    query: Any,
    data: Any,
    rule: Any,
    rest: Any,
    most_own: float,
    acc: Any,
    touched: Any,
    heap: Any,
) -> int:
    """Accumulate terms until no later one can bring an item in, or all but the last.

    rest : what the terms from each one on can add, or empty where that has no bound.
    """
    spans, a, b = query
    items, counts, x = data
    n, last, left = 0, len(a) - 1, (spans[:, 1] - spans[:, 0]).sum()
    for i in range(last):
        low, high = spans[i]
        n = list_parts(
            code, a[i], b[i], world, items, counts, x, acc, low, high, touched, n
        )
        left -= high - low
        if not len(rest) or not n >= len(heap[0]) > 0 or left < WORTH * n:
            continue
        if rest[0] > 2.0 * rest[i + 1]:
            bar = find_bar(touched, n, acc, rule, heap, rest[i + 1], most_own)
            if bar > -math.inf:
                n = keep_near(touched, n, acc, rule, bar - rest[i + 1])
                state = (rest, i + 1, bar, acc, touched, n, heap)
                return finish_known(code, world, query, data, rule, *state)
    rest_of = (acc, spans[last, 0], spans[last, 1], rule, 0, heap)
    size = finish_parts(code, a[last], b[last], world, items, counts, x, *rest_of)
    return select_listed(acc, touched, n, rule, size, heap)


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
def find_one(
    code: int,
    asked: Any,
    items: Any,
    counts: Any,
    table: Any,
    world: Any,
    x: Any,
    max_counts: Any,
    min_lengths: Any,
    alive: Any,
    extra: Any,
    most_extra: float,
    peaks: Any,
    way: int,
    acc: Any,
    touched: Any,
    out_items: Any,
    out_scores: Any,
) -> int:
    """Find the best items of one query; return how many.

    asked : the terms' rows of ``table``, then their weights;  peaks : as ``bound_rest``
    keeps them;  way : 0 accumulators, 1 windows, 2 whichever is cheaper.
    """
    m, n, k = len(asked) // 2, len(acc), len(out_items)
    if m == 0:
        return 0
    query = (np.empty((m, 2), np.int64), np.empty(m), np.empty(m))
    places, order = asked[:m].astype(np.int64), np.zeros(m, np.int64)
    scale, offset, postings = prepare(
        code, places, asked[m:], table, world, order, query
    )
    data, rule = (items, counts, x), (alive, extra, scale, offset)
    own, heap = scale * most_extra + offset, (out_items, out_scores)
    last = query[0][m - 1, 1] - query[0][m - 1, 0]
    if way == 1 or (way == 2 and _pruning_pays(query[1], postings, last, k, n)):
        blocks = (table[:, FIRST_BLOCK], max_counts, min_lengths)
        return find_pruned(
            code, world, query, data, rule, places[order], blocks, own, acc, heap
        )
    bounded = way == 2 and query[1].min() >= 0.0
    if bounded or (postings - last) * SPARSE < n:
        rest = np.empty(m + 1 if bounded else 0)
        if bounded:
            bound_rest(code, world, query, data, places[order], peaks, rest)
        state = (acc, touched, heap)
        size = _find_listed(code, world, query, data, rule, rest, own, *state)
        sort_heap(out_items, out_scores, size)
        return size
    accumulate(code, world, query, data, acc)
    return select_all(acc, False, rule, out_items, out_scores)


@compiled
def find(
    code: int,
    asked: Any,
    sizes: Any,
    items: Any,
    counts: Any,
    table: Any,
    world: Any,
    x: Any,
    max_counts: Any,
    min_lengths: Any,
    alive: Any,
    extra: Any,
    most_extra: float,
    peaks: Any,
    way: int,
    acc: Any,
    touched: Any,
    out_items: Any,
    out_scores: Any,
) -> int:
    """Find the best k items of each query; return how many the last query has.

    asked : the queries as ``find_one`` takes them, one after another;  sizes : how many
    numbers of ``asked`` are each query's, then how many items it has;  out_items,
    out_scores : k for each query.
    """
    begin, k, n = 0, len(out_items) // max(1, len(sizes)), 0
    for q in range(len(sizes)):
        end, low, high = begin + sizes[q], q * k, (q + 1) * k
        n = find_one(
            code,
            asked[begin:end],
            items,
            counts,
            table,
            world,
            x,
            max_counts,
            min_lengths,
            alive,
            extra,
            most_extra,
            peaks,
            way,
            acc,
            touched,
            out_items[low:high],
            out_scores[low:high],
        )
        begin, sizes[q] = end, n
    return n


@compiled
def parts_of(code: int, world: Any, query: Any, data: Any, d: int, out: Any) -> bool:
    """Fill in each term's part in the score of item ``d``; say whether any occurs."""
    spans, a, b = query
    items, counts, x = data
    any_occurs = False
    for i in range(len(a)):
        out[i] = 0.0
        j = gallop(items, spans[i, 0], spans[i, 1], d)
        if j < spans[i, 1] and items[j] == d:
            out[i] = part(code, float(counts[j]), x[d], a[i], b[i], world)
            any_occurs = True
    return any_occurs
