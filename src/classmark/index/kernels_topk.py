"""The best k items: a heap, sorted lists as sets, and accumulators.

An accumulator that no posting has touched holds −0.0: adding any part to it gives that
part, and no sum of parts is −0.0, so zero scores are told from absence without a second
array. Between queries every accumulator is −0.0.
"""

from __future__ import annotations

import math
from typing import Any

from classmark.compiled import compiled, unchecked
from classmark.index.kernels_models import (
    ATIRE,
    INQUERY,
    final_score,
    is_dead,
    part,
)
from classmark.kernels import gallop


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
def bar_of(heap: Any, size: int) -> float:
    """Return the score below which nothing enters a heap of this size."""
    if len(heap.items) == 0:
        return math.inf
    return heap.scores[0] if size == len(heap.items) else -math.inf


@compiled
def push(heap: Any, size: int, d: int, s: float) -> int:
    """Put an item into a heap of the best ``len(heap.items)``; return its new size."""
    items, scores = heap.items, heap.scores
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
def sort_heap(heap: Any, size: int) -> None:
    """Turn a heap into a list, best first."""
    items, scores = heap.items, heap.scores
    for last in range(size - 1, 0, -1):
        items[0], items[last] = items[last], items[0]
        scores[0], scores[last] = scores[last], scores[0]
        _sink(items, scores, 0, last)


FEW = 8  # a list so many times shorter is looked up in the other, not merged with it


@compiled
def intersect(a: Any, b: Any, out: Any) -> int:
    """Write what is in both, the longer list galloped through; return how many."""
    if len(a) > len(b):
        a, b = b, a
    i, j, n, at = 0, 0, 0, 0
    while len(a) * FEW > len(b) and i < len(a) and j < len(b):
        left, right = a[i], b[j]
        if left == right:
            out[n] = left
            n += 1
        i += left <= right
        j += right <= left
    if len(a) * FEW > len(b):
        return n
    for i in range(len(a)):
        at = gallop(b, at, len(b), a[i])
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
        at = gallop(b, at, len(b), a[i])
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
def is_ratio(scoring: Any, t: int) -> bool:
    """Say whether the parts of a term are a · tf/(tf + x_d), a > 0: BM25's loop."""
    ratio = scoring.code <= ATIRE or scoring.code == INQUERY
    return bool(ratio and scoring.a[t] > 0.0)


@compiled
def add_parts(scoring: Any, t: int, begin: int, end: int, acc: Any) -> None:
    """Add the parts of one term; those of BM25 in a loop of their own."""
    code, a, b, world = scoring.code, scoring.a[t], scoring.b[t], scoring.world
    items, counts, x = scoring.items, scoring.counts, scoring.x
    if is_ratio(scoring, t):
        for j in range(begin, end):
            tf = float(counts[j])
            acc[items[j]] += a * (tf / (tf + x[items[j]]))
        return
    for j in range(begin, end):
        d = items[j]
        acc[d] += part(code, float(counts[j]), x[d], a, b, world) + 0.0


@compiled
def list_parts(
    scoring: Any, t: int, begin: int, end: int, acc: Any, touched: Any, n: int
) -> int:
    """Do as ``add_parts``, noting items not touched before; return how many by now."""
    code, a, b, world = scoring.code, scoring.a[t], scoring.b[t], scoring.world
    items, counts, x = scoring.items, scoring.counts, scoring.x
    if is_ratio(scoring, t):
        for j in range(begin, end):
            d = items[j]
            tf = float(counts[j])
            before = acc[d]
            touched[n] = d
            n += before == 0.0
            acc[d] = before + a * (tf / (tf + x[d]))
        return n
    for j in range(begin, end):
        d = items[j]
        before = acc[d]
        touched[n] = d
        n += is_untouched(before)
        acc[d] = before + (part(code, float(counts[j]), x[d], a, b, world) + 0.0)
    return n


@compiled
def finish_parts(
    scoring: Any, t: int, acc: Any, final: Any, size: int, heap: Any
) -> int:
    """Add the last term's parts and keep the best, in one go; wipe.

    Returns the heap's size.
    """
    code, a, b, world = scoring.code, scoring.a[t], scoring.b[t], scoring.world
    items, counts, x = scoring.items, scoring.counts, scoring.x
    bar, begin, end = bar_of(heap, size), scoring.spans[t, 0], scoring.spans[t, 1]
    if is_ratio(scoring, t):
        for j in range(begin, end):
            d = items[j]
            tf = float(counts[j])
            s = final_score(final, d, acc[d] + a * (tf / (tf + x[d])))
            acc[d] = UNTOUCHED
            if s < bar or is_dead(final, d):
                continue
            size = push(heap, size, d, s)
            bar = bar_of(heap, size)
        return size
    for j in range(begin, end):
        d = items[j]
        gain = part(code, float(counts[j]), x[d], a, b, world) + 0.0
        s = final_score(final, d, acc[d] + gain)
        acc[d] = UNTOUCHED
        if s < bar or is_dead(final, d):
            continue
        size = push(heap, size, d, s)
        bar = bar_of(heap, size)
    return size


@compiled
def select_listed(
    acc: Any, touched: Any, n: int, final: Any, size: int, heap: Any
) -> int:
    """Keep the best of the touched items, and wipe their accumulators.

    Items that are wiped already are passed over.  Returns the heap's size.
    """
    bar = bar_of(heap, size)
    for i in range(n):
        d = touched[i]
        total = acc[d]
        acc[d] = UNTOUCHED
        s = final_score(final, d, total)
        if s < bar or is_untouched(total) or is_dead(final, d):
            continue
        size = push(heap, size, d, s)
        bar = bar_of(heap, size)
    return size


@unchecked
def select_all(acc: Any, every: bool, final: Any, heap: Any) -> int:
    """Keep the best items by looking at each one; ``every``: untouched ones as well.

    Wipes the accumulators, puts the best first, and returns how many they are.
    """
    size, k = 0, len(heap.items)
    full = k == 0
    bar = bar_of(heap, size)
    for d in range(len(acc)):
        s = final_score(final, d, acc[d])
        if full and s <= bar:
            continue
        if (is_untouched(acc[d]) and not every) or is_dead(final, d):
            continue
        size = push(heap, size, d, s + 0.0)
        full, bar = size == k, bar_of(heap, size)
    for d in range(len(acc)):
        acc[d] = UNTOUCHED
    sort_heap(heap, size)
    return size
