"""Whose turn is it? Documents drawn evenly, the same ones every time."""

from __future__ import annotations

import numpy as np

from classmark.arrays import Ints
from classmark.solvers.live.listed import Listed
from classmark.solvers.live.shelf import Shelf

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SAMPLE = 16  # documents of which the least needed is let go


def turns(first: int, count: int, total: int) -> Ints:
    """Numbers below ``total``, by the golden ratio: any run of them is spread evenly.

    >>> turns(0, 5, 10).tolist()
    [0, 6, 2, 8, 4]
    """
    steps = np.arange(first, first + count, dtype=np.uint64) * GOLDEN
    half = np.uint64(32)
    return (((steps >> half) * np.uint64(total)) >> half).astype(np.int64)


def visit_drawn(shelf: Shelf, listed: Listed, first: int, count: int) -> None:
    """Visit kept documents one after the other: layered ones, then those listed."""
    whole = bool(shelf.alive.all())
    kept = np.empty(0, np.int64) if whole else np.flatnonzero(shelf.alive)
    places = len(shelf) if whole else len(kept)
    drawn = turns(first, count, places + len(listed))
    ends = np.flatnonzero(drawn >= places)
    for begin, end in zip([0, *(ends + 1)], [*ends, len(drawn)], strict=True):
        run = drawn[begin:end]
        if len(run):
            shelf.problem.visit(run if whole else kept[run])
        if end < len(drawn):
            listed.visit(int(drawn[end]) - places)


def least_needed(
    shelf: Shelf, listed: Listed, owner: Ints, newest: int
) -> tuple[int, int]:
    """Of a few kept documents, not the newest, the handle and place of the least Σα.

    A listed document has the place −1.
    """
    places, handles = np.flatnonzero(shelf.alive), listed.handles
    if newest in listed:
        handles = [handle for handle in handles if handle != newest]
    else:
        places = places[owner[places] != newest]
    drawn = np.unique(turns(SAMPLE * newest, SAMPLE, len(places) + len(handles)))
    sample = places[drawn[drawn < len(places)]]
    others = [handles[d] for d in drawn[drawn >= len(places)] - len(places)]
    held = [float(listed.duals(handle).sum()) for handle in others]
    least = int(np.argmin([*shelf.held(sample), *held]))
    if least >= len(sample):
        return others[least - len(sample)], -1
    return int(owner[sample[least]]), int(sample[least])
