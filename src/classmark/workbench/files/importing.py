"""Bring documents, labels and taxonomies into a project."""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    Callable,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classmark.formats import ROW_FORMATS, guess_format, read_records, some_of
from classmark.formats.columns import RowFile, layout_of, open_rows
from classmark.formats.feature_lines import FIELD
from classmark.formats.preferences import is_preferences
from classmark.formats.records import THRESHOLD, Record
from classmark.formats.rows import SHOWN, SOURCES, Layout, LeftOut, source_of
from classmark.formats.taxonomies import is_taxonomy_header, read_categories
from classmark.language import N_, _, decimal, joined, whole
from classmark.problems import UnreadableFile, refusal, worded
from classmark.progress import remarks, track
from classmark.taxonomy.category import Category, taxonomy_of
from classmark.text import language_code
from classmark.workbench import meaning as vectors
from classmark.workbench.files.import_acts import ImportAct, import_preferences, prefer
from classmark.workbench.own_vectors import OwnVectorsImport
from classmark.workbench.results import Table
from classmark.workbench.settings_file import write_settings
from classmark.workbench.store.log import Act, whoami
from classmark.workbench.store.named import with_ids
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
            raise refusal(
                "%(source)s: %(replaced)s of %(all)s documents are here under "
                "the same id with other contents or labels "
                "(%(listed)s%(more)s), so %(much)s: %(remedy)s to replace "
                "them, or give the new documents other ids",
                source=source,
                replaced=decimal(replaced, 0),
                all=decimal(sum(self.counts.values()), 0),
                listed=listed,
                more=more,
                much=much,
                remedy=worded("say --replace"),
            )


def compare(project: Project, records: Iterable[Record], source: str) -> Comparison:
    """Say what an import would do, without importing."""
    comparison = Comparison(project.store)
    own = OwnVectorsImport(project, source)
    for batch in _batches(with_ids(records, project.store), BATCH):
        comparison.add(batch)
        own.require_length(batch)
    return comparison


VECTORS = "libsvm"  # the format of documents that are vectors without text
VECTOR_SETTINGS = {
    "text.fields": FIELD, "text.analyzer": "words|lower",
    "learning.characters": "0", "learning.first_line": "1",
}  # fmt: skip


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
            raise refusal(
                "%(path)s: %(format)s has no columns: leave them out",
                path=path,
                format=format_,
            )
        with settings_as_before_a_failure(project):
            if format_ == VECTORS:
                prepare_for_vectors(project, path)
            records, source = read_records(path, format_), str(path)
            table = import_records(project, records, source, replace=replace, act=act)
        return append_note(table, vectors.computed_after_import(project))
    file = open_columns(project, path, format_, layout)
    left_out = LeftOut(skips=file.layout.skip)
    records = some_of(track(file.read(left_out), f"reading {path}"), path)
    table = import_records(
        project, records, str(path), replace=replace, layout=file.layout, act=act
    )
    for note in (f"read as {file.described()}", *rows_left_out(left_out)):
        table = append_note(table, note)
    return append_note(table, vectors.computed_after_import(project))


@contextmanager
def settings_as_before_a_failure(project: Project) -> Iterator[None]:
    """Write the settings back that an import had changed before it failed."""
    earlier = project.settings
    try:
        yield
    except BaseException:
        if project.settings != earlier:
            write_settings(project.folder, earlier)
            project.settings = earlier
        raise


def prepare_for_vectors(project: Project, path: Path) -> None:
    """Let a project without documents read features as they are, not as words."""
    if project.has_vectors_alone:
        return
    if project.store.run("SELECT 1 FROM documents LIMIT 1").fetchone():
        raise refusal(
            "%(path)s contains vectors, but the project contains texts: "
            "import the vectors into a project of their own",
            path=path,
        )
    project.change_settings(VECTOR_SETTINGS, whoami())


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
    with settings_as_before_a_failure(project), project.store.transaction():
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
    places = [
        (name, line)
        for name, table in zip(named, tables, strict=True)
        for line in table.note.split("\n")
        if line
    ]
    times = Counter(line for _, line in places)
    lines = (line if times[line] > 1 else f"{name}: {line}" for name, line in places)
    notes = "\n".join(dict.fromkeys(lines))
    return Table(f"Imported {len(tables)} files", rows, notes)


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
            raise refusal(
                "%(path)s: %(kind)s has no columns: import it as it is",
                path=path,
                kind=kind,
            )
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
        notes += rows_left_out(left_out, N_("rows that cannot be read"))
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
            name or path,
            None,
            _("its columns are those of a taxonomy: %(remedy)s", remedy=remedy),
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


