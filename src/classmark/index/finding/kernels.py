"""One query in one call: constants, then the cheaper of two exact ways to the best k.

Inside, ``query`` is (spans, a, b): where its terms' lists are, and their constants;
``data`` is (items, counts, x): the postings, and one number per item.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.index.finishing.kernels import look_up_last
from classmark.index.heaps.kernels import sort_heap
from classmark.index.models.kernels import constants, part
from classmark.index.pruning.kernels import LOOK_UP, find_pruned
from classmark.index.topk.kernels import (
    add_parts,
    finish_parts,
    gallop,
    list_parts,
    select_all,
    select_listed,
)

SPARSE = 2  # touched items are listed below one posting for so many items
WORTH = 16  # the last list is looked up when so much longer than what was touched
SORTED = 64  # terms are put in order up to so many
LEAST, MOST_TERMS, MANY = 1 << 14, 8, 1 << 18  # postings, terms, items: to prune


@compiled
def prepare(
    code: int,
    numbers: Any,
    weights: Any,
    places: Any,
    begins: Any,
    ends: Any,
    df: Any,
    cf: Any,
    world: Any,
    order: Any,
    query: Any,
) -> tuple[float, float, int]:
    """Put the terms in order, rarest first, and fill in their lists and constants.

    The order is that of all sums; a query of very many terms keeps its own.
    Returns the scale of the document's part, the offset of all scores, the postings.
    """
    m, postings = len(numbers), 0
    for i in range(m):
        j = i
        while m <= SORTED and j > 0 and df[numbers[order[j - 1]]] > df[numbers[i]]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    known, total, wanted = np.empty(m), np.empty(m), np.empty(m)
    for i in range(m):
        t = order[i]
        known[i], total[i], wanted[i] = df[numbers[t]], cf[numbers[t]], weights[t]
        query[0][i, 0], query[0][i, 1] = begins[places[t]], ends[places[t]]
        postings += query[0][i, 1] - query[0][i, 0]
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
    blocks: Any,
    first: int,
    most_own: float,
    acc: Any,
    touched: Any,
    heap: Any,
) -> int:
    """Accumulate all terms but the last, then look up or read its list.

    first : the last list's first block, or −1 where bounds do not hold.
    """
    spans, a, b = query
    items, counts, x = data
    n, size, t = 0, -1, len(a) - 1
    for i in range(t):
        low, high = spans[i]
        n = list_parts(
            code, a[i], b[i], world, items, counts, x, acc, low, high, touched, n
        )
    low, high = spans[t]
    if first >= 0 and n >= len(heap[0]) > 0 and high - low > WORTH * n:
        last = (blocks, first, most_own, acc, touched, n, heap)
        size = look_up_last(code, world, query, data, rule, *last)
    if size < 0:
        state = (acc, low, high, rule, 0, heap)
        size = finish_parts(code, a[t], b[t], world, items, counts, x, *state)
        size = select_listed(acc, touched, n, rule, size, heap)
    sort_heap(heap[0], heap[1], size)
    return size


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
def find(
    code: int,
    numbers: Any,
    weights: Any,
    places: Any,
    items: Any,
    counts: Any,
    begins: Any,
    ends: Any,
    df: Any,
    cf: Any,
    world: Any,
    x: Any,
    firsts: Any,
    max_counts: Any,
    min_lengths: Any,
    alive: Any,
    extra: Any,
    most_extra: float,
    way: int,
    acc: Any,
    touched: Any,
    out_items: Any,
    out_scores: Any,
) -> int:
    """Find the best items of one query; return how many.

    way : 0 accumulators, 1 windows, 2 whichever is cheaper (windows need ``firsts``).
    """
    m, n, k = len(numbers), len(acc), len(out_items)
    if m == 0:
        return 0
    query = (np.empty((m, 2), np.int64), np.empty(m), np.empty(m))
    order, heap = np.zeros(m, np.int64), (out_items, out_scores)
    scale, offset, postings = prepare(
        code, numbers, weights, places, begins, ends, df, cf, world, order, query
    )
    data, rule = (items, counts, x), (alive, extra, scale, offset)
    blocks, own = (firsts, max_counts, min_lengths), scale * most_extra + offset
    last = query[0][m - 1, 1] - query[0][m - 1, 0]
    if way == 1 or (way == 2 and _pruning_pays(query[1], postings, last, k, n)):
        return find_pruned(
            code, world, query, data, rule, places[order], blocks, own, acc, heap
        )
    if (postings - last) * SPARSE < n:
        bounded = way == 2 and query[1].min() >= 0.0
        first = firsts[places[order[m - 1]]] if bounded else -1
        return _find_listed(
            code, world, query, data, rule, blocks, first, own, acc, touched, heap
        )
    accumulate(code, world, query, data, acc)
    return select_all(acc, False, rule, out_items, out_scores)


@compiled
def find_many(
    code: int,
    starts: Any,
    numbers: Any,
    weights: Any,
    places: Any,
    items: Any,
    counts: Any,
    begins: Any,
    ends: Any,
    df: Any,
    cf: Any,
    world: Any,
    x: Any,
    firsts: Any,
    max_counts: Any,
    min_lengths: Any,
    alive: Any,
    extra: Any,
    most_extra: float,
    way: int,
    acc: Any,
    touched: Any,
    out_items: Any,
    out_scores: Any,
    sizes: Any,
) -> None:
    """Find the best items of each query ``[starts[q], starts[q + 1])``, one by one."""
    for q in range(len(sizes)):
        low, high = starts[q], starts[q + 1]
        sizes[q] = find(
            code,
            numbers[low:high],
            weights[low:high],
            places[low:high],
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
            out_items[q],
            out_scores[q],
        )


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
