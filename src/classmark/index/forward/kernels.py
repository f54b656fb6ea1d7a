"""The terms of a few documents, gathered from the lists of all terms."""

from __future__ import annotations

from typing import Any

from classmark.compiled import compiled
from classmark.index.models.kernels import part
from classmark.index.sets.kernels import seek

LONG = 16  # a list longer than so many postings a document wanted is looked up in


@compiled
def gather(
    first: int,
    items: Any,
    counts: Any,
    begins: Any,
    ends: Any,
    wanted: Any,
    slots: Any,
    out: Any,
    n: int,
) -> int:
    """Note (slot, term, count) of each posting of a wanted item; return how many.

    first : the number of the first list's term;  wanted : uint32, increasing;  slots :
    uint32 per item, its place in ``wanted`` plus 1, 0 for others;  out : three columns,
    from row ``n`` on.
    """
    for t in range(len(begins)):
        low, high = begins[t], ends[t]
        if high - low > LONG * len(wanted):
            n = _look_up(first + t, items[low:high], counts[low:high], wanted, out, n)
            continue
        for j in range(low, high):
            slot = slots[items[j]]
            if slot > 0:
                out[n, 0], out[n, 1], out[n, 2] = slot - 1, first + t, counts[j]
                n += 1
    return n


@compiled
def _look_up(term: int, items: Any, counts: Any, wanted: Any, out: Any, n: int) -> int:
    at = 0
    for slot in range(len(wanted)):
        at = seek(items, at, wanted[slot])
        if at == len(items):
            break
        if items[at] == wanted[slot]:
            out[n, 0], out[n, 1], out[n, 2] = slot, term, counts[at]
            n += 1
    return n


@compiled
def inform(
    code: int,
    world: Any,
    items: Any,
    places: Any,
    counts: Any,
    x: Any,
    a: Any,
    b: Any,
    out: Any,
) -> None:
    """Add each posting's part of a model's score to its term.

    items, places, counts : of each posting, places being those of its term in ``a``,
    ``b`` and ``out``;  x : the model's number of each item.
    """
    for j in range(len(items)):
        at = places[j]
        out[at] += part(code, float(counts[j]), x[items[j]], a[at], b[at], world)
