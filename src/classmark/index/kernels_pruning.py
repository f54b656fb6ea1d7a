"""Exact top-k that leaves out postings which cannot matter.

Items are visited in windows. In each, block bounds (largest count, shortest document of
128 postings) say how much a term can add; the terms that cannot lift an item over the
k-th score together are only looked up for items that the others brought near it:
MaxScore over block-max bounds [TurtleFlood95], [DingSuel11]. An item that may enter is
scored anew, its parts summed in the query's order: every bit equals the accumulators'.

``query`` is (spans, a, b) of its terms, ``data`` is (items, counts, x), ``rule`` is
(alive, extra, scale, offset), ``heap`` is (items, scores), as in ``finding``.

When the k-th best sum of the rarer terms is above all that the remaining ones can add
together, no new item can enter; and of the known ones only those within that reach need
the remaining terms at all. [TurtleFlood95]
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.index.kernels_models import PLUS, feature, part
from classmark.index.kernels_topk import (
    UNTOUCHED,
    gallop,
    is_untouched,
    list_parts,
    push,
    sort_heap,
)

BLOCK = 128
WINDOW = 8192
LOOK_UP = 24  # postings that are accumulated in the time one is looked up
SLACK = 1e-9  # of a bound: far above rounding, far below a difference that matters


@compiled
def block_statistics(
    items: Any,
    counts: Any,
    begins: Any,
    ends: Any,
    lengths: Any,
    firsts: Any,
    max_counts: Any,
    min_lengths: Any,
) -> None:
    """Fill in the largest count and the shortest length of each block of each list.

    firsts : int64, the number of each list's first block.
    """
    for t in range(len(begins)):
        for j in range(begins[t], ends[t]):
            at = firsts[t] + (j - begins[t]) // BLOCK
            length = lengths[items[j]]
            if (j - begins[t]) % BLOCK == 0:
                max_counts[at], min_lengths[at] = counts[j], length
            else:
                max_counts[at] = max(max_counts[at], counts[j])
                min_lengths[at] = min(min_lengths[at], length)


@compiled
def _bound_blocks(
    code: int, world: Any, query: Any, places: Any, blocks: Any, heads: Any
) -> Any:
    """Return the largest part in each block of each term; ``heads``: the first ones."""
    spans, a, b = query
    firsts, max_counts, min_lengths = blocks
    heads[0] = 0
    for t in range(len(places)):
        heads[t + 1] = heads[t] + (spans[t, 1] - spans[t, 0] + BLOCK - 1) // BLOCK
    bounds = np.empty(heads[len(places)])
    for t in range(len(places)):
        for i in range(heads[t], heads[t + 1]):
            at = firsts[places[t]] + i - heads[t]
            x = feature(code, float(min_lengths[at]), world)
            bounds[i] = part(code, float(max_counts[at]), x, a[t], b[t], world)
    return bounds


@compiled
def _bound_window(
    hi: int, items: Any, spans: Any, heads: Any, bounds: Any, passed: Any, most: Any
) -> None:
    """Fill in the most each term can add below ``hi``, from the blocks not passed."""
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
def _look_up(
    code: int, world: Any, query: Any, data: Any, t: int, d: int, cursors: Any
) -> float:
    """Return the part of term ``t`` in item ``d``, which is not before its cursor."""
    spans, a, b = query
    items, counts, x = data
    j = gallop(items, cursors[t], spans[t, 1], d)
    if j < spans[t, 1] and items[j] == d:
        return part(code, float(counts[j]), x[d], a[t], b[t], world) + 0.0
    return UNTOUCHED


@compiled
def _score_exactly(
    code: int,
    world: Any,
    query: Any,
    data: Any,
    d: int,
    partial: float,
    limit: float,
    rest: int,
    state: Any,
) -> float:
    """Return Σ parts of item ``d`` in the query's order, or −∞ once it cannot enter.

    partial : what was accumulated;  rest : how many terms, first in order, were not.
    """
    cursors, order, below, parts = state
    for i in range(rest - 1, -1, -1):
        if partial + below[i + 1] <= limit:
            return -math.inf
        t = order[i]
        parts[t] = _look_up(code, world, query, data, t, d, cursors)
        partial += parts[t]
    if partial <= limit:
        return -math.inf
    for i in range(rest, len(order)):
        t = order[i]
        parts[t] = _look_up(code, world, query, data, t, d, cursors)
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
def _add_window(
    code: int,
    world: Any,
    query: Any,
    data: Any,
    cursors: Any,
    sizes: Any,
    acc: Any,
    touched: Any,
) -> int:
    """Add so many parts of each term, in the query's order; return how many items."""
    items, counts, x = data
    n = 0
    for t in range(len(sizes)):
        a, b, first, last = query[1][t], query[2][t], cursors[t], cursors[t] + sizes[t]
        n = list_parts(
            code, a, b, world, items, counts, x, acc, first, last, touched, n
        )
    return n


