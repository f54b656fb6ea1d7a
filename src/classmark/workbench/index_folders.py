"""An index in a folder of its own: made of a file, opened, checked, merged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from classmark.corpus.document import Document
from classmark.formats import read_records
from classmark.index.directory import Index
from classmark.links.graph import anchors
from classmark.problems import Mistake
from classmark.storage import Generations
from classmark.workbench.settings import FILE as SETTINGS_FILE
from classmark.workbench.views import Cell, Table

ANCHOR, SOURCE, MEMORY = "anchor", "source.json", "512MB"


def index_file(
    path: Path,
    to: Path,
    memory: str = MEMORY,
    *,
    format_: str | None = None,
    positions: bool = False,
) -> Table:
    """Index the documents of a file or folder in a folder of its own."""
    if to.exists() and (not to.is_dir() or _holds_something_else(to)):
        raise Mistake(f"{to} is there and is no index: choose another folder")
    require_writable(to)
    links: list[tuple[str, str]] = []

    def documents(said: Mapping[str, str]) -> Iterator[Document]:
        links.clear()
        for record in read_records(path, format_):
            links.extend(record.links)
            yield with_anchor(record.document, said)

    index = Index.build(to, documents({}), memory, positions=positions)
    if said := anchors(links):
        index = Index.build(to, documents(said), memory, positions=positions)
    source = {"path": str(path.resolve()), "format": format_}
    (to / SOURCE).write_text(json.dumps(source) + "\n", encoding="utf-8")
    row: dict[str, Cell] = {
        "documents": len(index),
        "fields": ", ".join(index.fields),
        "positions": "yes" if positions else "no",
    }
    return Table(f"Index of {path} in {to}", [row])


def open_index(folder: Path, memory: str = "1GB") -> Index:
    """Open the index in a folder of its own, or say how to make one."""
    if (folder / SETTINGS_FILE).is_file():
        raise Mistake(f"{folder} is a project: name it with --project {folder}")
    if not folder.is_dir() or Generations(folder).current() is None:
        raise Mistake(
            f"{folder} holds no index: make it with classmark index FILE --to {folder}"
        )
    return Index.open(folder, memory)


def check_index(folder: Path) -> Table:
    """Read every byte of an index and verify it."""
    found = open_index(folder).check()
    return Table(f"Index in {folder}: every byte is as written", [found._asdict()])


def merge_index(folder: Path, memory: str = MEMORY) -> Table:
    """Make one segment of all that updates left in an index."""
    require_writable(folder)
    with open_index(folder, memory) as index:
        before = index.check().segments
        row: dict[str, Cell] = {
            "documents": len(index.merge()),
            "segments before": before,
            "segments": index.check().segments,
            "generation": index.generation,
        }
    return Table(f"Index in {folder}, merged", [row])


def require_writable(folder: Path) -> None:
    """Refuse a folder in which this user may write nothing, or make none."""
    way = [folder.absolute(), *folder.absolute().parents]
    there = next(path for path in way if path.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise Mistake(
            f"{there} may not be written by you: choose another folder, or have the "
            "right to write there given to you"
        )


def with_anchor(document: Document, said: Mapping[str, str]) -> Document:
    """Return a document with what links say of it, as its field "anchor"."""
    if document.id not in said:
        return document
    own = [document.fields[ANCHOR]] if ANCHOR in document.fields else []
    text = "\n".join([*own, said[document.id]])
    return Document(document.id, {**document.fields, ANCHOR: text})


def _holds_something_else(folder: Path) -> bool:
    if Generations(folder).current() is not None:
        return False
    begun = ("segment-*", ".segment-*", ".lock")  # by a build that did not end
    return any(not any(map(path.match, begun)) for path in folder.iterdir())
