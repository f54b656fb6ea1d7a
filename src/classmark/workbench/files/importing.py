"""Bring documents, labels and taxonomies into a project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.formats import read_records
from classmark.formats.preferences import (
    Preference,
    is_preferences,
    numbered_preferences,
)
from classmark.formats.taxonomies import read_categories
from classmark.formats.text_files import Place
from classmark.problems import Mistake
from classmark.progress import track
from classmark.taxonomy.category import Category, taxonomy_of
from classmark.workbench.results import Table
from classmark.workbench.store.log import whoami
from classmark.workbench.store.store import Act

if TYPE_CHECKING:
    from classmark.formats.records import Record
    from classmark.workbench.project import Project


BATCH, PART, LETTERS = 1000, 200, 4_000_000
PREFERENCES = "preferences"
Turn = Callable[[], AbstractContextManager[object]]


def import_documents(project: Project, path: Path, format_: str | None = None) -> Table:
    """Read a file or folder of documents; labels go to the judgment log.

    All of it is imported, or, when the file cannot be read to its end, nothing.
    """
    if format_ == PREFERENCES or (format_ is None and is_preferences(path)):
        return import_preferences(project, path)
    return import_records(project, read_records(path, format_), str(path))


def import_preferences(project: Project, path: Path, who: str = "") -> Table:
    """Read «document, winner, loser[, weight]»; all of it is logged, or nothing.

    Documents and categories must be there. A pair compared before is compared anew.
    """
    store, acts, documents, count = project.store, [], set(), 0
    who = who or whoami()
    with store.transaction():
        known = {category.id for category in store.categories()}
        ids, before = store.ids(), store.preferences()
        for line, said in track(numbered_preferences(path), f"reading {path}"):
            _require_known(said, ids, known, Place(str(path), line))
            documents.add(said.document)
            count += 1
            pair = (said.winner, said.loser)
            if before.get(said.document, {}).get(pair) != said.weight:
                acts.append(prefer(said.document, *pair, said.weight))
        logged = len(store.judge(acts, f"{who} (import)"))
        store.note_event("preferences imported", who, source=str(path), count=count)
    row = {"preferences": count, "documents": len(documents), "judgments": logged}
    return Table(f"Imported {path}", [row])


def prefer(document: str, winner: str, loser: str, weight: float = 1.0) -> Act:
    """The act of saying that one category should stand above another."""
    return Act(document, "prefer", winner, weight, other=loser)


def import_records(
    project: Project,
    records: Iterable[Record],
    source: str,
    who: str = "",
    turn: Turn | None = None,
) -> Table:
    """Add records; categories that no taxonomy named are added, and told.

    turn : begins a transaction of ``project``, for each batch anew, so that others
    write in between; None: one for all, which are imported together or not at all.
    """
    who, whole = who or whoami(), turn is None
    turn = turn or project.store.transaction
    documents = judgments = 0
    fresh: list[str] = []
    with turn() if whole else nullcontext():
        known = {category.id for category in project.store.categories()}
        before = (project.store.labels(), project.store.preferences())
        for batch in _batches(records, BATCH if whole else PART):
            with turn():
                new = _unknown(batch, known)
                project.store.put_categories(Category(name) for name in new)
                known |= set(new)
                fresh += new
                documents += project.store.put_documents(batch)
                acts = [act for record in batch for act in _changes(record, *before)]
                judgments += len(project.store.judge(acts, f"{who} (import)"))
        with turn():
            project.store.note_event("imported", who, source=source, count=documents)
    return _imported(source, documents, judgments, fresh)


def _imported(source: str, documents: int, judgments: int, fresh: list[str]) -> Table:
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


def put_taxonomy(
    project: Project, categories: list[Category], source: str, who: str = ""
) -> Table:
    """Add categories after checking that the whole is still a taxonomy."""
    with project.store.transaction():
        together = {category.id: category for category in project.store.categories()}
        together |= {category.id: category for category in categories}
        tree = taxonomy_of(together.values())
        project.store.put_categories(categories)
        project.store.note_event(
            "taxonomy imported", who or whoami(), source=source, count=len(categories)
        )
    row = {
        "categories": len(together),
        "leaves": len(tree.leaves),
        "levels": tree.depth + 1 if together else 0,
    }
    return Table(f"Taxonomy from {source}", [row])


def _batches(records: Iterable[Record], most: int) -> Iterator[list[Record]]:
    """Part records into batches: so many, or fewer where they are long."""
    batch: list[Record] = []
    size = 0
    for record in records:
        batch.append(record)
        size += sum(map(len, record.document.fields.values()))
        if len(batch) >= most or size >= LETTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _unknown(records: Iterable[Record], known: set[str]) -> list[str]:
    names = [
        name
        for record in records
        for name in (*record.labels, *chain.from_iterable(record.preferences))
        if name not in known
    ]
    empty = [name for name in names if not name.strip()]
    if empty:
        raise Mistake("a label has no name: remove it from the file")
    return list(dict.fromkeys(names))


def _require_known(
    said: Preference, ids: set[str], categories: set[str], place: Place
) -> None:
    if said.document not in ids:
        place.refuse(
            f"there is no document {said.document!r} in the project: import it first"
        )
    for name in (said.winner, said.loser):
        if name not in categories:
            place.refuse(
                f"document {said.document!r}: there is no category {name!r}: correct "
                "its id, or import its taxonomy first"
            )


def _changes(
    record: Record,
    labels: Mapping[str, Mapping[str, float]],
    preferences: Mapping[str, Mapping[tuple[str, str], float]],
) -> Iterator[Act]:
    """What the log must say so that it says of the document what the record says.

    A record without labels says nothing of labels, and one without preferences says
    nothing of preferences.
    """
    if record.labels:
        yield from _labelled_anew(record, labels.get(record.id, {}))
    if record.preferences:
        yield from _preferred_anew(record, preferences.get(record.id, {}))


def _labelled_anew(record: Record, had: Mapping[str, float]) -> Iterator[Act]:
    for name, grade in record.labels.items():
        if had.get(name) != grade:
            yield Act(record.id, "assign", name, grade)
    for name in had:
        if name not in record.labels:
            yield Act(record.id, "remove", name)


def _preferred_anew(
    record: Record, had: Mapping[tuple[str, str], float]
) -> Iterator[Act]:
    said = record.preferences
    for pair, weight in said.items():
        if had.get(pair) != weight:
            yield prefer(record.id, *pair, weight)
    for winner, loser in had:
        if (winner, loser) not in said and (loser, winner) not in said:
            yield Act(record.id, "retract", winner, other=loser)
