"""Which documents can be learned from, and what do they teach?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from classmark.taxonomy.category import ACTIVE, Category, taxonomy_of
from classmark.workbench.supervising import spoken_of, taught, teaches

if TYPE_CHECKING:
    from classmark.evaluation.evaluate import LabelledTexts
    from classmark.formats.records import Record
    from classmark.rankers.linear import LinearRanker
    from classmark.workbench.judged import Judged
    from classmark.workbench.project import Project

TEST = "test"


def text_of(project: Project, record: Record) -> str:
    """The text that is learned from: the chosen fields, or all."""
    wanted = project.settings.text.fields
    if not wanted:
        return record.document.text
    fields = record.document.fields
    return "\n".join(fields[name] for name in wanted if fields.get(name))


def labelled(project: Project) -> list[Record]:
    """Documents with at least one label that are not set aside."""
    records = project.store.records()
    return [record for record in records if record.labels and teaches(record)]


def to_learn_from(records: Iterable[Judged], ranker: LinearRanker) -> list[Judged]:
    """Documents the ranker can learn from: labels, preferences, or rejections alone.

    Those set apart for testing are left out.
    """
    able = getattr(ranker, "mapping", "svm") != "svm"
    none: dict[str, Any] = {} if able else {"rejected": frozenset()}
    given = (replace(r, **none) for r in records if part_of(r) != TEST)
    return [r for r in given if teaches(r, graphs=ranker.takes_graphs)]


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

    known = project.store.categories() if categories is None else categories
    used = {name for record in records for name in spoken_of(record)}
    leaves = set(taxonomy_of(known).leaves)
    names = [
        c.id for c in known if c.id in used or (c.id in leaves and c.status == ACTIVE)
    ]
    number = {name: index for index, name in enumerate(names)}
    return LabelledTexts(
        [text_of(project, record) for record in records],
        [sorted(number[name] for name in record.labels) for record in records],
        names,
        taught(records, names, grades),
    )
