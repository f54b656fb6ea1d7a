"""The log-linear loss of a collection's preference graphs, under any decomposition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints
from classmark.losses.layers import Prices, price_layers
from classmark.preferences.decompose import NAMES, Decomposition, decompose
from classmark.preferences.graph import PreferenceGraph
from classmark.preferences.levels import checked_graphs, is_graphs, levels_from
from classmark.problems import Mistake
from classmark.progress import track
from classmark.sparse import Rows


@dataclass(frozen=True, slots=True)
class Listed:
    """Groups of listed edges: document → groups → edges, by pointers."""

    starts: Ints
    group_starts: Ints
    inits: NDArray[np.uint32]
    terms: NDArray[np.uint32]
    log_weights: Floats


@dataclass(frozen=True, slots=True)
class LogLinearLoss:
    """L = Σ_i (1/s_i) Σ_k ln(1 + Σ_{e ∈ E_k} exp(f(term e) − f(init e))).

    The sums run over documents i, groups k of their decomposed graphs, and edges e
    [DekelManningSinger03]. Layered graphs under a named decomposition keep their levels
    and never list an edge; all others are groups of listed edges, in which an edge of
    weight w counts w times. Each document is in one of the two and empty in the other.
    """

    kind: int
    layers: Rows
    listed: Listed

    def __len__(self) -> int:
        return len(self.layers)

    @property
    def n_labels(self) -> int:
        """How many labels are ranked."""
        return self.layers.width

    def prices(self, scores: Floats, first: int = 0) -> Prices:
        """Price the documents from number ``first`` on, one for each row of scores."""
        prices = price_layers(self.kind, self.layers, scores, first)
        if len(self.listed.inits):
            from classmark.losses.kernels import price_groups

            edges = self.listed
            starts = edges.starts[first : first + len(scores) + 1]
            groups = (edges.group_starts, edges.inits, edges.terms, edges.log_weights)
            out = (prices.into, prices.out_of, prices.losses)
            price_groups(starts, *groups, scores, *out)
        return prices


def loss_from(
    Y: Any,
    decomposition: Decomposition = "domination",
    n_documents: int | None = None,
    n_labels: int | None = None,
) -> LogLinearLoss:
    """Take labels, grades or graphs ``Y``; return their loss, ready to be priced.

    >>> loss = loss_from([[0], [1]], "domination")
    >>> loss.prices(np.zeros((2, 2))).losses.round(4).tolist()
    [0.6931, 0.6931]
    """
    if not callable(decomposition) and decomposition not in NAMES:
        raise Mistake(
            f"decomposition {decomposition!r} is not known: use "
            f"{', '.join(NAMES)} or a function"
        )
    if is_graphs(Y):
        return _from_graphs(checked_graphs(Y, n_documents), decomposition)
    rows = levels_from(Y, n_documents, n_labels)
    if callable(decomposition):
        return _from_graphs(_graphs_of(rows), decomposition)
    nothing = _listed({}, len(rows))
    return LogLinearLoss(NAMES.index(decomposition), _condensed(rows), nothing)


def _from_graphs(
    graphs: Sequence[PreferenceGraph], decomposition: Decomposition
) -> LogLinearLoss:
    """Keep the levels of layered graphs, where the decomposition has a name."""
    named = isinstance(decomposition, str)
    nothing = np.empty(0, np.int64)
    levels = [g.levels if named and g.levels is not None else nothing for g in graphs]
    columns = [np.flatnonzero(level) for level in levels]
    starts = np.concatenate([[0], np.cumsum([len(c) for c in columns])])
    values = [v[c] for v, c in zip(levels, columns, strict=True)]
    layers = Rows(
        starts.astype(np.int64),
        np.concatenate(columns).astype(np.uint32),
        np.concatenate(values),
        graphs[0].n_labels,
    )
    groups = {
        at: _groups(graph, decomposition, at)
        for at, graph in enumerate(track(graphs, "decomposing", len(graphs)))
        if not named or graph.levels is None
    }
    kind = NAMES.index(decomposition) if isinstance(decomposition, str) else 0
    return LogLinearLoss(kind, _condensed(layers), _listed(groups, len(graphs)))


def _graphs_of(rows: Rows) -> list[PreferenceGraph]:
    graphs = []
    for at in range(len(rows)):
        columns, values = rows.row(at)
        levels = np.zeros(rows.width, np.int64)
        levels[columns] = values
        graphs.append(PreferenceGraph(rows.width, levels=levels))
    return graphs


def _condensed(rows: Rows) -> Rows:
    """Number the levels above 0 of each row 1, 2, … without gaps, as integers."""
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    level = rows.values.astype(np.int64)
    order = np.lexsort((level, owner))
    higher = np.zeros(len(level), np.int64)
    raised = level[order] > 0
    new_row = np.diff(owner[order], prepend=-1) > 0
    higher[1:] = np.diff(level[order]) > 0
    higher = np.cumsum(raised & (new_row | (higher > 0)))
    before = np.concatenate([[0], higher])[rows.starts[:-1]]
    number = np.empty(len(level), np.int64)
    number[order] = np.where(raised, higher - before[owner[order]], level[order])
    return Rows(rows.starts, rows.columns, number, rows.width)


def _groups(
    graph: PreferenceGraph, decomposition: Decomposition, document: int
) -> list[list[tuple[int, int, float]]]:
    """Decompose one graph; each edge with the logarithm of its weight."""
    edges = map(tuple, graph.pairs.tolist())
    weight = dict(zip(edges, np.log(graph.weights).tolist(), strict=True))
    try:
        groups = decompose(graph, decomposition)
    except Mistake as mistake:
        raise Mistake(f"Y, document {document}: {mistake}") from mistake
    for place, group in enumerate(groups):
        if not group:
            raise Mistake(
                f"Y, document {document}: the decomposition's group {place} has no "
                "edge: leave empty groups out"
            )
    return [[(u, v, weight.get((u, v), 0.0)) for u, v in group] for group in groups]


def _listed(groups: Mapping[int, list[list[tuple[int, int, float]]]], n: int) -> Listed:
    many = [len(groups.get(document, ())) for document in range(n)]
    every = [group for document in sorted(groups) for group in groups[document]]
    sizes = [len(group) for group in every]
    edges = np.array([edge for group in every for edge in group]).reshape(-1, 3)
    return Listed(
        np.concatenate([[0], np.cumsum(many)]).astype(np.int64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        edges[:, 0].astype(np.uint32),
        edges[:, 1].astype(np.uint32),
        edges[:, 2].astype(np.float64),
    )
