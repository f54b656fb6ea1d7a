"""How much of one document's preference graph does an order violate?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.measures import categories as measured
from classmark.preferences.decompose import Decomposition, decompose
from classmark.preferences.graph import PreferenceGraph
from classmark.problems import Mistake
from classmark.ranking import numbers


def ranking_error(
    scores: ArrayLike, graph: PreferenceGraph, decomposition: Decomposition
) -> float:
    """Return the share of the graph's groups that the scores violate, in [0, 1].

    err = (1/s) · #{k : f(init e) ≤ f(term e) for some edge e of group k}; a tie
    violates; a graph without edges has none [DekelManningSinger03]. Layered graphs are
    measured layer by layer, without listing their edges.

    scores : shape (n_labels,);  decomposition : "zero-one", "disagreement",
    "domination", "dominated", or a function from a graph to groups of its edges.

    >>> graph = PreferenceGraph.multilabel(4, [0, 1])
    >>> ranking_error([4.0, 2.0, 3.0, 1.0], graph, "domination")
    0.5
    >>> ranking_error([4.0, 2.0, 3.0, 1.0], graph, "disagreement")
    0.25
    """
    f = numbers(scores)
    if f.shape != (graph.n_labels,):
        raise Mistake(
            f"scores has shape {f.shape}, the graph {graph.n_labels} labels: give the "
            "scores of one document, one for each label"
        )
    if graph.levels is None or callable(decomposition) or decomposition not in _LAYERED:
        return measured.ranking_error(f, decompose(graph, decomposition))
    held = graph.levels >= 0
    f, levels = f[held], graph.levels[held]
    return _LAYERED[decomposition](f, levels) if len(f) else 0.0


def _zero_one(f: Floats, levels: Ints) -> float:
    return float(_domination(f, levels) > 0)


def _domination(f: Floats, levels: Ints) -> float:
    """Compare each label with the best of those below it."""
    steps, level = np.unique(levels, return_inverse=True)
    best = np.full(len(steps), -np.inf)
    np.maximum.at(best, level, f)
    below = np.maximum.accumulate(best)[level[level > 0] - 1]
    return float((f[level > 0] <= below).mean()) if len(below) else 0.0


def _dominated(f: Floats, levels: Ints) -> float:
    return _domination(-f, -levels)


def _disagreement(f: Floats, levels: Ints) -> float:
    """Count, for each level, the scores below it that are no smaller."""
    wrong = edges = 0
    lower = np.empty(0)
    for step in np.unique(levels):
        own = f[levels == step]
        wrong += int((len(lower) - np.searchsorted(lower, own)).sum())
        edges += len(lower) * len(own)
        lower = np.sort(np.concatenate([lower, own]))
    return wrong / edges if edges else 0.0


_LAYERED = {
    "zero-one": _zero_one,
    "disagreement": _disagreement,
    "domination": _domination,
    "dominated": _dominated,
}
