"""Which words led to this leaf? The parts of the scores along its path."""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.arrays import Floats
from classmark.hierarchies.descending.pieces import Piece
from classmark.hierarchies.descending.trained import Trained
from classmark.hierarchies.nodes import NOWHERE

Step = tuple[int, int]  # an inner node, and the place of a daughter among its own


def path_parts(
    trained: Trained, columns: Any, values: Any, leaf: int, scale: float
) -> Floats:
    """Σ over the best path of x_f (w_{v,f} − mean over sisters w_{s,f}).

    Sisters are the daughters that have documents. Shape: that of ``columns``.
    """
    parts = np.zeros(len(columns))
    for at, j in best_path(trained, columns, values, leaf, scale):
        piece = trained.piece(at)
        if not len(piece.features):
            continue
        known = piece.bias > NOWHERE / 2
        place = np.searchsorted(piece.features, columns)
        place[place == len(piece.features)] = 0
        terms = np.flatnonzero(piece.features[place] == columns)
        daughter, weight, owner = _entries(piece, place[terms])
        slope = piece.slope.astype(np.float64)
        usual, share = slope[j] - slope[known].mean(), 1.0 / max(known.sum(), 1)
        lead = (daughter == j) - share * known[daughter]
        more = np.bincount(owner, weight * lead, len(terms))
        parts[terms] += values[terms] * (usual + more)
    return parts


def _entries(piece: Piece, features: Any) -> tuple[Any, Any, Any]:
    """Daughter, weight, and the place in ``features`` of each weight of these."""
    first = piece.offsets[features].astype(np.int64)
    count = piece.offsets[features + 1].astype(np.int64) - first
    owner = np.repeat(np.arange(len(features)), count)
    shift = np.repeat(first - np.cumsum(count) + count, count)
    where = shift + np.arange(len(owner))
    return piece.daughter[where], piece.weight[where].astype(np.float64), owner


def best_path(
    trained: Trained, columns: Any, values: Any, leaf: int, scale: float
) -> list[Step]:
    """The most probable way from the root to a leaf, node by node."""
    from classmark.hierarchies.descending.kernels import node_scores

    starts, codes = trained.plain[:2]
    n_inner = len(starts) - 1
    scores = np.empty(trained.widest)
    reach = {-n_inner: 0.0}
    came: dict[int, Step] = {}
    for at in _above(trained, leaf):
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


def _above(trained: Trained, leaf: int) -> list[int]:
    """Inner nodes from which the leaf can be reached, parents first."""
    n_inner, waiting = len(trained.arrays[0]) - 1, [leaf]
    found: set[int] = set()
    while waiting:
        fresh = set(trained.mothers(waiting.pop())) - found
        found |= fresh
        waiting += [at - n_inner for at in fresh]
    return sorted(found)
