"""The best k items: a heap, sorted lists as sets, and accumulators.

An accumulator that no posting has touched holds −0.0: adding any part to it gives that
part, and no sum of parts is −0.0, so zero scores are told from absence without a second
array. Between queries every accumulator is −0.0.
"""

from __future__ import annotations

import math
from typing import Any

from classmark.compiled import compiled
from classmark.index.kernels_models import ATIRE, INQUERY, part


@compiled
def _is_worse(s: float, d: int, t: float, e: int) -> bool:
    """Say whether item d of score s stands after item e of score t."""
    return s < t or (s == t and d > e)


@compiled
def _sink(items: Any, scores: Any, at: int, size: int) -> None:
    """Let a heap's entry sink to its place; the worst is on top."""
    d, s = items[at], scores[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and _is_worse(
            scores[other], items[other], scores[child], items[child]
        ):
            child = other
        if _is_worse(s, d, scores[child], items[child]):
            break
        items[at], scores[at] = items[child], scores[child]
        at = child
    items[at], scores[at] = d, s


@compiled
def push(items: Any, scores: Any, size: int, d: int, s: float) -> int:
    """Put an item into a heap of the best ``len(items)``; return its new size."""
    if size < len(items):
        at = size
        while at > 0:
            parent = (at - 1) // 2
            if not _is_worse(s, d, scores[parent], items[parent]):
                break
            items[at], scores[at] = items[parent], scores[parent]
            at = parent
        items[at], scores[at] = d, s
        return size + 1
    if size > 0 and _is_worse(scores[0], items[0], s, d):
        items[0], scores[0] = d, s
        _sink(items, scores, 0, size)
    return size


@compiled
def sort_heap(items: Any, scores: Any, size: int) -> None:
    """Turn a heap into a list, best first."""
    for last in range(size - 1, 0, -1):
        items[0], items[last] = items[last], items[0]
        scores[0], scores[last] = scores[last], scores[0]
        _sink(items, scores, 0, last)


FEW = 8  # a list so many times shorter is looked up in the other, not merged with it


@compiled
def seek(values: Any, low: int, target: int) -> int:
    """Return the first place from ``low`` whose value is at least the target.

    Steps of 1, 2, 4, … and then halving: log of the distance [BentleyYao76].
    """
    step, high = 1, low
    while high < len(values) and values[high] < target:
        low, high, step = high + 1, high + step, 2 * step
    high = min(high, len(values))
    while low < high:
        middle = (low + high) // 2
        if values[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _merged(a: Any, b: Any, out: Any) -> int:
    i, j, n = 0, 0, 0
    while i < len(a) and j < len(b):
        left, right = a[i], b[j]
        if left == right:
            out[n] = left
            n += 1
        i += left <= right
        j += right <= left
    return n


@compiled
def intersect(a: Any, b: Any, out: Any) -> int:
    """Write what is in both, the longer list galloped through; return how many."""
    if len(a) > len(b):
        a, b = b, a
    if len(a) * FEW > len(b):
        return _merged(a, b, out)
    n, at = 0, 0
    for i in range(len(a)):
        at = seek(b, at, a[i])
        if at == len(b):
            break
        if b[at] == a[i]:
            out[n] = a[i]
            n += 1
    return n


@compiled
def unite(a: Any, b: Any, out: Any) -> int:
    """Write what is in either; return how many."""
    i, j, n = 0, 0, 0
    while i < len(a) and j < len(b):
        left, right = a[i], b[j]
        out[n] = min(left, right)
        n += 1
        i += left <= right
        j += right <= left
    for rest in range(i, len(a)):
        out[n] = a[rest]
        n += 1
    for rest in range(j, len(b)):
        out[n] = b[rest]
        n += 1
    return n


@compiled
def subtract(a: Any, b: Any, out: Any) -> int:
    """Write what is in the first and not in the second; return how many."""
    n, at = 0, 0
    for i in range(len(a)):
        at = seek(b, at, a[i])
        if at == len(b) or b[at] != a[i]:
            out[n] = a[i]
            n += 1
    return n


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
