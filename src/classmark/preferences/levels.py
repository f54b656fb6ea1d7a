"""Levels: the preferences of a collection, where each document's graph is layered.

A document's label at a higher level stands above every label at a lower one. Labels
that are not listed are at level 0, so a bipartite graph (relevant above all others)
lists its relevant labels only, and no edge is ever listed. A few labels may be at
level −1: they are compared with none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from classmark.arrays import Ints
from classmark.preferences.graph import PreferenceGraph
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.sparse import Rows, keep_values

FEW = 16  # labels that a layered graph may leave out


def levels_from(
    Y: Any, n_documents: int | None = None, n_labels: int | None = None
) -> Rows:
    """Labels, grades or layered graphs as Rows of levels 1, 2, …, shape (n, labels).

    Grades become levels by their order within the collection: indicator labels give
    one level (bipartite), primary and secondary labels give two.

    >>> levels_from(np.array([[2.0, 0.0, 1.0]])).values.tolist()
    [2.0, 1.0]
    """
    if is_graphs(Y):
        checked_graphs(Y, n_documents)
        if not are_layered(Y):
            raise Mistake(
                "Y holds graphs that are not layered over all labels: this needs "
                "layered graphs (PreferenceGraph.multilabel, or .layers with every "
                "label in one)"
            )
        return rows_of_levels([graph.levels for graph in Y], Y[0].n_labels)
    rows = labels_from(Y, n_documents, n_labels)
    grades = np.unique(rows.values)
    level = np.ones(rows.nnz, np.float32)
    if len(grades) > 1:
        level += np.searchsorted(grades, rows.values)
    return Rows(rows.starts, rows.columns, level, rows.width)


def graphs_from(
    Y: Any,
    n_documents: int | None = None,
    n_labels: int | None = None,
    *,
    thresholds: bool = False,
) -> list[PreferenceGraph]:
    """One graph per document: labels and grades become layers, graphs stay.

    thresholds : whether graphs may compare labels with the threshold.

    >>> graphs_from(np.array([[2.0, 0.0, 1.0]]))[0].edges()
    [(0, 1), (0, 2), (2, 1)]
    """
    if is_graphs(Y):
        return list(checked_graphs(Y, n_documents, thresholds=thresholds))
    rows = levels_from(Y, n_documents, n_labels)
    graphs = []
    for i in range(len(rows)):
        columns, values = rows.row(i)
        levels = np.zeros(rows.width, np.int64)
        levels[columns] = values
        graphs.append(PreferenceGraph(rows.width, levels=levels))
    return graphs


def favoured(graphs: Sequence[PreferenceGraph]) -> Rows:
    """Levels of any graphs: a label that wins more edges than it loses is at level 1.

    Layered graphs keep their levels. What is listed need not have levels at all; this
    says which labels a document speaks for, and no more.

    >>> favoured([PreferenceGraph(3, [(0, 1), (0, 2), (2, 1)])]).columns.tolist()
    [0]
    """
    levels = [
        graph.levels
        if graph.levels is not None and are_layered([graph])
        else _winning(graph)
        for graph in graphs
    ]
    return rows_of_levels(levels, graphs[0].n_labels)


def relevant(levels: Rows) -> Rows:
    """Only the labels above level 0: without those that are compared with none.

    >>> graph = PreferenceGraph(3, levels=np.array([-1, 1, 0]))
    >>> relevant(favoured([graph])).columns.tolist()
    [1]
    """
    return keep_values(levels, levels.values > 0)


def _winning(graph: PreferenceGraph) -> Ints:
    pairs = graph.pairs if graph.levels is None else np.array(graph.edges(), np.int64)
    ends = pairs.reshape(-1, 2).T
    won, lost = (np.bincount(end, minlength=graph.n_labels + 1) for end in ends)
    return (won > lost)[: graph.n_labels].astype(np.int64)


def is_graphs(Y: Any) -> bool:
    """Whether ``Y`` is a list of preference graphs."""
    return (
        isinstance(Y, Sequence)
        and len(Y) > 0
        and all(isinstance(graph, PreferenceGraph) for graph in Y)
    )


def are_layered(graphs: Sequence[PreferenceGraph]) -> bool:
    """Whether every graph is layered and compares all labels, or all but a few."""
    return all(
        g.levels is not None and np.count_nonzero(g.levels < 0) <= FEW for g in graphs
    )


def checked_graphs(
    graphs: Sequence[PreferenceGraph],
    n_documents: int | None,
    *,
    thresholds: bool = False,
) -> Sequence[PreferenceGraph]:
    """Refuse a wrong number of graphs, graphs over different labels, or thresholds."""
    if n_documents is not None and len(graphs) != n_documents:
        raise Mistake(
            f"Y has {len(graphs)} graphs, X has {n_documents} rows: "
            "give one graph per document"
        )
    for document, graph in enumerate(graphs):
        if graph.n_labels != graphs[0].n_labels:
            raise Mistake(
                f"Y, document {document}: the graph has {graph.n_labels} labels, "
                f"the first has {graphs[0].n_labels}: use one set of labels"
            )
        if graph.thresholds and not thresholds:
            raise Mistake(
                f"Y, document {document}: the graph compares labels with a threshold, "
                "which only PreferenceRanker learns: leave those edges out"
            )
    return graphs


def rows_of_levels(levels: Sequence[Ints], n_labels: int) -> Rows:
    """Rows of the levels other than 0, one row for each document's (n_labels,)."""
    columns = [np.flatnonzero(level) for level in levels]
    values = [level[at] for level, at in zip(levels, columns, strict=True)]
    return Rows(
        np.cumsum([0, *map(len, columns)], dtype=np.int64),
        np.concatenate([np.empty(0), *columns]).astype(np.uint32),
        np.concatenate([np.empty(0), *values]).astype(np.float32),
        n_labels,
    )
