"""Exact top-k from impacts: parts as whole numbers, summed in a core's nearest cache.

An impact is a part over the largest of its list, in 65,535ths, rounded up
[AnhMoffat06]. Times a factor for each term of a query, rounded up again, impacts add up
to a sum of 16 bits, in units so small that it holds the largest, that is never below
the item's score and less than ``ERROR`` units a term above it. Items are visited in
windows whose sums fit the cache, without a feature of a document or a division. Those
whose sums lie too far below the k-th best cannot be among the best; the others are
scored anew, their parts added in the query's order: every bit equals the accumulators'.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from classmark.compiled import compiled
from classmark.index.kernels_models import (
    PLUS,
    is_dead,
    part,
    part_at,
    second_constant,
)
from classmark.index.kernels_topk import UNTOUCHED, is_ratio, push, sort_heap
from classmark.kernels import gallop

BEGIN, END, DF, CF = range(4)  # the columns of a field's table
WINDOW = 1 << 15  # items whose sums lie together, a multiple of COLUMNS: 64 KB
COLUMNS, LINE = 512, 64  # sums that are compared in one go
TOP, ERROR = 65_535, 4  # the largest sum; units a term by which sums are too large
LISTED = 48  # sums are visited by postings below one for so many items
CROWD = 64  # items near the best, beyond twice k, that are looked through again
FEW = 48  # items that are put in order by counting
STEP = 16  # to so many units the k-th largest sum is found
TINY = 1e-200  # the least sum of parts that is a number like others


@compiled
def weigh_lists(
    code: int, world: Any, x: Any, lists: Any, table: Any, peaks: Any, impacts: Any
) -> bool:
    """Fill in the impacts of all lists, and the largest part of each for a = 1.

    lists : items, counts.  Where parts are a · y + b, those are of a · y alone.
    Returns False where a part is below 0, or no number: then there are no impacts.
    """
    items, counts = lists
    longest = 0
    for t in range(len(table)):
        longest = max(longest, table[t, END] - table[t, BEGIN])
    parts = np.empty(longest)
    for t in range(len(table)):
        begin, size, most = table[t, BEGIN], table[t, END] - table[t, BEGIN], 0.0
        if table[t, DF] == 0:
            peaks[t] = 0.0
            continue
        b = second_constant(code, float(table[t, DF]), float(table[t, CF]), world)
        b = 0.0 if code == PLUS else b
        for i in range(size):
            j = begin + i
            y = part(code, float(counts[j]), x[items[j]], 1.0, b, world)
            if not 0.0 <= y < math.inf:
                return False
            parts[i] = y
            most = max(most, y)
        peaks[t] = most
        for i in range(size):
            share = parts[i] / most if most > 0.0 else 0.0
            impacts[begin + i] = math.ceil(share * TOP)
    return True


@compiled
def _fit_factors(scoring: Any, places: Any, peaks: Any, factors: Any) -> bool:
    """Fill in what a term's impacts are multiplied by, and what is added to each.

    The product is in 65,536ths of a unit.  Returns False where no unit would fit.
    """
    m, total = len(places), 0.0
    for t in range(m):
        total += scoring.a[t] * peaks[places[t]]
        total += scoring.b[t] if scoring.code == PLUS else 0.0
    if not TINY < total < 1.0 / TINY:
        return False
    units = (TOP - ERROR * m - 2) / total
    for t in range(m):
        share = scoring.a[t] * peaks[places[t]] * units
        factors[t, 0] = np.uint64(math.ceil(share * ((TOP + 1) / TOP)))
        own = scoring.b[t] * units if scoring.code == PLUS else 0.0
        factors[t, 1] = np.uint64(math.ceil(own) + 1)
    return True


@compiled
def _add_impacts(
    items: Any, impacts: Any, factor: Any, own: Any, span: Any, first: Any, sums: Any
) -> None:
    """Add what one list brings the items of a window, which begins at ``first``."""
    for j in range(np.uint64(span[0]), np.uint64(span[1])):
        gain = (factor * np.uint64(impacts[j]) >> np.uint64(16)) + own
        d = items[j] - first
        sums[d] += gain


class Near(NamedTuple):
    """Items that may be among the best, and their sums."""

    items: Any
    sums: Any


@compiled
def _kth_largest(values: Any, n: int, k: int) -> int:
    """Return a number of which less than ``STEP`` below the k-th largest; 0: fewer."""
    if n < k:
        return 0
    bar, step = 0, (TOP + 1) // 2
    while step >= STEP:
        least, above = np.uint16(bar + step), 0
        for i in range(n):
            above += values[i] >= least
        if above >= k:
            bar += step
        step //= 2
    return bar


@compiled
def _bar_of_columns(sums: Any, k: int) -> int:
    """Return a number that k sums of different items reach; the items are alive.

    They are the largest of each of 512 columns.
    """
    most = np.zeros(COLUMNS, np.uint16)
    for first in range(0, len(sums), COLUMNS):
        row = sums[first : first + COLUMNS]
        for i in range(COLUMNS):
            value, before = row[i], most[i]
            most[i] = value if value > before else before  # noqa: FURB136
    return _kth_largest(most, COLUMNS, k)


@compiled
def _take_all(sums: Any, first: int, bar: int, near: Any, n: int) -> int:
    """Note the items of a window whose sums reach the bar; wipe. Returns how many."""
    least = np.uint16(max(bar, 1))
    for begin in range(0, len(sums), LINE):
        row, any_near = sums[begin : begin + LINE], np.uint16(0)
        for i in range(LINE):
            any_near |= np.uint16(row[i] >= least)
        if any_near > 0:
            for i in range(LINE):
                near.items[n], near.sums[n] = first + begin + i, row[i]
                n += row[i] >= least
        for i in range(LINE):
            row[i] = 0
    return n


@compiled
def _take_listed(
    items: Any, span: Any, first: Any, sums: Any, bar: int, near: Any, n: int
) -> int:
    """Do as ``_take_all``, for the items of one list."""
    for j in range(np.uint64(span[0]), np.uint64(span[1])):
        d = items[j] - first
        value = sums[d]
        sums[d] = 0
        near.items[n], near.sums[n] = items[j], value
        n += value >= max(bar, 1)
    return n


@compiled
def _keep_above(near: Any, n: int, bar: int, final: Any) -> int:
    """Keep the items alive whose sums reach the bar; return how many."""
    size = 0
    for i in range(n):
        d, value = near.items[i], near.sums[i]
        near.items[size], near.sums[size] = d, value
        size += value >= bar and not is_dead(final, d)
    return size


@compiled
def _wipe_dead(final: Any, first: int, sums: Any) -> None:
    """Set the sums of items that are not alive to 0."""
    if len(final.alive):
        for i in range(min(len(sums), len(final.alive) - first)):
            sums[i] *= np.uint16(final.alive[first + i])


@compiled
def _locate(items: Any, begin: int, end: int, near: Any, at: Any) -> None:
    """Fill in where each item would be in a list: all halve it in step, no branches."""
    size = end - begin
    for i in range(len(at)):
        at[i] = begin
    while size > 1:
        half = size // 2
        for i in range(len(at)):
            low = at[i]
            is_below = items[np.uint64(low + half - 1)] < near[i]
            at[i] = low + half if is_below else low
        size -= half
    for i in range(len(at)):
        low = at[i]
        at[i] = min(low + int(items[np.uint64(low)] < near[i]), end - 1)


@compiled
def _place_best(items: Any, scores: Any, heap: Any) -> int:
    """Put the best of a few items in order, by counting who is before each one."""
    n, k = len(scores), len(heap.items)
    for i in range(n):
        d, s, place = items[i], scores[i], 0
        for j in range(n):
            is_before = (scores[j] > s) | ((scores[j] == s) & (items[j] < d))
            place += is_before
        if place < k:
            heap.items[place], heap.scores[place] = d, s
    return min(n, k)


@compiled
def _score_near(scoring: Any, final: Any, near: Any, n: int, heap: Any) -> int:
    """Score items exactly; put the best into a heap, best first; return how many."""
    at, scores, size = np.empty(n, np.int64), np.empty(n), 0
    items, counts, x, spans = scoring.items, scoring.counts, scoring.x, scoring.spans
    for i in range(n):
        scores[i] = UNTOUCHED
    for t in range(len(scoring.a)):
        if spans[t, 0] == spans[t, 1]:
            continue
        _locate(items, spans[t, 0], spans[t, 1], near.items, at)
        a, is_plain = scoring.a[t], is_ratio(scoring, t)
        for i in range(n):
            j, d = np.uint64(at[i]), near.items[i]
            if items[j] != d:
                continue
            if is_plain:
                tf = float(counts[j])
                scores[i] += a * (tf / (tf + x[d]))
            else:
                scores[i] += part_at(scoring, t, at[i])
    for i in range(n):
        scores[i] += final.offset
    if n <= FEW:
        return _place_best(near.items, scores, heap)
    for i in range(n):
        size = push(heap, size, near.items[i], scores[i])
    sort_heap(heap, size)
    return size


@compiled
def _add_window(
    scoring: Any, impacts: Any, factors: Any, first: int, cursors: Any, sums: Any
) -> int:
    """Add what all lists bring the items of a window; return the postings.

    cursors : where each list begins, and then ends, in the window.
    """
    items, spans, postings = scoring.items, scoring.spans, 0
    for t in range(len(spans)):
        cursors[t, 0] = cursors[t, 1]
        cursors[t, 1] = gallop(items, cursors[t, 0], spans[t, 1], first + WINDOW)
        postings += cursors[t, 1] - cursors[t, 0]
        factor, own = factors[t, 0], factors[t, 1]
        _add_impacts(items, impacts, factor, own, cursors[t], np.uint32(first), sums)
    return postings


@compiled
def find_by_impacts(
    scoring: Any, final: Any, places: Any, model: Any, scratch: Any, heap: Any
) -> int:
    """Find the best items of a query whose parts are all 0 or more; return how many.

    places : the terms' rows of the postings' table.  Returns −1 where no unit fits.
    """
    m, n, k = len(places), len(scratch.acc), len(heap.items)
    factors, cursors = np.empty((m, 2), np.uint64), np.empty((m, 2), np.int64)
    if not _fit_factors(scoring, places, model.peaks, factors):
        return -1
    for t in range(m):
        cursors[t, 1] = scoring.spans[t, 0]
    near, size, bar, reach = Near(scratch.touched, scratch.tops), 0, 0, ERROR * m + 1
    for first in range(0, n, WINDOW):
        width, sums = min(WINDOW, n - first), scratch.sums
        left = _add_window(scoring, model.impacts, factors, first, cursors, sums)
        if left * LISTED < width:
            for t in range(m):
                lists = (scoring.items, cursors[t], np.uint32(first))
                size = _take_listed(*lists, sums, bar, near, size)
        else:
            sums = sums[: -(-width // COLUMNS) * COLUMNS]
            _wipe_dead(final, first, sums)
            if bar == 0:
                bar = max(0, _bar_of_columns(sums, k) - reach)
            size = _take_all(sums, first, bar, near, size)
        if size > 2 * k + CROWD or first + WINDOW >= n:
            if len(final.alive):
                size = _keep_above(near, size, bar, final)
            bar = max(bar, _kth_largest(near.sums, size, k) - reach)
            size = _keep_above(near, size, bar, final)
    return _score_near(scoring, final, near, size, heap)
