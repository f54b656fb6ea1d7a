"""Whether categories stand above themselves, and which."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np

from classmark.arrays import Ints, ranges
from classmark.language import _
from classmark.problems import Mistake

NAMED = 10  # categories of a cycle that a message names


class CyclicGraph(Mistake):
    """Categories that stand above themselves."""


def has_cycle(upper: Ints, lower: Ints, size: int) -> bool:
    """Whether some nodes cannot be taken away, each after all those above it.

    upper, lower : the ends of the edges, by number. All nodes that can go, go at once.

    >>> has_cycle(np.array([0, 0, 1]), np.array([1, 2, 2]), 3)
    False
    >>> has_cycle(np.array([0, 1, 2]), np.array([1, 2, 1]), 3)
    True
    """
    child = lower[np.argsort(upper, kind="stable")]
    count = np.bincount(upper, minlength=size)
    start = np.cumsum(count) - count
    above = np.bincount(lower, minlength=size)
    free, gone = np.flatnonzero(above == 0), 0
    while len(free):
        gone += len(free)
        below, edges = np.unique(
            child[ranges(start[free], count[free])], return_counts=True
        )
        above[below] -= edges
        free = below[above[below] == 0]
    return gone < size


def require_no_cycle(nodes: Sequence[Hashable], upper: Ints, lower: Ints) -> None:
    """Refuse a graph with a cycle, and name its categories."""
    if not has_cycle(upper, lower, len(nodes)):
        return
    parents: dict[int, list[int]] = {}
    for u, v in zip(upper.tolist(), lower.tolist(), strict=True):
        parents.setdefault(v, []).append(u)
    try:
        TopologicalSorter(dict(sorted(parents.items()))).prepare()
    except CycleError as error:
        cycle = [repr(nodes[v]) for v in error.args[1]]
        if len(cycle) > NAMED:
            cycle[NAMED - 1 : -1] = [f"… ({len(cycle) - NAMED} more)"]
        raise CyclicGraph(
            _(
                "edges: they form a cycle, %(cycle)s: remove one of them",
                cycle=" → ".join(cycle),
            )
        ) from None
