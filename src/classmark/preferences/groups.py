"""Groups with what each is worth: the mean weight of its edges."""

from __future__ import annotations

from collections.abc import Sequence

from classmark.arrays import Floats
from classmark.preferences.decompose import Decomposition, Groups, decompose
from classmark.preferences.graph import PreferenceGraph


def weighted_groups(
    graph: PreferenceGraph,
    decompositions: Sequence[Decomposition],
    shares: Floats,
) -> tuple[Groups, list[float]]:
    """The groups of all decompositions, and the mean over each of weight · share.

    shares : (n_labels,), what an edge is worth by its winner; the threshold's is 1.

    >>> import numpy as np
    >>> graph = PreferenceGraph(3, [(0, 1, 2.0), (0, 2), (1, 2)])
    >>> weighted_groups(graph, ["domination"], np.ones(3))
    ([[(0, 1), (0, 2)], [(1, 2)]], [1.5, 1.0])
    """
    share = [*shares.tolist(), 1.0]
    worth = {
        edge: weight * share[edge[0]]
        for edge, weight in zip(graph.each_edge(), graph.each_weight(), strict=True)
    }
    groups = [group for name in decompositions for group in decompose(graph, name)]
    means = [sum(worth[e] for e in group) / max(len(group), 1) for group in groups]
    return groups, means