@compiled
def _keep_window(
    code: int,
    world: Any,
    query: Any,
    data: Any,
    rule: Any,
    slack: float,
    rest: int,
    acc: Any,
    touched: Any,
    n: int,
    state: Any,
    size: int,
    heap: Any,
) -> int:
    """Push the touched items that may enter, exactly scored; wipe the accumulators."""
    alive, extra, scale, offset = rule
    best, scores = heap
    for i in range(n):
        d = touched[i]
        s = acc[d]
        if is_untouched(s):
            continue
        acc[d] = UNTOUCHED
        own = scale * extra[d] if len(extra) else 0.0
        limit = (scores[0] if size == len(best) else -math.inf) - slack
        limit -= own + offset
        if s + state[2][rest] <= limit or (len(alive) and not alive[d]):
            continue
        if rest > 0:
            s = _score_exactly(code, world, query, data, d, s, limit, rest, state)
        if s > -math.inf:
            size = push(best, scores, size, d, s + own + offset)
    return size


@compiled
def find_pruned(
    code: int,
    world: Any,
    query: Any,
    data: Any,
    rule: Any,
    places: Any,
    blocks: Any,
    most_own: float,
    acc: Any,
    heap: Any,
) -> int:
    """Find the best items window by window; parts must grow with tf and shortness.

    most_own : the largest scale · extra + offset of any item.  Returns how many.
    """
    m, k, size = len(places), len(heap[0]), 0
    heads, passed = np.zeros(m + 1, np.int64), np.zeros(m, np.int64)
    cursors, order = query[0][:, 0].copy(), np.zeros(m, np.int64)
    most, below, parts = np.zeros(m), np.zeros(m + 1), np.zeros(m)
    bounds = _bound_blocks(code, world, query, places, blocks, heads)
    touched = np.empty(min(len(bounds) * BLOCK, m * WINDOW) + 1, np.uint32)
    sizes, state = np.zeros(m, np.int64), (cursors, order, below, parts)
    for lo in range(0, len(acc), WINDOW):
        hi = min(lo + WINDOW, len(acc))
        _bound_window(hi, data[0], query[0], heads, bounds, passed, most)
        total = _order_terms(most, order, below)
        slack = SLACK * (total + abs(most_own) + abs(rule[3]))
        limit = (heap[1][0] if size == k else -math.inf) - slack - most_own
        if total <= limit:
            continue
        for t in range(m):
            end = query[0][t, 1]
            cursors[t] = gallop(data[0], cursors[t], end, lo)
            sizes[t] = gallop(data[0], cursors[t], end, hi) - cursors[t]
        rest = _choose_rest(limit, order, below, sizes)
        sizes[order[:rest]] = 0
        n = _add_window(code, world, query, data, cursors, sizes, acc, touched)
        size = _keep_window(
            code,
            world,
            query,
            data,
            rule,
            slack,
            rest,
            acc,
            touched,
            n,
            state,
            size,
            heap,
        )
    sort_heap(heap[0], heap[1], size)
    return size


@compiled
def peak(code: int, world: Any, b: float, data: Any, begin: int, end: int) -> float:
    """Return the largest part in a list for a = 1, or 0 if that is larger.

    Of a model whose parts are a · y + b, the largest y.
    """
    items, counts, x = data
    second = 0.0 if code == PLUS else b
    most = 0.0
    for j in range(begin, end):
        y = part(code, float(counts[j]), x[items[j]], 1.0, second, world)
        most = max(most, y)
    return most


