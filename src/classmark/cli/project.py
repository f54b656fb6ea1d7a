"""Commands for a project as a whole: make, fill, describe, export, back up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from classmark.cli.options import DIR, FORMAT, JSON, argument, command, flag, option
from classmark.workbench.results import Table

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.settings import StoreSettings

NEW_FOLDER = argument("The new directory.", "DIR")
STORE = option(
    "Keep it in PostgreSQL: postgresql://user@host/database", None, "--store"
)


@command()
def init(
    folder: Path = NEW_FOLDER,
    name: str | None = option("The project's name."),
    analyzer: str | None = option("Text analysis, as in: words|lower|stop(english)"),
    store: str | None = STORE,
) -> str:
    """Make a new project directory."""
    from classmark.workbench.learning.fit import require_analyzer
    from classmark.workbench.project import create
    from classmark.workbench.settings import Settings, TextSettings

    text = TextSettings()
    if analyzer is not None:
        text = TextSettings(analyzer=require_analyzer(analyzer))
    location = _store_settings(store, folder)
    create(folder, Settings(name or folder.resolve().name, text=text, store=location))
    return f"made {folder}: next, classmark import FILE --project {folder}"


def _store_settings(url: str | None, folder: Path) -> StoreSettings:
    """Where the store of a new project is to be: on a server, or in its folder."""
    from classmark.workbench.settings import StoreSettings, store_at

    return StoreSettings() if url is None else store_at(url, folder.resolve().name)


@command(JSON)
def info(
    project: Project,
    check: bool = option("Read every byte and verify it.", False),
) -> Table:
    """Say what is in a project."""
    from classmark.workbench.project import info as describe

    return describe(project, check=check)


@command(JSON)
def import_(
    project: Project,
    path: Path = argument("A file or a folder.", "FILE"),
    format_: str | None = FORMAT,
) -> Table:
    """Bring in documents with their labels, or preferences (--format preferences)."""
    from classmark.workbench.files.importing import import_documents

    return import_documents(project, path, format_)


@command(JSON)
def export(
    project: Project,
    path: Path = argument(".jsonl, .csv, .tsv or .parquet", "FILE"),
    raw: bool = flag("Do not guard CSV cells against formulas.", "--raw"),
) -> Table:
    """Write all documents and labels to a file that imports again."""
    from classmark.workbench.files.exporting import export_documents

    return export_documents(project, path, raw=raw)


@command(JSON, project=DIR)
def backup(
    project: Project,
    path: Path = argument("A new file: .zip or .jsonl", "FILE"),
) -> Table:
    """Keep a copy of a project in one file, while others work with it."""
    from classmark.workbench.files.backup import back_up

    return back_up(project, path)


@command(JSON)
def restore(
    path: Path = argument("A file of classmark backup.", "FILE"),
    folder: Path = NEW_FOLDER,
    store: str | None = STORE,
) -> Table:
    """Make a new project directory of a backup."""
    from classmark.workbench.files.backup import restore as restored

    return restored(path, folder, _store_settings(store, folder))
