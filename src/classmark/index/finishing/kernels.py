"""The last and longest list, looked up instead of read where that is enough.

When the k-th best sum of the other terms is above all that the last term can add, no
item of the last list alone can enter; and of the others only those within that reach
need to be looked up in it. [TurtleFlood95]
"""

from __future__ import annotations

import math
from typing import Any

from classmark.compiled import compiled
from classmark.index.heaps.kernels import push
from classmark.index.models.kernels import feature, part
from classmark.index.pruning.kernels import BLOCK, SLACK
from classmark.index.topk.kernels import UNTOUCHED, gallop


@compiled
def list_bound(
    code: int, world: Any, a: float, b: float, first: int, size: int, blocks: Any
) -> float:
    """Return the largest part that a list of ``size`` postings can hold."""
    most = 0.0
    for at in range(first, first + (size + BLOCK - 1) // BLOCK):
        x = feature(code, float(blocks[2][at]), world)
        most = max(most, part(code, float(blocks[1][at]), x, a, b, world))
    return most


@compiled
def _reach(
    touched: Any, n: int, acc: Any, rule: Any, heap: Any, most: float, most_own: float
) -> float:
    """Return what a sum must exceed to be looked up, or −∞ if the list must be read."""
    alive, extra, scale, offset = rule
    size, k = 0, len(heap[0])
    bar = -math.inf
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
    bar -= SLACK * (abs(bar) + most + abs(most_own) + abs(offset))
    return bar - most if size == k and most + most_own <= bar else -math.inf


@compiled
def look_up_last(
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
    n: int,
    heap: Any,
) -> int:
    """Finish a query by looking items up in its last list; −1: it must be read.

    first : the number of the list's first block.  The touched items are all different,
    and all parts at least 0.  Accumulators are wiped unless −1 is returned.
    """
    items, counts, x = data
    alive, extra, scale, offset = rule
    last, size = len(query[1]) - 1, 0
    begin, end = query[0][last]
    a, b = query[1][last], query[2][last]
    most = list_bound(code, world, a, b, first, end - begin, blocks)
    reach = _reach(touched, n, acc, rule, heap, most, most_own)
    if reach == -math.inf:
        return -1
    for i in range(n):
        d = touched[i]
        s = acc[d]
        acc[d] = UNTOUCHED
        own = scale * extra[d] if len(extra) else 0.0
        if s + own + offset <= reach or (len(alive) and not alive[d]):
            continue
        j = gallop(items, begin, end, d)
        if j < end and items[j] == d:
            s += part(code, float(counts[j]), x[d], a, b, world) + 0.0
        size = push(heap[0], heap[1], size, d, s + own + offset)
    return size
