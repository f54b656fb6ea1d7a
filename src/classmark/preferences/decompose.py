"""Which edges stand together: a graph as groups, each of which errs or not as one.

How a group is priced is not said here: that is the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from classmark.arrays import Floats
from classmark.preferences.graph import Edge, PreferenceGraph
from classmark.problems import Mistake
from classmark.validation import renamed

Groups = list[list[Edge]]
#: The name of a loss, or a function from a graph to groups of its edges.
Loss = str | Callable[[PreferenceGraph], Iterable[Iterable[Edge]]]


NAMES = ("zero-one", "disagreement", "domination", "dominated")
SHORT = {"disagreement": "dis", "domination": "dom", "dominated": "dme"}
LONG = {short: long for long, short in SHORT.items()}


def long_name(loss: Any) -> Any:
    """The name of a loss in [DekelManningSinger03]; anything else stays as it is.

    >>> long_name("dom"), long_name("domination")
    ('domination', 'domination')
    """
    return LONG.get(loss, loss) if isinstance(loss, str) else loss


def short_name(loss: Any) -> Any:
    """The name of a loss in [AiolliSebastianiSperduti08]; anything else stays.

    >>> short_name("domination"), short_name("dom-dme")
    ('dom', 'dom-dme')
    """
    return SHORT.get(loss, loss) if isinstance(loss, str) else loss


@renamed(decomposition="loss")
def decompose(graph: PreferenceGraph, loss: Loss) -> Groups:
    """Part the edges of a graph into groups [DekelManningSinger03].

    "zero-one": all edges together; "disagreement" or "dis": each alone; "domination" or
    "dom": by their init, a label with all it dominates; "dominated" or "dme": by their
    term. A function from a graph to groups of its edges does as well.

    >>> decompose(PreferenceGraph(3, [(0, 1), (0, 2), (1, 2)]), "domination")
    [[(0, 1), (0, 2)], [(1, 2)]]
    """
    if callable(loss):
        return [_own(graph, place, group) for place, group in _listed(loss, graph)]
    name = long_name(loss)
    if name not in NAMES:
        raise Mistake(
            f"loss {loss!r} is not known: use {', '.join(NAMES)} or a function"
        )
    edges = graph.edges()
    if name == "zero-one":
        return [edges] if edges else []
    if name == "disagreement":
        return [[edge] for edge in edges]
    end = 0 if name == "domination" else 1
    groups: dict[int, list[Edge]] = {}
    for edge in edges:
        groups.setdefault(edge[end], []).append(edge)
    return [groups[label] for label in sorted(groups)]


def _listed(
    loss: Callable[[PreferenceGraph], Iterable[Iterable[Edge]]],
    graph: PreferenceGraph,
) -> Iterable[tuple[int, list[Edge]]]:
    return enumerate([[(int(u), int(v)) for u, v in g] for g in loss(graph)])


def _own(graph: PreferenceGraph, place: int, group: list[Edge]) -> list[Edge]:
    edges = set(graph.each_edge())
    for edge in group:
        if edge not in edges:
            raise Mistake(
                f"the loss's group {place} has the edge {edge}, which is not "
                "in the graph: return groups of graph.edges()"
            )
    return group


def weighted_groups(
    graph: PreferenceGraph,
    losses: Sequence[Loss],
    shares: Floats,
) -> tuple[Groups, list[float]]:
    """The groups of all losses, and the mean over each of weight · share.

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
    groups = [group for loss in losses for group in decompose(graph, loss)]
    means = [sum(worth[e] for e in group) / max(len(group), 1) for group in groups]
    return groups, means
