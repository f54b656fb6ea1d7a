"""Sets as sorted lists without repeats: intersection, union, difference."""

from __future__ import annotations

from typing import Any

from classmark.compiled import compiled

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
