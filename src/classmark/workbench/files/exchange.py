"""Files in and out of a served project: previews, imports, downloads, documents."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from classmark.corpus.documents import Document
from classmark.formats import READERS, guess_format
from classmark.formats.jsonl import mapping_from
from classmark.formats.preferences import (
    Preference,
    numbered_preferences,
    write_preferences,
)
from classmark.formats.records import Record
from classmark.formats.taxonomies import TAXONOMY_READERS, read_categories
from classmark.problems import Mistake
from classmark.progress import track
from classmark.workbench.files.backup import back_up
from classmark.workbench.files.exporting import export_documents, export_taxonomy
from classmark.workbench.files.importing import (
    import_preferences,
    import_records,
    put_taxonomy,
)
from classmark.workbench.files.uploads import (
    DOCUMENTS,
    KINDS,
    PREFERENCES,
    TAXONOMY,
    Upload,
    called,
    path_of,
    throw_away,
    upload_of,
)
from classmark.workbench.project import Project

if TYPE_CHECKING:
    from classmark.workbench.results import Table
    from classmark.workbench.store.log import Judged
    from classmark.workbench.team.desk import Desk
    from classmark.workbench.team.jobs import Job


IMPORTING = "import"
ROWS = 5
TEXT = 160
SMALL = 2 << 20  # bytes of a taxonomy that is read for its preview
FORMATS = {
    DOCUMENTS: (
        "jsonl", "csv", "folder", "annif", "annif-csv", "annif-folder", "newsgroups",
        "reuters", "beir",
    ),
    TAXONOMY: tuple(TAXONOMY_READERS),
    PREFERENCES: (),
}  # fmt: skip
HEADS = {
    DOCUMENTS: ("id", "title", "text", "labels"),
    TAXONOMY: ("id", "above it", "name", "note"),
    PREFERENCES: ("document", "this", "over that", "weight"),
}


@dataclass(frozen=True, slots=True)
class Preview:
    """How a file would be read; mistake : why it cannot be, as it is chosen now.

    known : how many of the rows are documents that are here: they would be replaced.
    """

    upload: Upload
    kind: str
    format: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    mistake: str = ""
    known: int = 0


def preview(desk: Desk, token: str, kind: str = "", format_: str = "") -> Preview:
    """The first rows of a file, as it would be read."""
    upload = upload_of(desk, token)
    kind = _known_kind(kind or upload.kind)
    path = path_of(desk, upload)
    try:
        with called(path, upload.name):
            chosen = format_ or _guessed(path, kind)
            rows = tuple(islice(_rows(path, upload, kind, chosen), ROWS))
    except Mistake as mistake:
        return Preview(upload, kind, format_, HEADS[kind], (), str(mistake))
    said = "" if rows else "nothing was found in it: choose another format"
    known = sum(row[0] in desk.state.ids for row in rows) if kind == DOCUMENTS else 0
    return Preview(upload, kind, chosen, HEADS[kind], rows, said, known)


def start_import(
    desk: Desk, who: str, token: str, kind: str = "", format_: str = ""
) -> Job:
    """Take a file in, as a job; nothing, if it cannot be read to its end."""
    upload = upload_of(desk, token)
    kind = _known_kind(kind or upload.kind)
    path = path_of(desk, upload)
    with called(path, upload.name):
        chosen = format_ or _guessed(path, kind)

    def work(_: Project) -> str:
        with called(path, upload.name):
            table = _taken_in(desk, path, replace(upload, kind=kind, who=who), chosen)
        throw_away(desk, upload)
        return _said(upload, table)

    return desk.jobs.start(IMPORTING, work, who)


def _taken_in(desk: Desk, path: Path, upload: Upload, format_: str) -> Table:
    """Read a file to its end, then write what it holds; others write in between."""
    project, who, name = desk.project, upload.who, upload.name
    if upload.kind == PREFERENCES:
        return import_preferences(project, path, who)
    if upload.kind == TAXONOMY:
        found = read_categories(path, format_ or None)
        return put_taxonomy(project, found, name, who)
    read = _reader(format_)
    total = sum(1 for _ in track(read(path), f"reading {name}"))
    records = track(read(path), f"importing {name}", total)
    return import_records(project, records, name, who, desk.writing)


def _said(upload: Upload, table: Table) -> str:
    counts = ", ".join(f"{value:,} {name}" for name, value in table.rows[0].items())
    note = f"; {table.note}" if table.note else ""
    return f"{upload.name}: {counts}{note}"


def _known_kind(kind: str) -> str:
    if kind not in KINDS:
        raise Mistake(f"{kind!r} cannot be imported: choose one of {', '.join(KINDS)}")
    return kind


def _guessed(path: Path, kind: str) -> str:
    if kind == DOCUMENTS:
        found = guess_format(path)
        if found not in FORMATS[DOCUMENTS]:
            raise Mistake(f"{path} seems to be {found}: choose a format that is listed")
        return found
    return ""


def _reader(format_: str) -> Callable[[Path | str], Iterator[Record]]:
    if format_ not in FORMATS[DOCUMENTS]:
        known = ", ".join(FORMATS[DOCUMENTS])
        raise Mistake(f"format {format_!r} is not read here: choose one of {known}")
    return READERS[format_].load()


def _rows(
    path: Path, upload: Upload, kind: str, format_: str
) -> Iterator[tuple[str, ...]]:
    if kind == PREFERENCES:
        return (_preferred(said) for _, said in numbered_preferences(path))
    if kind == DOCUMENTS:
        return map(_documented, _reader(format_)(path))
    if upload.unpacked > SMALL:
        return iter([("…", "", "it is large: it will be read when it is imported", "")])
    return (
        (c.id, ", ".join(c.parents), c.name, shorten(c.note, TEXT, placeholder=" …"))
        for c in read_categories(path, format_ or None)
    )


def _preferred(said: Preference) -> tuple[str, ...]:
    return said.document, said.winner, said.loser, f"{said.weight:g}"


def _documented(record: Record) -> tuple[str, ...]:
    fields = record.document.fields.items()
    body = " ".join(text[: 4 * TEXT] for name, text in fields if name != "title")
    labels = ", ".join(islice(record.labels, 6))
    text = shorten(body, TEXT, placeholder=" …")
    return record.id, record.document.title, text, labels


def has_preferences(desk: Desk) -> bool:
    """Whether anybody preferred a category to another."""
    found = desk.project.store.run("SELECT 1 FROM preferences LIMIT 1").fetchone()
    return found is not None


def download(
    desk: Desk, name: str, *, whole: bool = False
) -> tuple[Path, Callable[[], None]]:
    """Write a file of the project; return it, and what removes it once it is sent.

    whole : backups may be taken too.
    """
    known = {**DOWNLOADS, **(BACKUPS if whole else {})}
    if name not in known:
        raise Mistake(f"there is no download {name!r}: choose one that is listed")
    write = known[name]
    return kept_until_sent(desk, name, lambda path: write(desk.project, path))


def kept_until_sent(
    desk: Desk, name: str, write: Callable[[Path], object]
) -> tuple[Path, Callable[[], None]]:
    """Let a file be written in a folder of the project's own, for a moment."""
    room = desk.folder / "exports"
    room.mkdir(mode=0o700, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=room))

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    try:
        write(folder / name)
    except BaseException:
        remove()
        raise
    return folder / name, remove


