"""Loops that several kernels share: scores of a row, their change, sorting, lookup.

Kernels write loops where NumPy has a function: numba compiles ``a[:] = 0``, ``argsort``
or ``partition`` to dozens of functions, each a good part of a second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled, instruction

LINE = 16  # columns that the processor reads at once


@instruction
def prefetch(array: Any, at: int) -> None:
    """The processor may fetch array[at], which will be read soon."""


@compiled
def fill(out: Any, value: Any) -> None:
    """Every number of ``out`` becomes ``value``."""
    for j in range(len(out)):
        out[j] = value


@compiled
def scores_of(columns: Any, values: Any, W: Any, out: Any) -> None:
    """Scores of one document: out_r = Σ_j x_j W[j, r], a sum of contiguous rows.

    Four rows at a time, so that ``out`` is loaded and stored once for the four.
    """
    fill(out, 0.0)
    n = len(columns)
    whole = n - n % 4
    for j in range(0, whole, 4):
        a, b, c, d = values[j], values[j + 1], values[j + 2], values[j + 3]
        A, B = W[columns[j]], W[columns[j + 1]]
        C, D = W[columns[j + 2]], W[columns[j + 3]]
        for r in range(len(out)):
            out[r] += a * A[r] + b * B[r] + c * C[r] + d * D[r]
    for j in range(whole, n):
        value, row = values[j], W[columns[j]]
        for r in range(len(out)):
            out[r] += value * row[r]


@compiled
def add_to_rows(
    columns: Any, values: Any, W: Any, delta: Any, changed: Any, n_changed: int
) -> None:
    """W[j, r] += x_j delta_r for the first ``n_changed`` labels r in ``changed``."""
    for j in range(len(columns)):
        row = W[columns[j]]
        for t in range(n_changed):
            r = changed[t]
            row[r] += values[j] * delta[r]


@compiled
def square(values: Any) -> Any:
    """‖x‖² of a row."""
    total = 0.0
    for j in range(len(values)):
        total += np.float64(values[j] * values[j])
    return total


@compiled
def dot(columns: Any, values: Any, w: Any) -> Any:
    """⟨w, x⟩ of a row."""
    total = 0.0
    for j in range(len(columns)):
        total += values[j] * w[columns[j]]
    return total


@compiled
def add(columns: Any, values: Any, step: float, w: Any) -> None:
    """The weights gain step · x."""
    for j in range(len(columns)):
        w[columns[j]] += step * values[j]


@compiled
def shuffle(order: Any, n: int, seed: int) -> Any:
    """Put order[:n] into random order; return the next seed, 1 to 2³¹ − 2.

    The numbers are those of the minimal standard generator [ParkMiller88].
    """
    for k in range(n - 1):
        seed = seed * 48271 % 2147483647
        other = k + seed * (n - k) // 2147483647
        order[k], order[other] = order[other], order[k]
    return seed


@compiled
def sort_by(keys: Any, order: Any, n: int) -> None:
    """Sort order[:n] by rising keys[order] [Shell59]."""
    gap = 1
    while 3 * gap + 1 < n:
        gap = 3 * gap + 1
    while gap > 0:
        for j in range(gap, n):
            item, at = order[j], j
            key = keys[item]
            while at >= gap and keys[order[at - gap]] > key:
                order[at] = order[at - gap]
                at -= gap
            order[at] = item
        gap //= 3


@compiled
def kth_largest(values: Any, n: int, k: int) -> Any:
    """The k-th largest of values[:n], which change their places [Hoare61]."""
    low, high, at = 0, n - 1, k - 1
    while low < high:
        pivot, left, right = values[at], low, high
        while left <= right:
            while values[left] > pivot:
                left += 1
            while values[right] < pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if right < at:
            low = left
        if at < left:
            high = right
    return values[at]


@compiled
def gallop(values: Any, low: int, end: int, target: int) -> int:
    """Return the first place from ``low`` to ``end`` with the target or more.

    Steps of 1, 2, 4, … and then halving: log of the distance [BentleyYao76].
    """
    step, high = 1, low
    while high < end and values[high] < target:
        low, high, step = high + 1, high + step, 2 * step
    high = min(high, end)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low
