"""What a document teaches, by what was said of it and by the tree of categories."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from classmark.formats.records import THRESHOLD
from classmark.preferences.graph import Edge, PreferenceGraph, amended, with_threshold
from classmark.problems import refusal
from classmark.taxonomy.tree import Dummy, Taxonomy
from classmark.workbench.store.log import JudgedRecord

GRADES = ("equal", "layered")
Lesson = PreferenceGraph | list[int]


class TreeLayers:
    """How near categories are to those of a document, by the tree, in layers.

    tree : of categories;  count : of the layers: the right ones, their siblings, and
    on by distance, what is further in the last [DekelManningSinger03];  ranked : the
    categories that are ranked: inner ones of them are leaves of their own.
    """

    def __init__(self, tree: Taxonomy, count: int, ranked: Iterable[str]) -> None:
        self.tree, self.count = (
            tree.with_dummy_leaves(n for n in ranked if n in tree),
            count,
        )
        self._levels: dict[frozenset[str], dict[str, int]] = {}

    def levels(self, right: Iterable[str]) -> dict[str, int]:
        """Category → its level, by the right ones, which are at ``count`` − 1."""
        if (names := frozenset(right)) not in self._levels:
            leaves = (
                name if self.tree.is_leaf(name) else Dummy(name) for name in names
            )
            layers = self.tree.preference_layers(leaves, self.count)
            self._levels[names] = {
                str(node.of if isinstance(node, Dummy) else node): self.count
                - 1
                - place
                for place, layer in enumerate(layers)
                for node in layer
            }
        return self._levels[names]


def numbered_tree(rows: Mapping[int, Mapping[str, Any]]) -> Taxonomy:
    """The tree of the categories that stand, by their numbers; rows : of the store."""
    parents = {
        n: json.loads(row["parents"]) for n, row in rows.items() if row["stands"]
    }
    edges = [
        (str(parent), str(number))
        for number, listed in parents.items()
        for parent in listed
        if parent in parents
    ]
    return Taxonomy(edges, nodes=list(map(str, parents)))


def lesson(
    record: JudgedRecord,
    number: Mapping[str, int],
    grades: str = "equal",
    layers: TreeLayers | None = None,
    *,
    graphs: bool = True,
    thresholds: bool = False,
) -> Lesson | None:
    """What one document teaches: its label numbers, a graph, or nothing.

    Its labels stand above all other categories; one that an expert called primary
    above the other labels, and with ``grades`` "layered" one of a higher grade above
    one of a lower. What the expert is unsure of is compared with nothing. A rejected
    category is below the labels as all others are; where there is no label, below the
    threshold. An explicit preference is added; where it contradicts the labels, it
    replaces what they say of its two categories. A document set aside teaches nothing.
    number : of each category, from 0 to as many as there are;  layers : where the tree
    says which of the others are nearer, too: what is rejected is among the furthest,
    and a document with an explicit preference has no layers;  graphs : False for a
    learner that takes labels alone, which are then all that is taught;  thresholds :
    whether edges that are listed say of every category whether it belongs, as labels
    do.

    >>> from classmark.corpus.documents import Document
    >>> labels = {"a": 1.0, "b": 2.0}
    >>> record = JudgedRecord(Document("d", {}), labels, primary=frozenset("b"))
    >>> lesson(record, {"a": 0, "b": 1, "c": 2}).edges()
    [(0, 2), (1, 0), (1, 2)]
    """
    if grades not in GRADES:
        raise refusal(
            "grades is %(grades)r: use %(grades2)s",
            grades=grades,
            grades2=" or ".join(GRADES),
        )
    if not teaches(record, graphs=graphs):
        return None
    if not graphs:
        return sorted(number[name] for name in record.labels)

    def item(name: str) -> int:
        is_category = name != THRESHOLD or name in number
        return number[name] if is_category else len(number)

    preferred = record.preferences.items()
    edges: dict[Edge, float] = {(item(u), item(v)): w for (u, v), w in preferred}
    if not record.labels:
        listed = [(len(number), number[name]) for name in sorted(record.rejected)]
        graph = PreferenceGraph(len(number), listed, thresholds=bool(listed))
        return amended(graph, edges)
    taught = _layered(record, number, grades, layers, edges=bool(edges))
    if isinstance(taught, list):
        return taught
    return amended(with_threshold(taught) if thresholds and edges else taught, edges)


def _layered(
    record: JudgedRecord,
    number: Mapping[str, int],
    grades: str,
    layers: TreeLayers | None,
    *,
    edges: bool,
) -> Lesson:
    """Labels by their grades above what is near them above the rest.

    edges : whether some are added, and so none of the layers are made.
    """
    layers = None if edges else layers
    keys = {  # called primary or not first, then by grade if it counts
        name: (name in record.primary, grades == "layered" and grade)
        for name, grade in record.labels.items()
    }
    ranks = sorted(set(keys.values()))
    if not edges and not record.unsure and len(ranks) == 1 and layers is None:
        return sorted(number[name] for name in record.labels)
    levels, floor = np.zeros(len(number), np.int64), 0
    if layers is not None:
        floor = layers.count - 2
        near = layers.levels(record.labels)
        for name in near.keys() & number.keys() - record.rejected:
            levels[number[name]] = near[name]
    for name, key in keys.items():
        levels[number[name]] = floor + 1 + ranks.index(key)
    levels[[number[name] for name in record.unsure if name in number]] = -1
    return PreferenceGraph(len(number), levels=levels, floor=floor)


def taught(
    records: Sequence[JudgedRecord],
    number: Mapping[str, int],
    grades: str = "equal",
    layers: TreeLayers | None = None,
    *,
    thresholds: bool = False,
) -> list[PreferenceGraph] | None:
    """The lessons of documents as graphs, or None where all are labels alone."""
    lessons = [
        lesson(record, number, grades, layers, thresholds=thresholds)
        for record in records
    ]
    if not any(isinstance(each, PreferenceGraph) for each in lessons):
        return None
    return [
        each
        if isinstance(each, PreferenceGraph)
        else PreferenceGraph.multilabel(len(number), each or ())
        for each in lessons
    ]


def teaches(record: JudgedRecord, *, graphs: bool = True) -> bool:
    """Whether there is a lesson in it, for a learner that takes graphs or labels."""
    if record.aside:
        return False
    return bool(record.labels or (graphs and (record.preferences or record.rejected)))


def spoken_of(record: JudgedRecord) -> set[str]:
    """The categories its lesson must name."""
    names = {*record.labels, *(n for pair in record.preferences for n in pair)}
    names -= {THRESHOLD} - record.labels.keys()
    return names if record.labels else names | record.rejected