def rows_left_out(
    left_out: LeftOut | None, what: str = N_("rows left out")
) -> list[str]:
    """How many rows were left out or have no text, and the first, in words."""
    if left_out is None:
        return []
    notes = []
    if left_out.count:
        more = " …" if left_out.count > len(left_out.first) else ""
        first = f"{joined(*left_out.first)}{more}"
        names = {"what": _(what), "n": whole(left_out.count), "first": first}
        notes = [_("%(what)s: %(n)s (%(first)s)", **names)]
    if textless := left_out.textless:
        more = " …" if len(textless) > SHOWN else ""
        notes.append(
            _(
                "rows with neither a title nor a text: %(n)s (%(first)s); %(remedy)s",
                n=whole(len(textless)),
                first=f"{', '.join(textless[:SHOWN])}{more}",
                remedy=worded("--skip leaves them out"),
            )
        )
    return notes


def likely_format(path: Path) -> str:
    """The format of a file, as ``guess_format`` says; a .txt file is one document."""
    if path.is_file() and source_of(path.name) == "txt":
        return "txt"
    return guess_format(path)


def append_note(table: Table, note: str) -> Table:
    """A table with one more note below it."""
    return replace(table, note=joined(table.note, note, by="\n"))


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
        records = with_ids(records, store)
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
    note = joined(*notes, *importer.notes(), by="\n")
    return Table(f"Imported {source}", [row], note)


class _Importer:
    """Puts batches of records into a project, within an act.

    judgments : how many were logged;  added : the categories that labels named first.
    """

    def __init__(self, project: Project, source: str, act: ImportAct) -> None:
        self.store, self.source, self.act = project.store, source, act
        self.categories = {category.id for category in self.store.categories()}
        self.before = Comparison(self.store)
        self.own_vectors = OwnVectorsImport(project, source)
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
        notes = [*_named(self.added), *self.own_vectors.notes]
        if (number := self.act.logged) is not None:
            notes.append(worded("undo it with: classmark undo {number}", number=number))
        return notes


def _named(added: list[str]) -> list[str]:
    """Which categories were added, in words; of many the first."""
    listed = ", ".join(added[:5]) + (" …" if len(added) > 5 else "")
    message = N_("categories added because a label named them: %(names)s")
    return [_(message, names=listed)] if added else []


def import_taxonomy(
    project: Project,
    path: Path,
    format_: str | None = None,
    *,
    cut: list[tuple[str, str]] | None = None,
    language: str | None = None,
) -> Table:
    """Read a taxonomy file; known ids are replaced, none is removed.

    cut : a list for the (parent, child) pairs that close cycles; None refuses cycles;
    language : a code as "fi", of labels in several; by default the project's.
    """
    languages = languages_for(project, language)
    with remarks() as notes:
        categories = read_categories(path, format_, cut=cut, languages=languages)
    table = put_taxonomy(project, categories, str(path))
    notes += [] if cut is None else [_edges_cut(cut)]
    return replace(table, note="\n".join(notes))


def languages_for(project: Project, language: str | None = None) -> list[str]:
    """In which languages labels are read, the first they have: this, else English."""
    code = language or language_code(project.settings.text.analyzer)
    return list(dict.fromkeys(filter(None, (code, "en"))))


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
        **compared(before, after),
        "leaves": len(tree.leaves),
        "levels": tree.depth + 1 if together else 0,
    }
    return Table(f"Taxonomy from {source}", [row])


def compared(
    before: Mapping[str, Category], after: Iterable[Category]
) -> dict[str, int]:
    """How many categories are new, and how many are others than they were."""
    pairs = [(before.get(category.id), category) for category in after]
    return {
        "new": sum(old is None for old, _ in pairs),
        "changed": sum(old is not None and old != new for old, new in pairs),
    }


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
        raise refusal("a label has no name: remove it from the file")
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
