"""What does one document teach? Labels, grades or a graph, as a ``Lesson``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array
from classmark.judgments.labels import labels_from
from classmark.preferences.graph import PreferenceGraph
from classmark.preferences.groups import weighted_groups
from classmark.preferences.levels import (
    are_layered,
    checked_graphs,
    graphs_from,
    is_graphs,
)
from classmark.rankers.duals import Mapping, decompositions
from classmark.solvers.live.lesson import Lesson
from classmark.sparse import Rows

Words = tuple[NDArray[np.uint32], Array]


Said = Rows | Sequence[PreferenceGraph]


def said_of(Y: Any, n_documents: int, mapping: Mapping, known: int = 0) -> Said:
    """Labels or grades as Rows, graphs as graphs: checked, before any is learned.

    known : labels there are already. A mapping that is a function needs graphs.
    """
    if is_graphs(Y):
        decompositions(mapping)
        return checked_graphs(Y, n_documents, thresholds=True)
    labels = labels_from(Y, n_documents)
    if not callable(mapping):
        return labels
    width = max(labels.width, known)
    return graphs_from(Rows(labels.starts, labels.columns, labels.values, width))


def width_of(said: Said) -> int:
    """How many labels are spoken of."""
    if isinstance(said, Rows):
        return said.width
    return said[0].n_labels if len(said) else 0


def lessons_from(rows: Rows, said: Said, mapping: Mapping) -> Iterator[Lesson]:
    """A lesson per document."""
    for i in range(len(rows)):
        if isinstance(said, Rows):
            listed, grades = said.row(i)
            yield Lesson(*rows.row(i), listed, _by_order(grades))
        else:
            yield lesson_of(rows.row(i), said[i], mapping)


def lesson_of(words: Words, graph: PreferenceGraph, mapping: Mapping) -> Lesson:
    """What a graph teaches: layers where it has them, else groups of its edges."""
    if graph.levels is not None and are_layered([graph]) and not callable(mapping):
        labels = np.flatnonzero(graph.levels).astype(np.uint32)
        return Lesson(*words, labels, graph.levels[labels].astype(np.float32))
    groups, weights = weighted_groups(
        graph, decompositions(mapping), np.ones(graph.n_labels)
    )
    last = graph.n_labels  # the threshold, which lessons call −1
    named = [
        [(-1 if u == last else u, -1 if v == last else v) for u, v in group]
        for group in groups
    ]
    items = {item for group in named for edge in group for item in edge} - {-1}
    return Lesson(
        *words,
        np.array(sorted(items), np.uint32),
        np.zeros(len(items), np.float32),
        named,
        tuple(weights),
    )


def _by_order(grades: Array) -> NDArray[np.float32]:
    """Levels 1, 2, … by the order of the grades within the document."""
    if len(grades) < 2:
        return np.ones(len(grades), np.float32)
    return (np.searchsorted(np.unique(grades), grades) + 1).astype(np.float32)
