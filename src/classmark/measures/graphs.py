"""How many groups of preferences does an order violate?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake
from classmark.ranking import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

Edge = tuple[int, int]


def ranking_error(scores: ArrayLike, groups: Sequence[Iterable[Edge]]) -> float:
    """Return the share of groups with a violated preference [DekelManningSinger03].

    err = (1/s) · #{g : f(init) ≤ f(term) for some edge (init, term) of group g}; a tie
    violates. The groups decide what is counted: all edges in one group, the zero-one
    error; each edge alone, the disagreement; the edges out of one label, the domination
    error; the edges into one label, the dominated error. No group at all: 0.

    scores : shape (k,), of one document;  groups : lists of edges (init, term).

    >>> ranking_error([0.3, 0.2, 0.1], [[(0, 1), (0, 2)], [(2, 1)]])
    0.5
    """
    listed = [list(group) for group in groups]
    if not listed:
        return 0.0
    sizes = np.array([len(group) for group in listed])
    if not sizes.all():
        raise Mistake(
            f"groups, group {int(np.argmin(sizes))} has no edge: leave empty groups out"
        )
    edges = np.array([edge for group in listed for edge in group], dtype=np.int64)
    f = numbers(scores)
    _require_labels(edges, sizes, f)
    violated = f[edges[:, 0]] <= f[edges[:, 1]]
    starts = np.cumsum(sizes) - sizes
    return float(np.logical_or.reduceat(violated, starts).mean())


def _require_labels(edges: Ints, sizes: Ints, f: Floats) -> None:
    if f.ndim != 1:
        raise Mistake(
            f"scores has {f.ndim} dimensions: give the scores of one document, and "
            "average over documents"
        )
    outside = ((edges < 0) | (edges >= len(f))).any(axis=1)
    wrong = outside | (edges[:, 0] == edges[:, 1])
    if wrong.any():
        at = int(np.argmax(wrong))
        group = int(np.searchsorted(np.cumsum(sizes), at, side="right"))
        init, term = edges[at].tolist()
        raise Mistake(
            f"groups, group {group}: edge ({init}, {term}): give two different labels "
            f"between 0 and {len(f) - 1}"
        )
