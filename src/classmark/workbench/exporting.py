"""Take documents, labels and taxonomies out of a project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.problems import Mistake
from classmark.progress import track
from classmark.workbench.views import Table

if TYPE_CHECKING:
    from classmark.workbench.project import Project

Writer = Callable[[], int]


def export_documents(project: Project, path: Path, *, raw: bool = False) -> Table:
    """Write documents with their labels as JSONL, CSV, TSV or Parquet, by suffix."""
    _require_new(path)
    records = track(project.store.records(), f"writing {path}")
    match path.suffix:
        case ".jsonl":
            from classmark.formats.jsonl import write_jsonl

            count = write_jsonl(records, path)
        case ".csv" | ".tsv":
            from classmark.formats.delimited import write_delimited

            count = write_delimited(list(records), path, raw=raw)
        case ".parquet":
            from classmark.formats.parquet import write_parquet

            count = write_parquet(list(records), path)
        case _:
            raise Mistake(
                f"{path}: the suffix names no export format: "
                "use .jsonl, .csv, .tsv or .parquet"
            )
    return Table(f"Exported to {path}", [{"documents": count}])


def export_taxonomy(project: Project, path: Path) -> Table:
    """Write the taxonomy as CSV or SKOS (Turtle), by suffix."""
    _require_new(path)
    categories = project.store.categories()
    match path.suffix:
        case ".csv":
            from classmark.formats.taxonomies import write_category_csv

            count = write_category_csv(categories, path)
        case ".ttl" | ".rdf":
            from classmark.formats.skos import write_skos

            count = write_skos(categories, path)
        case _:
            raise Mistake(
                f"{path}: the suffix names no taxonomy format: use .csv, .ttl or .rdf"
            )
    return Table(f"Taxonomy exported to {path}", [{"categories": count}])


def _require_new(path: Path) -> None:
    if path.exists():
        raise Mistake(f"{path} is already there: choose another name or remove it")
