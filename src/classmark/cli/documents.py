"""Commands for single documents: add, delete and restore them."""

from __future__ import annotations

from classmark.cli.options import FOLDER, JSON, argument, command, deferred, option
from classmark.workbench.results import Logged, Table

with deferred():
    from classmark.workbench.files import documents
    from classmark.workbench.project import Project

IDS = argument("The ids of documents.", "ID")


@command()
def add(
    project: Project = FOLDER,
    text: str = argument("What it says.", "TEXT"),
    title: str = option("Its title.", ""),
    id_: str = option("Its id; else one is made.", "", "--id"),
) -> str:
    """Add a document by hand, as an act of the log."""
    fields = {"title": title, "text": text}
    return f"added {documents.add_document(project, id_, fields)}"


@command(JSON)
def delete(project: Project = FOLDER, ids: tuple[str, ...] = IDS) -> Logged:
    """Delete documents with what was decided on them; restore brings them back."""
    return documents.delete_documents(project, ids)


@command(JSON)
def restore(project: Project = FOLDER, ids: tuple[str, ...] = IDS) -> Logged:
    """Bring deleted documents back, with what was decided on them."""
    return documents.restore_documents(project, ids)


@command(JSON)
def deleted(
    project: Project = FOLDER, top: int = option("How many.", 50, "-n")
) -> Table:
    """List the documents that are deleted, the last first."""
    return documents.list_deleted(project, top)
