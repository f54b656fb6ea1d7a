"""The best k so far, the worst of them on top; ties go to the lower number."""

from __future__ import annotations

from typing import Any

from classmark.compiled import compiled


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
