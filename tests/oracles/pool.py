"""The slow, obvious version of each kernel of solvers.pool: duals as dictionaries."""

import numpy as np


def most_room(parts, listed, k):
    return sum(k + k // 4 for _ in range(parts) for _ in range(1 + listed))


def held(slot, label, alpha):
    """What a slot holds: label → alpha."""
    first, count = int(slot[0]), int(slot[1])
    places = range(first, first + count)
    return {int(label[t]): float(alpha[t]) for t in places}


def room_for(m, slot, used):
    """The slot after its m duals have got room, and the pool's end."""
    first, _, room = map(int, slot)
    if m <= room:
        return [first, m, room], used
    return [used, m, m + m // 4], used + m + m // 4


def load_duals(slots, label, alpha, k):
    out = np.zeros((len(slots), k))
    for row, slot in zip(out, slots, strict=True):
        for s, value in held(slot, label, alpha).items():
            row[s] = value
    return out


def store_duals(a):
    return [{s: float(v) for s, v in enumerate(row) if v != 0.0} for row in a]


def compact(slots, label, alpha):
    """Everything a pool holds, in the order it lies in."""
    kept = sorted((slot for slot in slots if slot[1]), key=lambda slot: slot[0])
    return [held(slot, label, alpha) for slot in kept]


def sum_of_slots(begins, ends, slots, label, alpha):
    return [
        sum(
            sum(held(slot, label, alpha).values())
            for part in slots
            for slot in part[b:e]
        )
        for b, e in zip(begins, ends, strict=True)
    ]
