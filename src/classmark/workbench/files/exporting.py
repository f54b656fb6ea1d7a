"""Take documents, labels, preferences and taxonomies out of a project."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.formats.citations import reference_of, write_bibtex, write_ris
from classmark.formats.jsonl import mapping_from, write_jsonl
from classmark.formats.preferences import MARK, Preference, write_preferences
from classmark.formats.skos import write_skos
from classmark.formats.tables import write_delimited, write_parquet
from classmark.formats.taxonomies import write_category_csv
from classmark.problems import refusal
from classmark.progress import track
from classmark.text import language_code
from classmark.workbench.files.backup import back_up, require_new
from classmark.workbench.meaning import has_own
from classmark.workbench.project import Project
from classmark.workbench.results import Table
from classmark.workbench.store.store import title_of

if TYPE_CHECKING:
    from classmark.formats.records import Record, Reference
    from classmark.workbench.store.log import JudgedRecord


TAXONOMIES = (".csv", ".ttl", ".rdf")
BLOCK = 200  # lines handed over at once


def export_documents(
    project: Project,
    path: Path,
    *,
    raw: bool = False,
    ids: Sequence[str] | None = None,
) -> Table:
    """Write documents with their labels as JSONL, CSV, TSV, Parquet, RIS or BibTeX.

    The suffix says which.  ids : only these, in this order.

    Preferences and users' own vectors are in JSONL. Others have no place for them:
    if there are preferences, they go to a file beside, ``shelf.preferences.csv`` for
    ``shelf.csv``, told in the note.
    """
    writers: dict[str, Callable[[Iterable[Record], Path], int]] = {
        ".jsonl": lambda records, path: write_jsonl(
            with_own_vectors(project, records), path
        ),
        ".csv": partial(write_delimited, raw=raw),
        ".tsv": partial(write_delimited, raw=raw),
        ".parquet": write_parquet,
        ".ris": lambda records, path: write_ris(map(_cited, records), path),
        ".bib": lambda records, path: write_bibtex(map(_cited, records), path),
    }
    require_new(path)
    if path.suffix not in writers:
        raise refusal(
            "%(path)s: the suffix names no export format: use .jsonl, .csv, .tsv, "
            ".parquet, .ris or .bib",
            path=path,
        )
    chosen = project.store.records() if ids is None else map(project.store.record, ids)
    records: Iterable[Record] = track(chosen, f"writing {path}")
    note = ""
    if path.suffix != ".jsonl":
        note = _put_beside(project, path, raw=raw) if ids is None else ""
        records = [replace(record, preferences={}) for record in records]
    count = writers[path.suffix](records, path)
    return Table(f"Exported to {path}", [{"documents": count}], note)


def with_own_vectors(project: Project, records: Iterable[Record]) -> Iterator[Record]:
    """Records with the vectors that users brought for them, where the source is own."""
    vectors = None
    if has_own(project, project.settings.meaning):
        vectors = project.meaning()
    for record in records:
        text = "" if vectors is None else project.text_of(record)
        if vectors is not None and text in vectors:
            yield replace(record, vector=tuple(vectors.encode([text])[0].tolist()))
        else:
            yield record


def _cited(record: Record) -> Reference:
    return reference_of(record, title_of(record.document))


def export_taxonomy(project: Project, path: Path) -> Table:
    """Write the taxonomy as CSV or SKOS, in the project's language, by suffix."""
    require_new(path)
    if path.suffix not in TAXONOMIES:
        raise refusal(
            "%(path)s: the suffix names no taxonomy format: use .csv, .ttl or .rdf",
            path=path,
        )
    categories = project.store.categories()
    if path.suffix == ".csv":
        count = write_category_csv(categories, path)
    else:
        language = language_code(project.settings.text.analyzer)
        count = write_skos(categories, path, language=language)
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


CHOSEN = (".csv", ".jsonl", ".parquet")  # files of the documents that filters leave


def download_chosen(
    project: Project, ids: Sequence[str], ending: str
) -> tuple[Path, Callable[[], None]]:
    """Write some documents to a file, as ``download`` does all of them."""
    if ending not in CHOSEN:
        raise refusal(
            "documents%(ending)s: use %(chosen)s",
            ending=ending,
            chosen=", ".join(CHOSEN),
        )
    write = partial(export_documents, project, ids=ids)
    return kept_until_sent(project, f"documents{ending}", write)


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
    project: Project, name: str, *, whole: bool = False
) -> tuple[Path, Callable[[], None]]:
    """Write a file of the project; return it, and what removes it once it is sent.

    whole : backups may be taken too.
    """
    writers = {**DOWNLOADS, **(BACKUPS if whole else {})}
    if name not in writers:
        raise refusal(
            "there is no download %(name)r: choose one that is listed", name=name
        )
    return kept_until_sent(project, name, partial(writers[name], project))


def kept_until_sent(
    project: Project, name: str, write: Callable[[Path], object]
) -> tuple[Path, Callable[[], None]]:
    """Let a file be written in a folder of the project's own, for a moment."""
    room = project.folder / "exports"
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
        rows = map(mapping_from, with_own_vectors(project, project.store.records()))
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
        while block := "".join(f"{line}\n" for line in islice(lines, BLOCK)):
            yield block
