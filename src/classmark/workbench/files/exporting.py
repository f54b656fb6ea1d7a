"""Take documents, labels, preferences and taxonomies out of a project."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.formats.jsonl import mapping_from, write_jsonl
from classmark.formats.preferences import MARK, Preference, write_preferences
from classmark.formats.tables import write_delimited, write_parquet
from classmark.formats.taxonomies import write_category_csv, write_skos
from classmark.problems import Mistake
from classmark.progress import track
from classmark.workbench.files.backup import back_up, require_new
from classmark.workbench.project import Project
from classmark.workbench.results import Table

if TYPE_CHECKING:
    from classmark.formats.records import Record
    from classmark.workbench.store.log import JudgedRecord
    from classmark.workbench.team.desk import Desk


TABLES = {".csv", ".tsv", ".parquet"}
TAXONOMY_WRITERS = {".csv": write_category_csv, ".ttl": write_skos, ".rdf": write_skos}
BLOCK = 200  # lines handed over at once


def export_documents(project: Project, path: Path, *, raw: bool = False) -> Table:
    """Write documents with their labels as JSONL, CSV, TSV or Parquet, by suffix.

    Preferences are in JSONL. Tables have no place for them: if there are any, they go
    to a file beside, ``shelf.preferences.csv`` for ``shelf.csv``, told in the note.
    """
    writers: dict[str, Callable[[Iterable[Record], Path], int]] = {
        ".jsonl": write_jsonl,
        ".csv": partial(write_delimited, raw=raw),
        ".tsv": partial(write_delimited, raw=raw),
        ".parquet": write_parquet,
    }
    require_new(path)
    if path.suffix not in writers:
        raise Mistake(
            f"{path}: the suffix names no export format: "
            "use .jsonl, .csv, .tsv or .parquet"
        )
    records: Iterable[Record] = track(project.store.records(), f"writing {path}")
    note = ""
    if path.suffix in TABLES:
        note = _put_beside(project, path, raw=raw)
        records = [replace(record, preferences={}) for record in records]
    count = writers[path.suffix](records, path)
    return Table(f"Exported to {path}", [{"documents": count}], note)


def export_taxonomy(project: Project, path: Path) -> Table:
    """Write the taxonomy as CSV or SKOS (Turtle), by suffix."""
    require_new(path)
    if path.suffix not in TAXONOMY_WRITERS:
        raise Mistake(
            f"{path}: the suffix names no taxonomy format: use .csv, .ttl or .rdf"
        )
    count = TAXONOMY_WRITERS[path.suffix](project.store.categories(), path)
    return Table(f"Taxonomy exported to {path}", [{"categories": count}])


def export_preferences(project: Project, path: Path, *, raw: bool = False) -> int:
    """Write which categories were preferred to which, as CSV or TSV, by suffix."""
    preferences = [
        Preference(document, *pair, weight)
        for document, weights in project.store.preferences().items()
        for pair, weight in weights.items()
    ]
    return write_preferences(preferences, path, raw=raw)


def _put_beside(project: Project, path: Path, *, raw: bool) -> str:
    """Write the preferences, if there are any, to their own file; say where."""
    if not has_preferences(project):
        return ""
    beside = path.with_suffix(f"{MARK}{'.tsv' if path.suffix == '.tsv' else '.csv'}")
    require_new(beside)
    count = export_preferences(project, beside, raw=raw)
    return f"{count} preferences are beside it, in {beside}: import both"


DOWNLOADS: dict[str, Callable[[Project, Path], object]] = {
    "documents.jsonl": export_documents,
    "documents.csv": export_documents,
    "documents.raw.csv": partial(export_documents, raw=True),
    "documents.tsv": export_documents,
    "documents.parquet": export_documents,
    "documents.preferences.csv": export_preferences,
    "taxonomy.csv": export_taxonomy,
    "taxonomy.ttl": export_taxonomy,
}
BACKUPS: dict[str, Callable[[Project, Path], object]] = {
    "backup.zip": back_up,
    "backup.jsonl": back_up,
}


def has_preferences(project: Project) -> bool:
    """Whether anybody preferred a category to another."""
    sql = "SELECT 1 FROM preferences LIMIT 1"
    return project.store.run(sql).fetchone() is not None


def download(
    desk: Desk, name: str, *, whole: bool = False
) -> tuple[Path, Callable[[], None]]:
    """Write a file of the project; return it, and what removes it once it is sent.

    whole : backups may be taken too.
    """
    writers = {**DOWNLOADS, **(BACKUPS if whole else {})}
    if name not in writers:
        raise Mistake(f"there is no download {name!r}: choose one that is listed")
    return kept_until_sent(desk, name, partial(writers[name], desk))


def kept_until_sent(
    desk: Desk, name: str, write: Callable[[Path], object]
) -> tuple[Path, Callable[[], None]]:
    """Let a file be written in a folder of the project's own, for a moment."""
    room = desk.folder / "exports"
    room.mkdir(mode=0o700, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=room))
    remove = partial(shutil.rmtree, folder, ignore_errors=True)
    try:
        write(folder / name)
    except BaseException:
        remove()
        raise
    return folder / name, remove


def documents_after(
    project: Project, after: str | None, top: int
) -> list[JudgedRecord]:
    """So many documents in order of arrival, those that follow ``after``."""
    store = project.store
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
        rows = map(mapping_from, project.store.records())
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
        while block := "".join(f"{line}\n" for line in islice(lines, BLOCK)):
            yield block
