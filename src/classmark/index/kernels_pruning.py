"""Exact top-k that leaves out postings which cannot matter.

Items are visited in windows. In each, block bounds (largest count, shortest document of
128 postings) say how much a term can add; the terms that cannot lift an item over the
k-th score together are only looked up for items that the others brought near it:
MaxScore over block-max bounds [TurtleFlood95], [DingSuel11]. An item that may enter is
scored anew, its parts summed in the query's order: every bit equals the accumulators'.

When the k-th best sum of the rarer terms is above all that the remaining ones can add
together, no new item can enter; and of the known ones only those within that reach need
the remaining terms at all. [TurtleFlood95]
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from classmark.compiled import compiled
from classmark.index.kernels_models import (
    PLUS,
    feature,
    final_score,
    is_dead,
    part,
    part_at,
)
from classmark.index.kernels_topk import (
    UNTOUCHED,
    bar_of,
    is_untouched,
    list_parts,
    push,
    sort_heap,
)
from classmark.kernels import gallop

BEGIN, END, DF, CF, FIRST_BLOCK = range(5)  # the columns of a field's table
BLOCK = 128
WINDOW = 8192
LOOK_UP = 24  # postings that are accumulated in the time one is looked up
SLACK = 1e-9  # of a bound: far above rounding, far below a difference that matters


@compiled
def block_statistics(
    lists: Any, lengths: Any, firsts: Any, max_counts: Any, min_lengths: Any
) -> None:
    """Fill in the largest count and the shortest length of each block of each list.

    lists : items, counts, begins, ends;  firsts : int64, the number of each list's
    first block.
    """
    items, counts, begins, ends = lists
    for t in range(len(begins)):
        for j in range(begins[t], ends[t]):
            at = firsts[t] + (j - begins[t]) // BLOCK
            length = lengths[items[j]]
            if (j - begins[t]) % BLOCK == 0:
                max_counts[at], min_lengths[at] = counts[j], length
            else:
                max_counts[at] = max(max_counts[at], counts[j])
                min_lengths[at] = min(min_lengths[at], length)


class Window(NamedTuple):
    """Where the terms of a query stand in a window of items.

    cursors : the next posting of each term;  order : the terms by what they can add,
    least first;  below : what those before each one add together;  parts : room for the
    parts of one item.
    """

    cursors: Any
    order: Any
    below: Any
    parts: Any


@compiled
def _bound_blocks(scoring: Any, places: Any, postings: Any, heads: Any) -> Any:
    """Return the largest part in each block of each term; ``heads``: the first ones."""
    code, world, spans = scoring.code, scoring.world, scoring.spans
    heads[0] = 0
    for t in range(len(places)):
        heads[t + 1] = heads[t] + (spans[t, 1] - spans[t, 0] + BLOCK - 1) // BLOCK
    bounds = np.empty(heads[len(places)])
    for t in range(len(places)):
        a, b = scoring.a[t], scoring.b[t]
        for i in range(heads[t], heads[t + 1]):
            at = postings.table[places[t], FIRST_BLOCK] + i - heads[t]
            x = feature(code, float(postings.min_lengths[at]), world)
            bounds[i] = part(code, float(postings.max_counts[at]), x, a, b, world)
    return bounds


@compiled
def _bound_window(
    scoring: Any, hi: int, heads: Any, bounds: Any, passed: Any, most: Any
) -> None:
    """Fill in the most each term can add below ``hi``, from the blocks not passed."""
    items, spans = scoring.items, scoring.spans
    for t in range(len(most)):
        most[t] = 0.0
        i = passed[t]
        while i < heads[t + 1] - heads[t] and items[spans[t, 0] + i * BLOCK] < hi:
            most[t] = max(most[t], bounds[heads[t] + i])
            i += 1
        passed[t] = max(i - 1, passed[t])


@compiled
def _order_terms(most: Any, order: Any, below: Any) -> float:
    """Sort terms by what they can add, least first; return the sum of all.

    below : below[i] = what the terms before the i-th of the order add together.
    """
    for t in range(len(most)):
        i = t
        while i > 0 and most[order[i - 1]] > most[t]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = t
    below[0] = 0.0
    for i in range(len(most)):
        below[i + 1] = below[i] + most[order[i]]
    return float(below[len(most)])


@compiled
def _look_up(scoring: Any, t: int, d: int, cursors: Any) -> float:
    """Return the part of term ``t`` in item ``d``, which is not before its cursor."""
    end = scoring.spans[t, 1]
    j = gallop(scoring.items, cursors[t], end, d)
    if j < end and scoring.items[j] == d:
        return part_at(scoring, t, j)
    return UNTOUCHED


@compiled
def _score_exactly(
    scoring: Any, window: Any, d: int, partial: float, limit: float, rest: int
) -> float:
    """Return Σ parts of item ``d`` in the query's order, or −∞ once it cannot enter.

    partial : what was accumulated;  rest : how many terms, first in order, were not.
    """
    cursors, order, parts = window.cursors, window.order, window.parts
    for i in range(rest - 1, -1, -1):
        if partial + window.below[i + 1] <= limit:
            return -math.inf
        t = order[i]
        parts[t] = _look_up(scoring, t, d, cursors)
        partial += parts[t]
    if partial <= limit:
        return -math.inf
    for i in range(rest, len(order)):
        t = order[i]
        parts[t] = _look_up(scoring, t, d, cursors)
    score = UNTOUCHED
    for t in range(len(parts)):
        score += parts[t]
    return score


@compiled
def _choose_rest(limit: float, order: Any, below: Any, sizes: Any) -> int:
    """Return how many terms, first in order, are cheaper looked up than accumulated.

    sizes : the postings of each term in the window.
    """
    rest, left_out, read, best = 0, 0, sizes.sum(), 0
    while rest < len(order) and below[rest + 1] <= limit:
        left_out += sizes[order[rest]]
        read -= sizes[order[rest]]
        rest += 1
        if left_out >= LOOK_UP * read:
            best = rest
    return best


@compiled
def _keep_window(
    scoring: Any,
    window: Any,
    final: Any,
    slack: float,
    rest: int,
    acc: Any,
    touched: Any,
    size: int,
    heap: Any,
) -> int:
    """Push the touched items that may enter, exactly scored; wipe the accumulators."""
    for i in range(len(touched)):
        d = touched[i]
        s = acc[d]
        if is_untouched(s):
            continue
        acc[d] = UNTOUCHED
        own = final.scale * final.extra[d] if len(final.extra) else 0.0
        limit = bar_of(heap, size) - slack
        limit -= own + final.offset
        if s + window.below[rest] <= limit or is_dead(final, d):
            continue
        if rest > 0:
            s = _score_exactly(scoring, window, d, s, limit, rest)
        if s > -math.inf:
            size = push(heap, size, d, s + own + final.offset)
    return size


@compiled
def find_pruned(
    scoring: Any,
    final: Any,
    places: Any,
    postings: Any,
    most_own: float,
    acc: Any,
    heap: Any,
) -> int:
    """Find the best items window by window; parts must grow with tf and shortness.

    places : the terms' rows of the postings' table;  most_own : the largest scale ·
    extra + offset of any item.  Returns how many.
    """
    m, size, spans = len(places), 0, scoring.spans
    heads, passed = np.zeros(m + 1, np.int64), np.zeros(m, np.int64)
    cursors, order = spans[:, 0].copy(), np.zeros(m, np.int64)
    most, below, parts = np.zeros(m), np.zeros(m + 1), np.zeros(m)
    bounds = _bound_blocks(scoring, places, postings, heads)
    touched = np.empty(min(len(bounds) * BLOCK, m * WINDOW) + 1, np.uint32)
    sizes, window = np.zeros(m, np.int64), Window(cursors, order, below, parts)
    for lo in range(0, len(acc), WINDOW):
        hi = min(lo + WINDOW, len(acc))
        _bound_window(scoring, hi, heads, bounds, passed, most)
        total = _order_terms(most, order, below)
        slack = SLACK * (total + abs(most_own) + abs(final.offset))
        limit = bar_of(heap, size) - slack - most_own
        if total <= limit:
            continue
        for t in range(m):
            cursors[t] = gallop(scoring.items, cursors[t], spans[t, 1], lo)
            last = gallop(scoring.items, cursors[t], spans[t, 1], hi)
            sizes[t] = last - cursors[t]
        rest = _choose_rest(limit, order, below, sizes)
        for i in range(rest):
            sizes[order[i]] = 0
        n = 0
        for t in range(m):
            last = cursors[t] + sizes[t]
            n = list_parts(scoring, t, cursors[t], last, acc, touched, n)
        size = _keep_window(
            scoring, window, final, slack, rest, acc, touched[:n], size, heap
        )
    sort_heap(heap, size)
    return size


@compiled
def bound_rest(scoring: Any, terms: Any, peaks: Any, rest: Any) -> None:
    """Fill in what the terms from each one on can add together; all parts ≥ 0.

    terms : the terms' numbers;  peaks : per number the largest part in its list for
    a = 1 (of a · y + b the largest y), or 0 if that is larger, or NaN where it is not
    known yet: it is then found and noted;  rest : shape (m + 1,).
    """
    code, world, x, items, counts, spans, _, _ = scoring
    rest[len(terms)] = 0.0
    for t in range(len(terms) - 1, -1, -1):
        if math.isnan(peaks[terms[t]]):
            second, most = 0.0 if code == PLUS else scoring.b[t], 0.0
            for j in range(spans[t, 0], spans[t, 1]):
                y = part(code, float(counts[j]), x[items[j]], 1.0, second, world)
                most = max(most, y)
            peaks[terms[t]] = most
        most = scoring.a[t] * peaks[terms[t]]
        rest[t] = rest[t + 1] + (most + scoring.b[t] if scoring.code == PLUS else most)


@compiled
def find_bar(
    touched: Any, acc: Any, final: Any, heap: Any, most: float, most_own: float
) -> float:
    """Return a score that the k-th best surely exceeds, or −∞ where a new item may.

    most : what the remaining terms can add;  most_own : the largest own part of an
    item, offset included.  The heap is only a place to work.
    """
    slack = SLACK * (most + abs(most_own) + abs(final.offset))
    size, k = 0, len(heap.items)
    bar = most + most_own + slack
    for i in range(len(touched)):
        d = touched[i]
        s = final_score(final, d, acc[d])
        if s <= bar or is_dead(final, d):
            continue
        size = push(heap, size, d, s)
        if size == k:
            bar = heap.scores[0]
    return bar - slack - SLACK * abs(bar) if size == k else -math.inf


@compiled
def keep_near(touched: Any, n: int, acc: Any, final: Any, reach: float) -> int:
    """Keep the touched items whose score exceeds ``reach``; wipe the others.

    Returns how many: those first in ``touched``, their sums above 0.
    """
    alive, extra, scale, offset = final
    near_items = 0
    for i in range(n):
        d = touched[i]
        s = acc[d]
        own = scale * extra[d] if len(extra) else 0.0
        near = (s > 0.0) & (s + own + offset > reach)
        if len(alive):
            near &= alive[d]
        acc[d] = s if near else UNTOUCHED
        touched[near_items] = d
        near_items += near
    return near_items


@compiled
def add_known(scoring: Any, t: int, acc: Any) -> None:
    """Add the parts of one term to the items whose sums are not 0, by reading its list.

    The places are gathered first, block by block, without a branch.
    """
    items, end = scoring.items, scoring.spans[t, 1]
    places = np.empty(BLOCK + 1, np.int64)
    for first in range(scoring.spans[t, 0], end, BLOCK):
        n = 0
        for j in range(first, min(first + BLOCK, end)):
            places[n] = j
            n += acc[items[j]] != 0.0
        for i in range(n):
            j = places[i]
            acc[items[j]] += part_at(scoring, t, j)


@compiled
def look_up(scoring: Any, t: int, acc: Any, touched: Any) -> None:
    """Do as ``add_known``, by looking each of the known items up."""
    items, begin, end = scoring.items, scoring.spans[t, 0], scoring.spans[t, 1]
    for i in range(len(touched)):
        d = touched[i]
        j = gallop(items, begin, end, d)
        if j < end and items[j] == d:
            acc[d] += part_at(scoring, t, j)


@compiled
def finish_known(
    scoring: Any,
    final: Any,
    rest: Any,
    first: int,
    bar: float,
    acc: Any,
    touched: Any,
    n: int,
    heap: Any,
) -> int:
    """Add the terms from ``first`` on to the known items, keep the best, and wipe.

    rest : as ``bound_rest`` fills it in.  Items up to ``bar`` are not among the best,
    and those known are alive.  Returns the heap's size.
    """
    for t in range(first, len(scoring.a)):
        if t > first:
            n = keep_near(touched, n, acc, final, bar - rest[t])
        if scoring.spans[t, 1] - scoring.spans[t, 0] > LOOK_UP * n:
            look_up(scoring, t, acc, touched[:n])
        else:
            add_known(scoring, t, acc)
    size = 0
    for i in range(n):
        d = touched[i]
        s = final_score(final, d, acc[d])
        acc[d] = UNTOUCHED
        if s > bar:
            size = push(heap, size, d, s)
    return size
