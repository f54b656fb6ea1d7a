"""Which edges stand together: a graph as groups, each of which errs or not as one.

How a group is priced is not said here: that is the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from classmark.arrays import Floats
from classmark.preferences.graph import Edge, PreferenceGraph
from classmark.problems import Mistake

Groups = list[list[Edge]]
Decomposition = str | Callable[[PreferenceGraph], Iterable[Iterable[Edge]]]


def decompose(graph: PreferenceGraph, decomposition: Decomposition) -> Groups:
    """Part the edges of a graph into groups [DekelManningSinger03].

    "zero-one": all edges together; "disagreement": each alone; "domination": by their
    init, a label with all it dominates; "dominated": by their term. A function from a
    graph to groups of its edges does as well.

    >>> decompose(PreferenceGraph(3, [(0, 1), (0, 2), (1, 2)]), "domination")
    [[(0, 1), (0, 2)], [(1, 2)]]
    """
    if callable(decomposition):
        return [
            _own(graph, place, group) for place, group in _listed(decomposition, graph)
        ]
    if decomposition not in NAMES:
        raise Mistake(
            f"decomposition {decomposition!r} is not known: use "
            f"{', '.join(NAMES)} or a function"
        )
    edges = graph.edges()
    if decomposition == "zero-one":
        return [edges] if edges else []
    if decomposition == "disagreement":
        return [[edge] for edge in edges]
    end = 0 if decomposition == "domination" else 1
    groups: dict[int, list[Edge]] = {}
    for edge in edges:
        groups.setdefault(edge[end], []).append(edge)
    return [groups[label] for label in sorted(groups)]


NAMES = ("zero-one", "disagreement", "domination", "dominated")


def _listed(
    decomposition: Callable[[PreferenceGraph], Iterable[Iterable[Edge]]],
    graph: PreferenceGraph,
) -> Iterable[tuple[int, list[Edge]]]:
    return enumerate([[(int(u), int(v)) for u, v in g] for g in decomposition(graph)])


def _own(graph: PreferenceGraph, place: int, group: list[Edge]) -> list[Edge]:
    edges = set(graph.each_edge())
    for edge in group:
        if edge not in edges:
            raise Mistake(
                f"the decomposition's group {place} has the edge {edge}, which is not "
                "in the graph: return groups of graph.edges()"
            )
    return group


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
