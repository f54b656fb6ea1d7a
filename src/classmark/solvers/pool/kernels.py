"""Where the duals of documents are kept: pairs (label, alpha) of many slots, one pool.

slots[p] holds where its pairs begin, how many there are, and how many there is room
for; ``used`` is the pool's end. What belongs to no slot has alpha 0, so that Σα is the
sum over the pool. Labels, places and numbers are unsigned and small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.scores.kernels import fill


@compiled
def most_room(parts: int, listed: int, k: int) -> int:
    """What the duals of a document can need at most."""
    return parts * (1 + listed) * (k + k // 4)


@compiled
def room_for(m: int, slot: Any, alpha: Any, used: Any) -> Any:
    """Where a slot's m duals go: where they were, or, with a few to spare, the end."""
    first = np.int64(slot[0])
    for t in range(first, first + np.int64(slot[1])):
        alpha[t] = 0.0
    if m > np.int64(slot[2]):
        slot[0], slot[2] = used[0], m + m // 4
        used[0] += m + m // 4
    slot[1] = m
    return np.int64(slot[0])


@compiled
def load_duals(a: Any, slots: Any, label: Any, alpha: Any) -> None:
    """Spread the duals of each slot over a (zero) row of ``a``."""
    for j in range(len(slots)):
        first = np.int64(slots[j, 0])
        for t in range(first, first + np.int64(slots[j, 1])):
            a[j, label[t]] = alpha[t]


@compiled
def store_duals(a: Any, slots: Any, label: Any, alpha: Any, used: Any) -> None:
    """Keep the duals that are not zero, and make ``a`` zero again."""
    k = a.shape[1]
    for j in range(len(slots)):
        m = 0
        for s in range(k):
            m += a[j, s] != 0.0
        t = room_for(m, slots[j], alpha, used)
        for s in range(k):
            if a[j, s] != 0.0:
                label[t] = s
                alpha[t] = a[j, s]
                a[j, s] = 0.0
                t += 1


@compiled
def compact(order: Any, slots: Any, label: Any, alpha: Any) -> int:
    """Close the gaps of a pool, its slots in the order they lie in; return its end."""
    used = 0
    for o in range(len(order)):
        slot = slots[order[o]]
        first, count = np.int64(slot[0]), np.int64(slot[1])
        for t in range(count):
            label[used + t] = label[first + t]
            alpha[used + t] = alpha[first + t]
        slot[0], slot[2] = used, count
        used += int(count)
    fill(alpha[used:], 0.0)
    return used


@compiled
def sum_of_slots(begins: Any, ends: Any, slots: Any, alpha: Any, out: Any) -> None:
    """out_i += Σα over the slots begins_i … ends_i − 1 of every part."""
    for i in range(len(out)):
        for part in range(len(slots)):
            for p in range(begins[i], ends[i]):
                first = np.int64(slots[part, p, 0])
                for t in range(first, first + np.int64(slots[part, p, 1])):
                    out[i] += alpha[t]
