"""Known public collections; and the library that ships with Classmark, as a project."""

from __future__ import annotations

from pathlib import Path

from classmark.datasets import library
from classmark.datasets.dataset import CATALOG, find, known, where
from classmark.datasets.fetch import get
from classmark.problems import Mistake
from classmark.workbench.files.importing import import_records, put_taxonomy
from classmark.workbench.project import Project, create
from classmark.workbench.results import Cell, Table
from classmark.workbench.settings import FILE, Settings

NAME = "Eskerton town library"


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


def collection_path(name: str, folder: Path | None) -> Path:
    """Where a set lies."""
    known(name)
    return where(name, folder)


def get_collection(name: str, source: Path | None) -> list[str]:
    """Download a set, or take it from a file or folder; tell path and pinned sums."""
    fetched = get(name, from_=source)
    pinned = [f"pinned: {sum_}  {file}" for file, sum_ in fetched.pinned.items()]
    return [str(fetched.path), *pinned]


def open_library(folder: Path) -> Project:
    """Open the project of the library, or make it, empty; nobody else's project."""
    if not (folder / FILE).exists():
        if folder.is_dir() and any(folder.iterdir()):
            raise Mistake(
                f"{folder} has files of its own: name an empty or a new folder with "
                "--dir"
            )
        create(folder, Settings(NAME))
    project = Project(folder)
    if project.settings.name != NAME:
        project.store.close()
        raise Mistake(
            f"{folder} holds the project {project.settings.name!r}: name another "
            "folder for the demo with --dir"
        )
    return project


def import_library(project: Project) -> tuple[Table, Table]:
    """Import the library's taxonomy and catalogue, again as they were at first."""
    categories, records = library.library_categories(), library.library_records()
    return (
        put_taxonomy(project, categories, "the embedded taxonomy"),
        import_records(project, records, "the embedded catalogue", replace=True),
    )


def import_arrivals(project: Project) -> Table:
    """Import the new arrivals of the library, which nobody has classified."""
    return import_records(project, library.library_arrivals(), "the new arrivals")


def unseen_note() -> str:
    """A note that is not in the library's catalogue."""
    return library.unseen_note()
