"""Which words led to this leaf? The parts of the scores along its path."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.hierarchies.descending.trained import Trained
from classmark.hierarchies.nodes import NOWHERE

Step = tuple[int, int]  # an inner node, and the place of a daughter among its own


def path_parts(
    trained: Trained, columns: Any, values: Any, leaf: int, scale: float
) -> NDArray[np.float64]:
    """Σ over the best path of x_f (w_{v,f} − mean over sisters w_{s,f}).

    Sisters are the daughters that have documents. Shape: that of ``columns``.
    """
    parts = np.zeros(len(columns))
    for at, j in best_path(trained, columns, values, leaf, scale):
        piece = trained.piece(at)
        known = piece.bias > NOWHERE / 2
        place = np.searchsorted(piece.features, columns)
        ends = piece.offsets.astype(np.int64)
        for t, p in enumerate(place):
            if p == len(piece.features) or piece.features[p] != columns[t]:
                continue
            mine = slice(ends[p], ends[p + 1])
            weights = piece.slope.copy()
            weights[piece.daughter[mine]] += piece.weight[mine]
            parts[t] += values[t] * (weights[j] - weights[known].mean())
    return parts


def best_path(
    trained: Trained, columns: Any, values: Any, leaf: int, scale: float
) -> list[Step]:
    """The most probable way from the root to a leaf, node by node."""
    from classmark.hierarchies.descending.kernels import node_scores

    starts, codes = trained.arrays[0], trained.arrays[1]
    n_inner = len(starts) - 1
    scores = np.empty(trained.widest)
    reach = {-n_inner: 0.0}
    came: dict[int, Step] = {}
    for at in _above(starts, codes, leaf):
        count = node_scores(at, columns, values, trained.arrays, scores)
        odds = scores[:count] * scale
        odds = odds - odds.max()
        odds = odds - np.log(np.exp(odds).sum())
        for j, code in enumerate(codes[starts[at] : starts[at + 1]].tolist()):
            value = reach[at - n_inner] + float(odds[j])
            if value > reach.get(code, -np.inf):
                reach[code], came[code] = value, (at, j)
    path, code = [], leaf
    while code in came:
        path.append(came[code])
        code = came[code][0] - n_inner
    return path[::-1]


def _above(starts: Any, codes: Any, leaf: int) -> list[int]:
    """Inner nodes from which the leaf can be reached, parents first."""
    n_inner, wanted, found = len(starts) - 1, {leaf}, []
    spans = list(pairwise(starts.tolist()))
    for at in reversed(range(n_inner)):
        low, high = spans[at]
        if not wanted.isdisjoint(codes[low:high].tolist()):
            wanted.add(at - n_inner)
            found.append(at)
    return found[::-1]
