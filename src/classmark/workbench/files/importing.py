"""Bring documents, labels and taxonomies into a project."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Container,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classmark.formats import ROW_FORMATS, guess_format, read_records, some_of
from classmark.formats.columns import RowFile, layout_of, open_rows
from classmark.formats.preferences import is_preferences, numbered_preferences
from classmark.formats.records import THRESHOLD, Record
from classmark.formats.rows import SOURCES, Layout, LeftOut, source_of
from classmark.formats.taxonomies import is_taxonomy_header, read_categories
from classmark.formats.text_files import FilePlace
from classmark.problems import Mistake, UnreadableFile, worded
from classmark.progress import remarks, track
from classmark.taxonomy.tree import Category, taxonomy_of
from classmark.workbench import meaning as vectors
from classmark.workbench.results import Table
from classmark.workbench.store.log import IMPORT, Act, whoami
from classmark.workbench.store.store import Store, contents_of

__all__ = ["Layout", "layout_of"]  # for the skins

if TYPE_CHECKING:
    from classmark.workbench.project import Project


BATCH, PART, LETTERS = 1000, 200, 4_000_000
PREFERENCES = "preferences"
SHOWN_EDGES = 10  # that were cut from a graph
Turn = Callable[[], AbstractContextManager[object]]


class Comparison:
    """How records stand to what a project has: new, replaced or unchanged.

    A document is replaced where its contents would be others, or where labels or
    preferences that stand would be taken back.

    counts : how many of each;  first : the ids of some that would be replaced.
    """

    def __init__(self, store: Store) -> None:
        self.store, self.counts = store, {"new": 0, "replaced": 0, "unchanged": 0}
        self.labels, self.preferences = store.labels(), store.preferences()
        self.first: list[str] = []

    def add(self, batch: list[Record]) -> list[Record]:
        """Count a batch; return the records whose contents the project has not."""
        present = self.store.contents([record.id for record in batch])
        others = [r for r in batch if present.get(r.id) != contents_of(r)]
        differing = {record.id for record in others}
        for record in batch:
            if record.id not in present:
                self.counts["new"] += 1
            elif record.id in differing or self._takes_back(record):
                self.counts["replaced"] += 1
                self.first += [record.id] if len(self.first) < 3 else []
            else:
                self.counts["unchanged"] += 1
        return others

    def _takes_back(self, record: Record) -> bool:
        """Whether something stands that the record, which speaks of it, says not."""
        labels = self.labels.get(record.id, {})
        weights = self.preferences.get(record.id, {})
        return bool(
            (record.labels and not labels.items() <= record.labels.items())
            or (
                record.preferences and not weights.items() <= record.preferences.items()
            )
        )

    def require_none_replaced(self, source: str, *, whole: bool) -> None:
        """Refuse to replace documents that somebody may still need.

        whole : whether nothing of the source is here yet.
        """
        if replaced := self.counts["replaced"]:
            listed = ", ".join(map(repr, self.first))
            more = " …" if replaced > len(self.first) else ""
            much = "nothing was imported" if whole else "the import ended before them"
            raise Mistake(
                f"{source}: {replaced:,} of {sum(self.counts.values()):,} documents "
                f"are here under the same id with other contents or labels ({listed}"
                f"{more}), so {much}: {worded('say --replace')} if they are to be "
                "replaced, or give other documents ids of their own"
            )


def compare(project: Project, records: Iterable[Record], source: str) -> Comparison:
    """Say what an import would do, without importing."""
    comparison = Comparison(project.store)
    own = vectors.OwnVectorsImport(project, source)
    for batch in _batches(records, BATCH):
        comparison.add(batch)
        own.require_length(batch)
    return comparison


def import_documents(
    project: Project,
    path: Path,
    format_: str | None = None,
    layout: Layout | None = None,
    *,
    replace: bool = False,
    act: ImportAct | None = None,
) -> Table:
    """Read a file or folder of documents; labels go to the judgment log.

    layout : how its columns are read; what it does not say is as in the last import of
    such columns, or guessed. All of it is imported, or, when the file cannot be read to
    its end, nothing.
    """
    if format_ == PREFERENCES or (format_ is None and is_preferences(path)):
        return import_preferences(project, path)
    format_ = format_ or likely_format(path)
    if format_ not in ROW_FORMATS:
        if layout not in (None, Layout()):
            raise Mistake(f"{path}: {format_} has no columns to be named: leave them")
        records = read_records(path, format_)
        table = import_records(project, records, str(path), replace=replace, act=act)
        return append_note(table, vectors.computed_after_import(project))
    file = open_columns(project, path, format_, layout)
    left_out = LeftOut() if file.layout.skip else None
    records = some_of(track(file.read(left_out), f"reading {path}"), path)
    table = import_records(
        project, records, str(path), replace=replace, layout=file.layout, act=act
    )
    for note in (f"read as {file.described()}", *rows_left_out(left_out)):
        table = append_note(table, note)
    return append_note(table, vectors.computed_after_import(project))


def import_files(
    project: Project,
    paths: Sequence[Path],
    format_: str | None = None,
    layout: Layout | None = None,
    *,
    replace: bool = False,
) -> Table:
    """Import several files or folders: all of them, as one act, or nothing."""
    named = str(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
    with project.store.transaction():
        act = ImportAct(project.store, named, whoami())
        tables = [
            import_documents(project, path, format_, layout, replace=replace, act=act)
            for path in paths
        ]
    return _joined(tables)


def _joined(tables: list[Table]) -> Table:
    if len(tables) == 1:
        return tables[0]
    named = [table.title.partition(" ")[2] for table in tables]
    rows = [
        {"file": name, **row}
        for name, table in zip(named, tables, strict=True)
        for row in table.rows
    ]
    notes = [
        f"{name}: {line}"
        for name, table in zip(named, tables, strict=True)
        for line in table.note.split("\n")
        if line
    ]
    return Table(f"Imported {len(tables)} files", rows, "\n".join(notes))


def preview_files(
    project: Project,
    paths: Sequence[Path],
    format_: str | None = None,
    layout: Layout | None = None,
) -> Table:
    """What each column of files of rows would be taken for; nothing is imported."""
    tables = []
    for path in paths:
        kind = format_ or likely_format(path)
        if kind not in ROW_FORMATS:
            raise Mistake(f"{path}: {kind} has no columns: import it as it is")
        file = open_columns(project, path, kind, layout)
        rows = [
            {"column": c.name, "holds": c.role or "?", "first": " · ".join(c.examples)}
            for c in file.columns
        ]
        left_out = LeftOut()
        notes = [f"read as {file.described()}"]
        if not file.unclear:
            counts = compare(project, file.read(left_out), str(path)).counts
            notes.append(", ".join(f"{n:,} {what}" for what, n in counts.items()))
        notes += [
            note.replace("rows left out", "rows that cannot be read")
            for note in rows_left_out(left_out)
        ]
        tables.append(Table(f"Preview of {path}", rows, "\n".join(notes)))
    return _joined(tables)


def open_columns(
    project: Project,
    path: Path,
    format_: str,
    layout: Layout | None = None,
    name: str = "",
) -> RowFile:
    """Open a file of rows; roles nobody says are those of the last such import.

    Such an import had the same columns. A table of categories is refused.
    """
    kind = format_ if format_ in SOURCES else ""
    file = open_rows(path, kind, layout, name)
    columns = [column.name for column in file.columns]
    if is_taxonomy_header(columns):
        remedy = worded("run classmark taxonomy import {file}", file=name or path)
        raise UnreadableFile(
            name or path, None, f"its columns are those of a taxonomy: {remedy}"
        )
    if layout is None or not layout.columns:
        before = project.store.last_event("imported", columns=sorted(columns))
        if roles := before.get("layout", {}).get("columns"):
            asked = replace(
                layout or Layout(),
                columns=roles,
                separator=(layout and layout.separator)
                or before["layout"]["separator"],
            )
            file = open_rows(path, kind, asked, name)
    return file


def rows_left_out(left_out: LeftOut | None) -> list[str]:
    """How many rows were left out, and the first of them, in words."""
    if left_out is None or not left_out.count:
        return []
    more = " …" if left_out.count > len(left_out.first) else ""
    return [f"rows left out: {left_out.count:,} ({'; '.join(left_out.first)}{more})"]


def likely_format(path: Path) -> str:
    """The format of a file, as ``guess_format`` says; a .txt file is one document."""
    if path.is_file() and source_of(path.name) == "txt":
        return "txt"
    return guess_format(path)


def append_note(table: Table, note: str) -> Table:
    """A table with one more note below it."""
    return replace(table, note="\n".join(filter(None, (table.note, note))))


def import_preferences(project: Project, path: Path, who: str = "") -> Table:
    """Read «document, winner, loser[, weight]»; all of it is logged, or nothing.

    Documents and categories must be there; the word ``threshold`` may stand in the
    place of a category. A pair compared before is compared anew.
    """
    store, documents, count = project.store, set[str](), 0
    acts: list[Act] = []
    who = who or whoami()
    with store.transaction():
        categories = {category.id for category in store.categories()}
        ids, before = store.ids(), store.preferences()
        for line, preference in track(numbered_preferences(path), f"reading {path}"):
            document, winner, loser, weight = preference
            place = FilePlace(str(path), line)
            if document not in ids:
                place.refuse(
                    f"there is no document {document!r} in the project: import it first"
                )
            for name in (winner, loser):
                if name not in categories and name != THRESHOLD:
                    place.refuse(
                        f"document {document!r}: there is no category {name!r}: "
                        "correct its id, or import its taxonomy first"
                    )
            documents.add(document)
            count += 1
            if before.get(document, {}).get((winner, loser)) != weight:
                acts.append(prefer(document, winner, loser, weight))
        logged = ImportAct(store, str(path), who).judge(acts)
        store.note_event("preferences imported", who, source=str(path), count=count)
    row = {"preferences": count, "documents": len(documents), "judgments": logged}
    return Table(f"Imported {path}", [row])


def prefer(document: str, winner: str, loser: str, weight: float = 1.0) -> Act:
    """The act of saying that one category should stand above another."""
    return Act(document, "prefer", winner, weight, other=loser)


class ImportAct:
    """The act that all of an import is within, so that it is undone as one.

    It is logged when something is first imported: what changes nothing is no act.
    """

    def __init__(self, store: Store, source: str, who: str) -> None:
        self.store, self.source, self.who = store, source, f"{who} (import)"
        self.logged: int | None = None

    @property
    def number(self) -> int:
        """Its number in the log."""
        if self.logged is None:
            self.logged = self.store.append(
                Act(None, IMPORT, note=self.source), self.who
            )
        return self.logged

    def judge(self, acts: Iterable[Act]) -> int:
        """Log acts within it; return how many."""
        listed = list(acts)
        within = self.number if listed else None
        parts = (act._replace(within=within) for act in listed)
        return len(self.store.judge(parts, self.who))


def import_records(  # noqa: PLR0913 (what a page and a command say)
    project: Project,
    records: Iterable[Record],
    source: str,
    who: str = "",
    turn: Turn | None = None,
    *,
    replace: bool = False,
    layout: Layout | None = None,
    act: ImportAct | None = None,
) -> Table:
    """Add records; categories that no taxonomy named are added, and told.

    turn : begins a transaction of ``project``, for each batch anew, so that others
    write in between; None: one for all, which are imported together or not at all;
    replace : documents that are here may be replaced;  layout : how they were read,
    which is remembered;  act : of the import that this is a part of.
    """
    who, whole, store = who or whoami(), turn is None, project.store
    turn = turn or store.transaction
    act = act or ImportAct(store, source, who)
    with remarks() as notes, turn() if whole else nullcontext():
        importer = _Importer(project, source, act)
        for batch in _batches(records, BATCH if whole else PART):
            with turn():
                done = importer.take(batch, replace=replace)
            if not done and not whole:
                break  # else they are all counted
        before = importer.before
        if not replace:
            before.require_none_replaced(source, whole=whole)
        with turn():
            store.note_event("imported", who, **importer.detail(layout))
    row = {"documents": sum(before.counts.values()), **before.counts}
    row |= {"judgments": importer.judgments, "new categories": len(importer.added)}
    note = "\n".join([*notes, *importer.notes()])
    return Table(f"Imported {source}", [row], note)


class _Importer:
    """Puts batches of records into a project, within an act.

    judgments : how many were logged;  added : the categories that labels named first.
    """

    def __init__(self, project: Project, source: str, act: ImportAct) -> None:
        self.store, self.source, self.act = project.store, source, act
        self.categories = {category.id for category in self.store.categories()}
        self.before = Comparison(self.store)
        self.own_vectors = vectors.OwnVectorsImport(project, source)
        self.judgments, self.added = 0, list[str]()

    def take(self, batch: list[Record], *, replace: bool) -> bool:
        """Put a batch; False, and nothing is put, where documents would be replaced."""
        act, contents = self.act, self.before.add(batch)
        if self.before.first and not replace:
            return False
        if missing := _missing_categories(batch, self.categories):
            self.store.put_categories(map(Category, missing), act.who, act.number)
            self.categories.update(missing)
            self.added += missing
        if contents:
            self.store.put_documents(contents, act.who, act.number)
        self.own_vectors.add(batch)
        self.judgments += act.judge(
            change for record in batch for change in _changes(record, self.before)
        )
        return True

    def detail(self, layout: Layout | None) -> dict[str, Any]:
        """What the event of the import says."""
        counts = self.before.counts
        detail: dict[str, Any] = {"source": self.source, "count": sum(counts.values())}
        if self.act.logged is not None:
            detail["act"] = self.act.logged
        if layout is not None:
            detail |= {"columns": sorted(layout.columns), "layout": asdict(layout)}
        return detail | counts

    def notes(self) -> list[str]:
        """What is to be told beside the counts."""
        told = [*_named(self.added), *self.own_vectors.notes]
        if (number := self.act.logged) is not None:
            told.append(worded("undo it with: classmark undo {number}", number=number))
        return told


def _named(added: list[str]) -> list[str]:
    """Which categories were added, in words; of many the first."""
    listed = ", ".join(added[:5]) + (" …" if len(added) > 5 else "")
    return [f"categories added because a label named them: {listed}"] if added else []


def import_taxonomy(
    project: Project,
    path: Path,
    format_: str | None = None,
    *,
    cut: list[tuple[str, str]] | None = None,
) -> Table:
    """Read a taxonomy file; known ids are replaced, none is removed.

    cut : a list for the (parent, child) pairs that close cycles; None refuses cycles.
    """
    categories = read_categories(path, format_, cut=cut)
    table = put_taxonomy(project, categories, str(path))
    return table if cut is None else replace(table, note=_edges_cut(cut))


def put_taxonomy(
    project: Project, categories: list[Category], source: str, who: str = ""
) -> Table:
    """Add categories after checking that the whole is still a taxonomy."""
    store, who = project.store, who or whoami()
    with store.transaction():
        before = {c.id: c for c in store.categories()}
        together = before | {c.id: c for c in categories}
        tree = taxonomy_of(together.values())
        store.put_categories(categories)
        after = store.categories()
        store.note_event("taxonomy imported", who, source=source, count=len(categories))
    row = {
        "categories": len(together),
        "new": sum(category.id not in before for category in after),
        "changed": sum(before.get(each.id, each) != each for each in after),
        "leaves": len(tree.leaves),
        "levels": tree.depth + 1 if together else 0,
    }
    return Table(f"Taxonomy from {source}", [row])


def _edges_cut(cut: list[tuple[str, str]]) -> str:
    """Which edges were cut, in words; of many the first."""
    if not cut:
        return "no cycles to break"
    pairs = "; ".join(f"{child} below {parent}" for parent, child in cut[:SHOWN_EDGES])
    more = f" and {len(cut) - SHOWN_EDGES:,} more" if len(cut) > SHOWN_EDGES else ""
    return f"cut because they closed a cycle ({len(cut):,}): {pairs}{more}"


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


def _missing_categories(
    records: Iterable[Record], categories: Container[str]
) -> list[str]:
    names = [
        name
        for record in records
        for name in (*record.labels, *_compared(record))
        if name not in categories
    ]
    if not all(map(str.strip, names)):
        raise Mistake("a label has no name: remove it from the file")
    return list(dict.fromkeys(names))


def _compared(record: Record) -> Iterator[str]:
    """The categories that its preferences name."""
    names = chain.from_iterable(record.preferences)
    return (name for name in names if name != THRESHOLD)


def _changes(record: Record, before: Comparison) -> Iterator[Act]:
    """What the log must say so that it says of the document what the record says.

    A record without labels says nothing of labels, and one without preferences says
    nothing of preferences.
    """
    id_, grades = record.id, before.labels.get(record.id, {})
    for name, grade in record.labels.items():
        if grades.get(name) != grade:
            yield Act(id_, "assign", name, grade)
    if record.labels:
        gone = grades.keys() - record.labels.keys()
        yield from (Act(id_, "remove", name) for name in grades if name in gone)
    weights = before.preferences.get(id_, {})
    for pair, weight in record.preferences.items():
        if weights.get(pair) != weight:
            yield prefer(id_, *pair, weight)
    if record.preferences:
        compared = {frozenset(pair) for pair in record.preferences}
        pairs = (pair for pair in weights if frozenset(pair) not in compared)
        yield from (Act(id_, "retract", up, other=down) for up, down in pairs)
