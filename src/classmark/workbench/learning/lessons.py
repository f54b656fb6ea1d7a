"""What documents teach: texts with labels or preferences, as learners take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from classmark.preferences.graph import Edge, PreferenceGraph, amended
from classmark.problems import Mistake
from classmark.taxonomy.category import ACTIVE, Category, taxonomy_of
from classmark.workbench.store.log import JudgedRecord

if TYPE_CHECKING:
    from classmark.evaluation.evaluate import LabelledTexts
    from classmark.formats.records import Record
    from classmark.rankers.linear import LinearRanker
    from classmark.workbench.project import Project


GRADES = ("equal", "layered")
Lesson = PreferenceGraph | list[int]


def lesson(
    record: Record, number: Mapping[str, int], grades: str = "equal"
) -> Lesson | None:
    """What one document teaches: its label numbers, a graph, or nothing.

    Its labels stand above all other categories; one that an expert called primary
    above the other labels, and with ``grades`` "layered" one of a higher grade above
    one of a lower. What the expert is unsure of is compared with nothing. A rejected
    category is below the labels as all others are; where there is no label, below the
    threshold. An explicit preference is added; where it contradicts the labels, it
    replaces what they say of its two categories. A document set aside teaches nothing.
    number : of each category, from 0 to as many as there are.

    >>> from classmark.corpus.documents import Document
    >>> labels = {"a": 1.0, "b": 2.0}
    >>> record = JudgedRecord(Document("d", {}), labels, primary=frozenset("b"))
    >>> lesson(record, {"a": 0, "b": 1, "c": 2}).edges()
    [(0, 2), (1, 0), (1, 2)]
    """
    if grades not in GRADES:
        raise Mistake(f"grades is {grades!r}: use {' or '.join(GRADES)}")
    if not teaches(record):
        return None
    judged = _judged(record)
    edges: dict[Edge, float] = {
        (number[winner], number[loser]): weight
        for (winner, loser), weight in record.preferences.items()
    }
    if not record.labels:
        listed = [(len(number), number[name]) for name in sorted(judged.rejected)]
        graph = PreferenceGraph(len(number), listed, thresholds=bool(listed))
        return amended(graph, edges)
    ranks = _ranks(record.labels, judged.primary, layered=grades == "layered")
    if not edges and not judged.unsure and max(ranks.values()) == 1:
        return sorted(number[name] for name in record.labels)
    levels = np.zeros(len(number), np.int64)
    for name, rank in ranks.items():
        levels[number[name]] = rank
    levels[[number[name] for name in judged.unsure if name in number]] = -1
    return amended(PreferenceGraph(len(number), levels=levels), edges)


def taught(
    records: Sequence[Record], number: Mapping[str, int], grades: str = "equal"
) -> list[PreferenceGraph] | None:
    """The lessons of documents as graphs, or None where all are labels alone."""
    lessons = [lesson(record, number, grades) for record in records]
    if not any(isinstance(each, PreferenceGraph) for each in lessons):
        return None
    return [
        each
        if isinstance(each, PreferenceGraph)
        else PreferenceGraph.multilabel(len(number), each or ())
        for each in lessons
    ]


def teaches(record: Record, *, graphs: bool = True) -> bool:
    """Whether there is a lesson in it, for a learner that takes graphs or labels."""
    judged = _judged(record)
    if judged.aside:
        return False
    return bool(record.labels or (graphs and (record.preferences or judged.rejected)))


def spoken_of(record: Record) -> set[str]:
    """The categories its lesson must name."""
    names = {*record.labels, *(n for pair in record.preferences for n in pair)}
    return names if record.labels else names | _judged(record).rejected


def _judged(record: Record) -> JudgedRecord:
    return record if isinstance(record, JudgedRecord) else JudgedRecord(record.document)


def _ranks(
    labels: Mapping[str, float], primary: frozenset[str], *, layered: bool
) -> dict[str, int]:
    """Label → 1, 2, …: called primary or not first, then by grade if it counts."""
    keys = {
        name: (name in primary, grade if layered else 0.0)
        for name, grade in labels.items()
    }
    order = {key: place for place, key in enumerate(sorted(set(keys.values())), 1)}
    return {name: order[key] for name, key in keys.items()}


TEST = "test"


def labelled(project: Project) -> list[Record]:
    """Documents with at least one label that are not set aside."""
    records = project.store.records()
    return [record for record in records if record.labels and teaches(record)]


def to_learn_from(
    records: Iterable[JudgedRecord], ranker: LinearRanker
) -> list[JudgedRecord]:
    """Documents the ranker can learn from: labels, preferences, or rejections alone.

    Those set apart for testing are left out.
    """
    training = (record for record in records if part_of(record) != TEST)
    if not ranker.takes_thresholds:
        training = (replace(record, rejected=frozenset()) for record in training)
    return [
        record for record in training if teaches(record, graphs=ranker.takes_graphs)
    ]


def part_of(record: Record) -> str:
    """The part of a split a document was set apart for, or nothing."""
    return record.meta.get("part", "")


def collected(
    project: Project,
    records: Sequence[Record],
    grades: str = "equal",
    categories: Sequence[Category] | None = None,
) -> LabelledTexts:
    """Texts and label numbers; every leaf is a category, and every label in use."""
    from classmark.evaluation.evaluate import LabelledTexts

    categories = project.store.categories() if categories is None else categories
    used = {name for record in records for name in spoken_of(record)}
    leaves = set(taxonomy_of(categories).leaves)
    names = [
        category.id
        for category in categories
        if category.id in used or (category.id in leaves and category.status == ACTIVE)
    ]
    number = {name: number for number, name in enumerate(names)}
    return LabelledTexts(
        [project.text_of(record) for record in records],
        [sorted(number[name] for name in record.labels) for record in records],
        names,
        taught(records, number, grades),
    )
