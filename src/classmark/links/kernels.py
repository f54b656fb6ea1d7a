"""Passes over all links: shared out, followed, relaxed.

Links are kept by the page they lead to: page j is reached from
``sources[starts[j]:starts[j+1]]``. A page i hands on ``x[i] * scale[i] * share``, where
``shares`` has a number per link, or none: then every share is 1. ``scale[i]`` is 0 for
a page without links.
"""

from __future__ import annotations

from typing import Any

from classmark.compiled import compiled


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
def follow_links(links: Any, teleport: Any, damping: float, x: Any, sent: Any) -> float:
    """Let all readers take a step, x ← x P, in place; return ‖x P − x‖₁.

    Each page draws from those that link to it; what pages without links hold, and the
    part 1 − λ of all, jumps by ``teleport``. Two sums at once where links weigh the
    same: an addition need not wait for the last.  sent : shape (n,), overwritten.
    """
    starts, sources, shares, scale = links
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
def relax_pages(links: Any, teleport: Any, damping: float, x: Any, sent: Any) -> float:
    """One Gauss–Seidel sweep over x = λ Sᵀ x + v; return ‖change of x‖₁.

    sent : λ scale_i x_i, kept up to date.
    """
    starts, sources, shares, scale = links
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