def _preferences(project: Project, path: Path) -> None:
    write_preferences(
        (
            Preference(document, *pair, weight)
            for document, weights in project.store.preferences().items()
            for pair, weight in weights.items()
        ),
        path,
    )


def _raw(project: Project, path: Path) -> None:
    export_documents(project, path, raw=True)


DOWNLOADS: dict[str, Callable[[Project, Path], object]] = {
    "documents.jsonl": export_documents,
    "documents.csv": export_documents,
    "documents.raw.csv": _raw,
    "documents.tsv": export_documents,
    "documents.parquet": export_documents,
    "documents.preferences.csv": _preferences,
    "taxonomy.csv": export_taxonomy,
    "taxonomy.ttl": export_taxonomy,
}
BACKUPS: dict[str, Callable[[Project, Path], object]] = {
    "backup.zip": back_up,
    "backup.jsonl": back_up,
}


BLOCK = 200  # lines handed over at once


@dataclass(frozen=True, slots=True)
class Content:
    """What a document says: name → text; facts; links as (id, anchor)."""

    fields: Mapping[str, str]
    meta: Mapping[str, str] = field(default_factory=dict)
    links: Sequence[tuple[str, str]] = ()


def put(desk: Desk, contents: Mapping[str, Content]) -> None:
    """Add documents by their ids, or replace what they say; labels stay."""
    records = [
        Record(
            Document(id_, dict(each.fields)),
            meta=dict(each.meta),
            links=tuple((to, anchor) for to, anchor in each.links),
        )
        for id_, each in contents.items()
    ]
    with desk.writing() as project:
        project.store.put_documents(records)


def page_of(desk: Desk, after: str | None, top: int) -> list[Judged]:
    """So many documents in order of arrival, those that follow ``after``."""
    store = desk.project.store
    ids = store.run(
        "SELECT id FROM documents WHERE number > coalesce("
        "(SELECT number FROM documents WHERE id = ?), 0) ORDER BY number LIMIT ?",
        (after or "", top),
    ).fetchall()
    return [store.record(id_) for (id_,) in ids]


def as_lines(folder: Path) -> Iterator[str]:
    """Every document with its labels as a line of JSON, some hundred at a time.

    By a connection of its own: whoever reads on may be another thread.
    """
    with Project(folder, shared=True) as project:
        lines = (_line(record) for record in project.store.records())
        while block := "".join(islice(lines, BLOCK)):
            yield block


def _line(record: Record) -> str:
    row: dict[str, Any] = mapping_from(record)
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
