"""Bring documents, labels and taxonomies into a project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.formats import read_records
from classmark.formats.taxonomy_files import read_categories
from classmark.problems import Mistake
from classmark.taxonomy.category import Category, taxonomy_of
from classmark.workbench.project import whoami
from classmark.workbench.store import Act
from classmark.workbench.views import Table

if TYPE_CHECKING:
    from classmark.formats.record import Record
    from classmark.workbench.project import Project

BATCH = 1000


def import_documents(project: Project, path: Path, format_: str | None = None) -> Table:
    """Read a file or folder of documents; labels go to the judgment log.

    All of it is imported, or, when the file cannot be read to its end, nothing.
    """
    return import_records(project, read_records(path, format_), str(path))


def import_records(project: Project, records: Iterable[Record], source: str) -> Table:
    """Add records; categories that no taxonomy named are added, and told."""
    documents = judgments = 0
    fresh: list[str] = []
    with project.store.transaction():
        known = {category.id for category in project.store.categories()}
        before = project.store.labels()
        for batch in _batches(records):
            new = _unknown(batch, known)
            project.store.put_categories(Category(name) for name in new)
            known |= set(new)
            fresh += new
            documents += project.store.put_documents(batch)
            acts = [act for record in batch for act in _changes(record, before)]
            judgments += len(project.store.judge(acts, f"{whoami()} (import)"))
        project.store.note_event("imported", whoami(), source=source, count=documents)
    shown = ", ".join(fresh[:5]) + (" …" if len(fresh) > 5 else "")
    row = {
        "documents": documents,
        "judgments": judgments,
        "new categories": len(fresh),
    }
    note = f"categories added because a label named them: {shown}" if fresh else ""
    return Table(f"Imported {source}", [row], note)


def import_taxonomy(project: Project, path: Path, format_: str | None = None) -> Table:
    """Read a taxonomy file; known ids are replaced, none is removed."""
    return put_taxonomy(project, read_categories(path, format_), str(path))


def put_taxonomy(project: Project, categories: list[Category], source: str) -> Table:
    """Add categories after checking that the whole is still a taxonomy."""
    with project.store.transaction():
        together = {category.id: category for category in project.store.categories()}
        together |= {category.id: category for category in categories}
        tree = taxonomy_of(together.values())
        project.store.put_categories(categories)
        project.store.note_event(
            "taxonomy imported", whoami(), source=source, count=len(categories)
        )
    row = {
        "categories": len(together),
        "leaves": len(tree.leaves),
        "levels": tree.depth + 1 if together else 0,
    }
    return Table(f"Taxonomy from {source}", [row])


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    stream = iter(records)
    while batch := list(islice(stream, BATCH)):
        yield batch


def _unknown(records: Iterable[Record], known: set[str]) -> list[str]:
    names = [name for record in records for name in record.labels if name not in known]
    empty = [name for name in names if not name.strip()]
    if empty:
        raise Mistake("a label has no name: remove it from the file")
    return list(dict.fromkeys(names))


def _changes(
    record: Record, before: Mapping[str, Mapping[str, float]]
) -> Iterator[Act]:
    """What the log must say so that the document's labels are the record's.

    A record without labels says nothing and changes nothing.
    """
    had = before.get(record.id, {})
    if not record.labels:
        return
    for name, grade in record.labels.items():
        if had.get(name) != grade:
            yield Act(record.id, "assign", name, grade)
    for name in had:
        if name not in record.labels:
            yield Act(record.id, "remove", name)
