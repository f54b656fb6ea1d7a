"""Dot products of a sparse vector with all items, list by list or run by run."""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.index.kernels_topk import (
    UNTOUCHED,
    bar_of,
    is_untouched,
    push,
    select_all,
    sort_heap,
)

SPAN = 1 << 16  # items that share accumulators: 512 KB of them
ALIKE = 3  # counts up to this one make runs of their own
MIXED = 0
DIGITS = 1 << 11


@compiled
def find_vector(
    query: Any, lists: Any, x: Any, final: Any, every: bool, acc: Any, heap: Any
) -> int:
    """Find the largest x_d Σ weight · value + extra_d; return how many were found.

    query : weights, and the lists they are for;  lists : (items, values, begins, ends);
    x : empty, or one entry per item, x ≥ 0;
    every : items that share no term with the query are ranked too, with score 0.
    """
    weights, places = query
    items, values, begins, ends = lists
    for i in range(len(places)):
        weight = weights[i]
        for j in range(begins[places[i]], ends[places[i]]):
            acc[items[j]] += weight * float(values[j])
    for d in range(len(x)):
        acc[d] *= x[d]
    return select_all(acc, every, final, heap)


@compiled
def square_norms(idf: Any, lists: Any, out: Any) -> None:
    """Add (tf · idf)² of each term's postings to their items."""
    items, counts, begins, ends = lists
    for t in range(len(idf)):
        for j in range(begins[t], ends[t]):
            weight = float(counts[j]) * idf[t]
            out[items[j]] += weight * weight


@compiled
def lay_runs(
    order: Any, lists: Any, slots: Any, runs: Any, edges: Any
) -> tuple[int, int]:
    """Write lists as runs of items with one count; return the slots and runs used.

    order : the terms, as their runs are to follow each other.  A list is cut into spans
    of 65,536 items, a span into runs: the items with count 1, those with 2, with 3, and
    all others, after which their counts stand.  slots : uint16, room for twice the
    postings: items, less the first of their span;  runs : uint16, three columns: span,
    count (0: mixed), items less one;  edges : int64, (terms + 1, 2): where the slots
    and the runs of each term begin.
    """
    items, counts, begins, ends = lists
    n = r = 0
    for i in range(len(order)):
        edges[i, 0], edges[i, 1] = n, r
        j, end = begins[order[i]], ends[order[i]]
        while j < end:
            span, low = items[j] // SPAN, j
            while j < end and items[j] // SPAN == span:
                j += 1
            for kind in (1, 2, ALIKE, MIXED):
                first = n
                for at in range(low, j):
                    if counts[at] == kind or (kind == MIXED and counts[at] > ALIKE):
                        slots[n] = items[at] - span * SPAN
                        n += 1
                if n == first:
                    continue
                runs[r, 0], runs[r, 1], runs[r, 2] = span, kind, n - first - 1
                r += 1
                if kind == MIXED:
                    for at in range(low, j):
                        if counts[at] > ALIKE:
                            slots[n] = counts[at]
                            n += 1
    edges[len(order), 0], edges[len(order), 1] = n, r
    return n, r


@compiled
def add_runs(
    weight: float, slots: Any, runs: Any, span: int, acc: Any, n: Any, r: int, end: int
) -> tuple[int, int]:
    """Add weight · count for the runs of one span, from run ``r`` and slot ``n`` on.

    Returns the slot and the run that come next.
    """
    while r < end and runs[r, 0] == span:
        size = np.uint64(runs[r, 2]) + np.uint64(1)
        first = np.uint64(n)
        last = first + size
        if runs[r, 1] != MIXED:
            part = weight * float(runs[r, 1])
            for j in range(first, last):
                acc[slots[j]] += part
        else:
            for j in range(first, last):
                acc[slots[j]] += weight * float(slots[j + size])
            last += size
        n, r = np.int64(last), r + 1
    return n, r


@compiled
def _keep_best(acc: Any, first: int, rule: Any, size: int, heap: Any) -> int:
    """Put the best of some items into a heap and wipe; return the heap's size."""
    x, alive, every = rule
    bar = bar_of(heap, size)
    for i in range(len(acc)):
        added, d = acc[i], first + i
        acc[i] = UNTOUCHED
        s = added * x[d]
        if s < bar or (is_untouched(added) and not every):
            continue
        if len(alive) and not alive[d]:
            continue
        size = push(heap, size, d, s + 0.0)
        bar = bar_of(heap, size)
    return size


@compiled
def arrange(places: Any, weights: Any, limit: int, keys: Any, kept: Any) -> int:
    """Sort the places from 0 to ``limit`` of weights not 0; return how many they are.

    keys : uint32, two rows of room, whose first will be the places in order;  kept :
    int64, the same, where in ``places`` they were.  A radix sort, 11 bits at a time
    [Knuth98].
    """
    n = 0
    for i in range(len(places)):
        if 0 <= places[i] < limit and weights[i] != 0.0:
            keys[0, n], kept[0, n] = places[i], i
            n += 1
    firsts = np.empty(DIGITS + 1, np.int64)
    shift = 0
    while limit >> shift > 0:
        for digit in range(DIGITS + 1):
            firsts[digit] = 0
        for i in range(n):
            firsts[((keys[0, i] >> shift) & (DIGITS - 1)) + 1] += 1
        for digit in range(DIGITS):
            firsts[digit + 1] += firsts[digit]
        for i in range(n):
            digit = (keys[0, i] >> shift) & (DIGITS - 1)
            at = firsts[digit]
            keys[1, at], kept[1, at] = keys[0, i], kept[0, i]
            firsts[digit] += 1
        for i in range(n):
            keys[0, i], kept[0, i] = keys[1, i], kept[1, i]
        shift += 11
    return n


@compiled
def find_in_runs(query: Any, lists: Any, rule: Any, acc: Any, heap: Any) -> int:
    """Find the largest x_d Σ weight · count; return how many were found.

    query : weights, and the places of their terms, increasing, in the order of
    ``lay_runs``, which laid ``lists`` (slots, runs, edges) out;  rule : (x, alive,
    every), as in ``find_vector``;  acc : −0.0 for each item, of which one span is used.
    """
    (weights, places), (slots, runs, edges) = query, lists
    m, size, n_items = len(places), 0, len(rule[0])
    at = np.empty((m, 2), np.int64)
    for i in range(m):
        at[i, 0], at[i, 1] = edges[places[i], 0], edges[places[i], 1]
    for first in range(0, n_items, SPAN):
        part = acc[: min(SPAN, n_items - first)]
        for i in range(m):
            end = edges[places[i] + 1, 1]
            at[i, 0], at[i, 1] = add_runs(
                weights[i], slots, runs, first // SPAN, part, at[i, 0], at[i, 1], end
            )
        size = _keep_best(part, first, rule, size, heap)
    sort_heap(heap, size)
    return size
