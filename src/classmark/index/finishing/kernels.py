"""The longer lists, only looked up: no item that they alone hold can be among the best.

When the k-th best sum of the rarer terms is above all that the remaining ones can add
together, no new item can enter; and of the known ones only those within that reach need
the remaining terms at all. [TurtleFlood95]
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.index.heaps.kernels import push
from classmark.index.models.kernels import PLUS, part
from classmark.index.pruning.kernels import BLOCK, LOOK_UP, SLACK
from classmark.index.topk.kernels import UNTOUCHED, gallop


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
