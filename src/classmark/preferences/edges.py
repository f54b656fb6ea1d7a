"""Preferences said one by one, as the graphs of a collection's documents."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from classmark.preferences.graph import Edge, PreferenceGraph
from classmark.problems import Mistake


def from_edges(
    edges: Iterable[Sequence[Any]],
    documents: Sequence[Hashable],
    labels: Sequence[Hashable],
    base: Sequence[PreferenceGraph] | None = None,
) -> list[PreferenceGraph]:
    """One graph per document from (document, winner, loser[, weight]), by names.

    documents, labels : the names, in the order of the graphs and of their labels;
    base : what is preferred anyway, from labels say: an edge adds to it, or replaces
        the edge it contradicts. A document without edges keeps its graph as it is, and
        without ``base`` has no edge.

    A ``Mistake`` names the document and the edge that cannot be used.

    >>> graphs = from_edges([("d1", "bees", "wax")], ["d1", "d2"], ["bees", "wax"])
    >>> [graph.edges() for graph in graphs]
    [[(0, 1)], []]
    """
    number = {name: index for index, name in enumerate(labels)}
    found: dict[Hashable, dict[Edge, float]] = {name: {} for name in documents}
    if base is not None and len(base) != len(documents):
        raise Mistake(
            f"base has {len(base)} graphs for {len(documents)} documents: "
            "give one per document"
        )
    for edge in edges:
        document, winner, loser, weight = _parts(edge)
        place = f"document {document!r}, {winner!r} over {loser!r}"
        if document not in found:
            raise Mistake(f"{place}: the document is not known: add it, or drop this")
        pair = _pair(number, winner, loser, place)
        _add(found[document], pair, weight, place)
    return [
        amended(base[at] if base else PreferenceGraph(len(labels)), found[name])
        for at, name in enumerate(documents)
    ]


def amended(graph: PreferenceGraph, edges: Mapping[Edge, float]) -> PreferenceGraph:
    """The graph with weighted edges added, each in place of the one it contradicts.

    >>> graph = PreferenceGraph.multilabel(3, [1])
    >>> amended(graph, {(0, 1): 2.0}).edges()
    [(0, 1), (1, 2)]
    """
    if not edges:
        return graph
    weight: dict[Edge, float] = dict(
        zip(graph.each_edge(), graph.each_weight(), strict=True)
    )
    for (winner, loser), value in edges.items():
        weight.pop((loser, winner), None)
        weight[winner, loser] = value
    listed = [(*edge, weight[edge]) for edge in sorted(weight)]
    return PreferenceGraph(graph.n_labels, listed, thresholds=graph.thresholds)


def _parts(edge: Sequence[Any]) -> tuple[Hashable, Hashable, Hashable, float]:
    if len(edge) not in (3, 4):
        raise Mistake(
            f"edge {tuple(edge)!r} has {len(edge)} parts: give document, winner, "
            "loser, and a weight if you like"
        )
    document, winner, loser, *weight = edge
    return document, winner, loser, float(weight[0]) if weight else 1.0


def _pair(
    number: Mapping[Hashable, int], winner: Hashable, loser: Hashable, place: str
) -> Edge:
    for name in (winner, loser):
        if name not in number:
            raise Mistake(f"{place}: there is no label {name!r}: correct its name")
    if winner == loser:
        raise Mistake(f"{place}: a label cannot be above itself: remove it")
    return number[winner], number[loser]


def _add(known: dict[Edge, float], pair: Edge, weight: float, place: str) -> None:
    if not (math.isfinite(weight) and weight > 0):
        raise Mistake(f"{place}: its weight is {weight}: give a number above 0")
    if pair in known:
        raise Mistake(f"{place}: it is given twice: give it once, with a weight")
    if (pair[1], pair[0]) in known:
        raise Mistake(f"{place}: the contrary is given too: keep one")
    known[pair] = weight
