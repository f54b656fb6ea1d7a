"""Take documents, labels and taxonomies out of a project."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.problems import Mistake
from classmark.progress import track
from classmark.workbench.results import Table

if TYPE_CHECKING:
    from classmark.formats.records import Record
    from classmark.workbench.project import Project


TABLES = {".csv", ".tsv", ".parquet"}


def export_documents(project: Project, path: Path, *, raw: bool = False) -> Table:
    """Write documents with their labels as JSONL, CSV, TSV or Parquet, by suffix.

    Preferences are in JSONL. Tables have no place for them: if there are any, they go
    to a file beside, ``shelf.preferences.csv`` for ``shelf.csv``, told in the note.
    """
    _require_new(path)
    records: Iterable[Record] = track(project.store.records(), f"writing {path}")
    note = ""
    if path.suffix in TABLES:
        note = _put_beside(project, path, raw=raw)
        records = [replace(record, preferences={}) for record in records]
    match path.suffix:
        case ".jsonl":
            from classmark.formats.jsonl import write_jsonl

            count = write_jsonl(records, path)
        case ".csv" | ".tsv":
            from classmark.formats.tables import write_delimited

            count = write_delimited(records, path, raw=raw)
        case ".parquet":
            from classmark.formats.tables import write_parquet

            count = write_parquet(records, path)
        case _:
            raise Mistake(
                f"{path}: the suffix names no export format: "
                "use .jsonl, .csv, .tsv or .parquet"
            )
    return Table(f"Exported to {path}", [{"documents": count}], note)


def export_taxonomy(project: Project, path: Path) -> Table:
    """Write the taxonomy as CSV or SKOS (Turtle), by suffix."""
    _require_new(path)
    categories = project.store.categories()
    match path.suffix:
        case ".csv":
            from classmark.formats.taxonomies import write_category_csv

            count = write_category_csv(categories, path)
        case ".ttl" | ".rdf":
            from classmark.formats.taxonomies import write_skos

            count = write_skos(categories, path)
        case _:
            raise Mistake(
                f"{path}: the suffix names no taxonomy format: use .csv, .ttl or .rdf"
            )
    return Table(f"Taxonomy exported to {path}", [{"categories": count}])


def _put_beside(project: Project, path: Path, *, raw: bool) -> str:
    """Write the preferences, if there are any, to their own file; say where."""
    from classmark.formats.preferences import MARK, Preference, write_preferences

    found = [
        Preference(document, *pair, weight)
        for document, weights in project.store.preferences().items()
        for pair, weight in weights.items()
    ]
    if not found:
        return ""
    beside = path.with_suffix(f"{MARK}{'.tsv' if path.suffix == '.tsv' else '.csv'}")
    _require_new(beside)
    write_preferences(found, beside, raw=raw)
    return f"{len(found)} preferences are beside it, in {beside}: import both"


def _require_new(path: Path) -> None:
    if path.exists():
        raise Mistake(f"{path} is already there: choose another name or remove it")
