"""Known public collections: which there are, where they lie, how to get one."""

from __future__ import annotations

from pathlib import Path

from classmark.datasets.dataset import CATALOG, find, known, where
from classmark.datasets.fetch import get
from classmark.workbench.results import Cell, Table


def list_collections() -> Table:
    """Every known set: what it is, where from, on what terms, whether it is here."""
    rows: list[dict[str, Cell]] = [
        {
            "name": name,
            "what": entry.what,
            "terms": entry.licence,
            "download": "yes" if entry.sources else "--from only",
            "here": "yes" if entry.family == "library" or find(name) else "no",
        }
        for name, entry in CATALOG.items()
    ]
    return Table("Known collections", rows)


def collection_path(name: str, folder: Path | None) -> str:
    """Where a set lies."""
    known(name)
    return str(where(name, folder))


def get_collection(name: str, source: Path | None) -> list[str]:
    """Download a set, or take it from a file or folder; tell path and pinned sums."""
    fetched = get(name, from_=source)
    pinned = [f"pinned: {sum_}  {file}" for file, sum_ in fetched.pinned.items()]
    return [str(fetched.path), *pinned]
