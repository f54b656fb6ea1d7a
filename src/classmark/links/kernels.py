"""Passes over all links: turned round, shared out, followed, relaxed.

Links are kept by the page they lead to: page j is reached from
``sources[starts[j]:starts[j+1]]``. A page i hands on ``x[i] * scale[i] * share``, where
``shares`` has a number per link, or none: then every share is 1. ``scale[i]`` is 0 for
a page without links.
"""

from __future__ import annotations

from typing import Any

from classmark.compiled import compiled


@compiled
def turn_round(
    starts: Any, columns: Any, values: Any, ends: Any, sources: Any, shares: Any
) -> None:
    """Put links by source in order of their target, then of their source.

    ends : int64 zeros, shape (n + 1,), becomes the pointers;  sources : uint32, shape
    (links,);  values, shares : one per link, or both empty.
    """
    n = len(starts) - 1
    for e in range(len(columns)):
        ends[columns[e]] += 1
    total = 0
    for j in range(n + 1):
        count = ends[j]
        ends[j] = total
        total += count
    weighted = len(values) > 0
    for i in range(n):
        for e in range(starts[i], starts[i + 1]):
            place = ends[columns[e]]
            ends[columns[e]] = place + 1
            sources[place] = i
            if weighted:
                shares[place] = values[e]
    for j in range(n, 0, -1):
        ends[j] = ends[j - 1]
    ends[0] = 0


@compiled
def share_out(starts: Any, values: Any, shares: Any, scale: Any) -> None:
    """Divide each row by its sum; scale_i = 1, or 0 where the row has no weight.

    First by its greatest weight, so that no sum overflows.
    """
    for i in range(len(scale)):
        greatest = 0.0
        for e in range(starts[i], starts[i + 1]):
            greatest = max(greatest, values[e])
        scale[i] = 1.0 if greatest > 0.0 else 0.0
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            shares[e] = values[e] / greatest if greatest > 0.0 else 0.0
            total += shares[e]
        if total > 0.0:
            for e in range(starts[i], starts[i + 1]):
                shares[e] /= total


@compiled
def follow_links(
    starts: Any,
    sources: Any,
    shares: Any,
    scale: Any,
    teleport: Any,
    damping: float,
    x: Any,
    sent: Any,
) -> float:
    """Let all readers take a step, x ← x P, in place; return ‖x P − x‖₁.

    Each page draws from those that link to it; what pages without links hold, and the
    part 1 − λ of all, jumps by ``teleport``. Two sums at once where links weigh the
    same: an addition need not wait for the last.  sent : shape (n,), overwritten.
    """
    lost = kept = 0.0
    for i in range(len(x)):
        sent[i] = damping * scale[i] * x[i]
        if scale[i] == 0.0:
            lost += x[i]
        else:
            kept += x[i]
    jump = lost + (1.0 - damping) * kept
    weighted = len(shares) > 0
    change = 0.0
    for j in range(len(x)):
        total = jump * teleport[j]
        first, end = starts[j], starts[j + 1]
        if weighted:
            for e in range(first, end):
                total += shares[e] * sent[sources[e]]
        else:
            if (end - first) % 2 == 1:
                total += sent[sources[first]]
                first += 1
            other = 0.0
            for e in range(first, end, 2):
                total += sent[sources[e]]
                other += sent[sources[e + 1]]
            total += other
        change += abs(total - x[j])
        x[j] = total
    return change


@compiled
def relax_pages(
    starts: Any,
    sources: Any,
    shares: Any,
    scale: Any,
    teleport: Any,
    damping: float,
    x: Any,
    sent: Any,
) -> float:
    """One Gauss–Seidel sweep over x = λ Sᵀ x + v; return ‖change of x‖₁.

    sent : λ scale_i x_i, kept up to date.
    """
    weighted = len(shares) > 0
    change = 0.0
    for j in range(len(x)):
        total = teleport[j]
        own = 0.0
        for e in range(starts[j], starts[j + 1]):
            i = sources[e]
            share = shares[e] if weighted else 1.0
            if i == j:
                own += share * scale[j]
            else:
                total += share * sent[i]
        total /= 1.0 - damping * own
        change += abs(total - x[j])
        x[j] = total
        sent[j] = damping * scale[j] * total
    return change
