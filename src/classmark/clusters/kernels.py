"""The loops of clustering: nearest centre, likeness by lists, merging, linking."""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.kernels import fill, scores_of


@compiled
def nearest(
    starts: Any,
    columns: Any,
    values: Any,
    W: Any,
    first: int,
    which: Any,
    best: Any,
    second: Any,
) -> None:
    """Let each row meet the centres W[:, c], whose numbers are first + c.

    which, best : the number of the greatest ⟨x, centre⟩ met so far, and its value;
    second : the next greatest value.
    """
    scores = np.empty(W.shape[1], W.dtype)
    for i in range(len(starts) - 1):
        begin, end = starts[i], starts[i + 1]
        scores_of(columns[begin:end], values[begin:end], W, scores)
        for c in range(len(scores)):
            if scores[c] > best[i]:
                second[i] = best[i]
                best[i] = scores[c]
                which[i] = first + c
            elif scores[c] > second[i]:
                second[i] = scores[c]


@compiled
def products(
    columns: Any, values: Any, starts: Any, items: Any, weights: Any, out: Any
) -> None:
    """out_i = ⟨x, row i⟩ for all rows, by the lists of the terms of x."""
    fill(out, 0.0)
    for j in range(len(columns)):
        value = values[j]
        for p in range(starts[columns[j]], starts[columns[j] + 1]):
            out[items[p]] += value * weights[p]


@compiled
def chain(D: Any, sizes: Any, ward: bool, left: Any, right: Any, heights: Any) -> None:
    """Merge n groups, two by two, along chains of nearest neighbours [Murtagh83].

    D : distances, (n, n), the diagonal infinite;  sizes : of the groups. Both are used
    up. The m-th merge joins the slots left[m] and right[m], and is kept in the second;
    the merges are not sorted by their heights.
    """
    n = len(sizes)
    path = np.empty(n, np.uint32)
    depth = 0
    for m in range(n - 1):
        if depth == 0:
            first = 0
            while sizes[first] <= 0:
                first += 1
            path[0] = first
            depth = 1
        while True:
            x = path[depth - 1]
            y, least = x, np.inf
            if depth > 1:
                y = path[depth - 2]
                least = D[x, y]
            row = D[x]
            for j in range(n):
                if row[j] < least:
                    y, least = np.uint32(j), row[j]
            if depth > 1 and y == path[depth - 2]:
                break
            path[depth] = y
            depth += 1
        depth -= 2
        left[m], right[m], heights[m] = x, y, least
        _join(D, sizes, x, y, ward)


@compiled
def _join(D: Any, sizes: Any, x: int, y: int, ward: bool) -> None:
    """The distances from x and y together, by [LanceWilliams67], kept as y's."""
    a, b, between = sizes[x], sizes[y], D[x, y]
    for k in range(len(sizes)):
        c = sizes[k]
        if c > 0 and k not in (x, y):
            if ward:
                joined = (a + c) * D[x, k] + (b + c) * D[y, k] - c * between
                joined /= a + b + c
            else:
                joined = (a * D[x, k] + b * D[y, k]) / (a + b)
            D[y, k] = D[k, y] = joined
        D[x, k] = D[k, x] = np.inf
    sizes[y], sizes[x] = a + b, 0.0


@compiled
def link(
    starts: Any, columns: Any, values: Any, width: int, threshold: float, parent: Any
) -> None:
    """Join every two rows with ⟨x, y⟩ ≥ threshold: parent becomes their forest.

    Rows have unit length and their terms come rare ones first. From the first term in
    common on, ⟨x, y⟩ ≤ ‖x from there‖ ‖y from there‖ (``tails``), so a row is listed
    under its terms only while its tail is ≥ threshold (up to ``heads``), and two rows
    that first meet at a term with a smaller product are never compared [Bayardo07]
    [Anastasiu14]. The list of a term begins at ``begins``.
    """
    n, tails = len(starts) - 1, np.empty(len(values))
    begins, heads = np.zeros(width + 1, np.int64), np.empty(n, np.int64)
    for i in range(n):
        rest = 0.0
        for j in range(starts[i + 1] - 1, starts[i] - 1, -1):
            rest += values[j] * values[j]
            tails[j] = np.sqrt(rest)
        heads[i] = starts[i]
        while heads[i] < starts[i + 1] and tails[heads[i]] >= threshold:
            begins[columns[heads[i]] + 1] += 1
            heads[i] += 1
    for term in range(width):
        begins[term + 1] += begins[term]
    ends = begins[:-1].copy()
    lists, reach = np.empty(begins[-1], np.uint32), np.empty(begins[-1])
    dense, seen = np.zeros(width), np.zeros(n, np.uint32)
    for i in range(n):
        for j in range(starts[i], starts[i + 1]):
            dense[columns[j]] = values[j]
        for j in range(starts[i], heads[i]):
            term = columns[j]
            least = threshold / tails[j]
            for p in range(begins[term], ends[term]):
                other = lists[p]
                if seen[other] <= i:
                    seen[other] = i + 1
                    if reach[p] >= least:
                        a, b = _root(parent, other), _root(parent, i)
                        if a != b and _is_alike(
                            starts, columns, values, tails, other, dense, threshold
                        ):
                            parent[max(a, b)] = min(a, b)
            lists[ends[term]] = i
            reach[ends[term]] = tails[j]
            ends[term] += 1
        for j in range(starts[i], starts[i + 1]):
            dense[columns[j]] = 0.0


@compiled
def _is_alike(
    starts: Any,
    columns: Any,
    values: Any,
    tails: Any,
    i: int,
    dense: Any,
    threshold: float,
) -> bool:
    """Whether ⟨row i, dense⟩ ≥ threshold; given up when it cannot be any more."""
    total = 0.0
    for j in range(starts[i], starts[i + 1]):
        if total + tails[j] < threshold:
            return False
        total += values[j] * dense[columns[j]]
    return total >= threshold


@compiled
def _root(parent: Any, i: int) -> Any:
    """The first of the tree of i; the way there is halved."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