@compiled
def bound_rest(
    code: int, world: Any, query: Any, data: Any, terms: Any, peaks: Any, rest: Any
) -> None:
    """Fill in what the terms from each one on can add together; all parts ≥ 0.

    terms : the terms' numbers;  peaks : per number its list's peak, or NaN where it is
    not known yet: it is then found and noted;  rest : shape (m + 1,).
    """
    spans, a, b = query
    rest[len(terms)] = 0.0
    for i in range(len(terms) - 1, -1, -1):
        if math.isnan(peaks[terms[i]]):
            peaks[terms[i]] = peak(code, world, b[i], data, spans[i, 0], spans[i, 1])
        most = a[i] * peaks[terms[i]]
        rest[i] = rest[i + 1] + (most + b[i] if code == PLUS else most)


@compiled
def find_bar(
    touched: Any, n: int, acc: Any, rule: Any, heap: Any, most: float, most_own: float
) -> float:
    """Return a score that the k-th best surely exceeds, or −∞ where a new item may.

    most : what the remaining terms can add;  most_own : the largest own part of an
    item, offset included.  The heap is only a place to work.
    """
    alive, extra, scale, offset = rule
    slack = SLACK * (most + abs(most_own) + abs(offset))
    size, k = 0, len(heap[0])
    bar = most + most_own + slack
    for i in range(n):
        d = touched[i]
        s = acc[d]
        if len(extra):
            s += scale * extra[d]
        s += offset
        if s <= bar or (len(alive) and not alive[d]):
            continue
        size = push(heap[0], heap[1], size, d, s)
        if size == k:
            bar = heap[1][0]
    return bar - slack - SLACK * abs(bar) if size == k else -math.inf


@compiled
def keep_near(touched: Any, n: int, acc: Any, rule: Any, reach: float) -> int:
    """Keep the touched items whose score exceeds ``reach``; wipe the others.

    Returns how many: those first in ``touched``, their sums above 0.
    """
    alive, extra, scale, offset = rule
    kept = 0
    for i in range(n):
        d = touched[i]
        s = acc[d]
        own = scale * extra[d] if len(extra) else 0.0
        near = (s > 0.0) & (s + own + offset > reach)
        if len(alive):
            near &= alive[d]
        acc[d] = s if near else UNTOUCHED
        touched[kept] = d
        kept += near
    return kept


@compiled
def add_known(
    code: int, world: Any, a: float, b: float, data: Any, span: Any, acc: Any
) -> None:
    """Add the parts of one term to the items whose sums are not 0, by reading its list.

    The places are gathered first, block by block, without a branch.
    """
    items, counts, x = data
    found = np.empty(BLOCK + 1, np.int64)
    for first in range(span[0], span[1], BLOCK):
        n = 0
        for j in range(first, min(first + BLOCK, span[1])):
            found[n] = j
            n += acc[items[j]] != 0.0
        for i in range(n):
            j = found[i]
            d = items[j]
            acc[d] += part(code, float(counts[j]), x[d], a, b, world) + 0.0


@compiled
def look_up(
    code: int,
    world: Any,
    a: float,
    b: float,
    data: Any,
    span: Any,
    acc: Any,
    touched: Any,
    n: int,
) -> None:
    """Do as ``add_known``, by looking each of the ``n`` known items up."""
    items, counts, x = data
    for i in range(n):
        d = touched[i]
        j = gallop(items, span[0], span[1], d)
        if j < span[1] and items[j] == d:
            acc[d] += part(code, float(counts[j]), x[d], a, b, world) + 0.0


@compiled
def finish_known(
    code: int,
    world: Any,
    query: Any,
    data: Any,
    rule: Any,
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
    spans, a, b = query
    _, extra, scale, offset = rule
    for i in range(first, len(a)):
        if i > first:
            n = keep_near(touched, n, acc, rule, bar - rest[i])
        if spans[i, 1] - spans[i, 0] > LOOK_UP * n:
            look_up(code, world, a[i], b[i], data, spans[i], acc, touched, n)
        else:
            add_known(code, world, a[i], b[i], data, spans[i], acc)
    size = 0
    for i in range(n):
        d = touched[i]
        s = acc[d]
        acc[d] = UNTOUCHED
        if len(extra):
            s += scale * extra[d]
        s += offset
        if s > bar:
            size = push(heap[0], heap[1], size, d, s)
    return size
