"""Exact top-k by accumulators: add every posting, keep the best k.

An accumulator that no posting has touched holds −0.0: adding any part to it gives that
part, and no sum of parts is −0.0, so zero scores are told from absence without a second
array. Between queries every accumulator is −0.0.
"""

from __future__ import annotations

import math
from typing import Any

from classmark.compiled import compiled
from classmark.index.heaps.kernels import push, sort_heap
from classmark.index.models.kernels import ATIRE, INQUERY, part

UNTOUCHED = -0.0


@compiled
def is_untouched(value: float) -> bool:
    """Say whether an accumulator holds −0.0."""
    return (value == 0.0) & (math.copysign(1.0, value) < 0.0)  # no branch


@compiled
def gallop(items: Any, at: int, end: int, d: int) -> int:
    """Return the first place from ``at`` on with item ``d`` or a later one."""
    step = 1
    low = at
    while at < end and items[at] < d:
        low = at + 1
        at += step
        step *= 2
    high = min(at, end)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < d:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def add_ratio(
    a: float, items: Any, counts: Any, x: Any, acc: Any, begin: int, end: int
) -> None:
    """Add a · tf/(tf + x_d) for each posting: the inner loop of BM25."""
    for j in range(begin, end):
        tf = float(counts[j])
        acc[items[j]] += a * (tf / (tf + x[items[j]]))


@compiled
def add_parts(
    code: int,
    a: float,
    b: float,
    world: Any,
    items: Any,
    counts: Any,
    x: Any,
    acc: Any,
    begin: int,
    end: int,
) -> None:
    """Add the parts of one term, for any model."""
    if a > 0.0 and (code <= ATIRE or code == INQUERY):
        add_ratio(a, items, counts, x, acc, begin, end)
        return
    for j in range(begin, end):
        d = items[j]
        acc[d] += part(code, float(counts[j]), x[d], a, b, world) + 0.0


@compiled
def add_products(
    a: float, items: Any, counts: Any, acc: Any, begin: int, end: int
) -> None:
    """Add a · tf for each posting: the inner loop of a dot product."""
    for j in range(begin, end):
        acc[items[j]] += a * float(counts[j])


@compiled
def list_ratio(
    a: float,
    items: Any,
    counts: Any,
    x: Any,
    acc: Any,
    begin: int,
    end: int,
    touched: Any,
    n: int,
) -> int:
    """Do as ``add_ratio``, noting items not touched before; return how many by now."""
    for j in range(begin, end):
        d = items[j]
        tf = float(counts[j])
        before = acc[d]
        touched[n] = d
        n += before == 0.0
        acc[d] = before + a * (tf / (tf + x[d]))
    return n


@compiled
def list_parts(
    code: int,
    a: float,
    b: float,
    world: Any,
    items: Any,
    counts: Any,
    x: Any,
    acc: Any,
    begin: int,
    end: int,
    touched: Any,
    n: int,
) -> int:
    """Do as ``add_parts``, noting items not touched before; return how many by now."""
    if a > 0.0 and (code <= ATIRE or code == INQUERY):
        return list_ratio(a, items, counts, x, acc, begin, end, touched, n)
    for j in range(begin, end):
        d = items[j]
        before = acc[d]
        touched[n] = d
        n += is_untouched(before)
        acc[d] = before + (part(code, float(counts[j]), x[d], a, b, world) + 0.0)
    return n


@compiled
def finish_ratio(
    a: float,
    items: Any,
    counts: Any,
    x: Any,
    acc: Any,
    begin: int,
    end: int,
    rule: Any,
    size: int,
    heap: Any,
) -> int:
    """Add the last term's a · tf/(tf + x_d) and keep the best, in one go; wipe.

    rule : (alive, extra, scale, offset), the first two empty or one entry per item; a
    score is the accumulated sum + scale · extra + offset.  Returns the heap's size.
    """
    alive, extra, scale, offset = rule
    bar = math.inf if len(heap[0]) == 0 else -math.inf
    for j in range(begin, end):
        d = items[j]
        tf = float(counts[j])
        s = acc[d] + a * (tf / (tf + x[d]))
        acc[d] = UNTOUCHED
        if len(extra):
            s += scale * extra[d]
        s += offset
        if s < bar or (len(alive) and not alive[d]):
            continue
        size = push(heap[0], heap[1], size, d, s)
        if size == len(heap[0]):
            bar = heap[1][0]
    return size


@compiled
def finish_parts(
    code: int,
    a: float,
    b: float,
    world: Any,
    items: Any,
    counts: Any,
    x: Any,
    acc: Any,
    begin: int,
    end: int,
    rule: Any,
    size: int,
    heap: Any,
) -> int:
    """Do as ``finish_ratio``, for any model."""
    if a > 0.0 and (code <= ATIRE or code == INQUERY):
        return finish_ratio(a, items, counts, x, acc, begin, end, rule, size, heap)
    alive, extra, scale, offset = rule
    bar = math.inf if len(heap[0]) == 0 else -math.inf
    for j in range(begin, end):
        d = items[j]
        s = acc[d] + (part(code, float(counts[j]), x[d], a, b, world) + 0.0)
        acc[d] = UNTOUCHED
        if len(extra):
            s += scale * extra[d]
        s += offset
        if s < bar or (len(alive) and not alive[d]):
            continue
        size = push(heap[0], heap[1], size, d, s)
        if size == len(heap[0]):
            bar = heap[1][0]
    return size


@compiled
def select_listed(
    acc: Any, touched: Any, n: int, rule: Any, size: int, heap: Any
) -> int:
    """Keep the best of the touched items, and wipe their accumulators.

    Items that are wiped already are passed over.  Returns the heap's size.
    """
    alive, extra, scale, offset = rule
    k = len(heap[0])
    bar = heap[1][0] if size == k > 0 else (-math.inf if k else math.inf)
    for i in range(n):
        d = touched[i]
        added = acc[d]
        acc[d] = UNTOUCHED
        s = added + offset
        if len(extra):
            s = added + scale * extra[d] + offset
        if s < bar or is_untouched(added) or (len(alive) and not alive[d]):
            continue
        size = push(heap[0], heap[1], size, d, s)
        if size == k:
            bar = heap[1][0]
    return size


@compiled
def select_all(
    acc: Any,
    every: bool,
    rule: Any,
    out_items: Any,
    out_scores: Any,
) -> int:
    """Keep the best items by looking at each one; ``every``: untouched ones as well."""
    alive, extra, scale, offset = rule
    size, k = 0, len(out_items)
    full = k == 0
    bar = math.inf if full else -math.inf
    for d in range(len(acc)):
        s = acc[d]
        untouched = is_untouched(s)
        if len(extra):
            s += scale * extra[d]
        s += offset
        if full and s <= bar:
            continue
        if (untouched and not every) or (len(alive) and not alive[d]):
            continue
        size = push(out_items, out_scores, size, d, s + 0.0)
        if size == k:
            full, bar = True, out_scores[0]
    for d in range(len(acc)):
        acc[d] = UNTOUCHED
    sort_heap(out_items, out_scores, size)
    return size
