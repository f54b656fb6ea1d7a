"""An index in a folder of its own: made of a file, opened, checked, merged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.corpus.documents import Document
from classmark.formats import read_records
from classmark.formats.records import Record
from classmark.index.build import Setup, build_segments, entries, require_shards
from classmark.index.index import Index, fill_index
from classmark.index.segment import Segment
from classmark.index.snapshot import PARTS, Snapshot
from classmark.links.graph import anchors
from classmark.machines.files import (
    Partition,
    Paths,
    files_of,
    is_one,
    is_remote,
    read_files,
    read_partition,
)
from classmark.problems import Mistake
from classmark.storage import Generations
from classmark.text.analyzer import Analyzer
from classmark.validation import byte_size
from classmark.workbench.settings import FILE as SETTINGS_FILE
from classmark.workbench.views import Cell, Table

if TYPE_CHECKING:
    from classmark.machines.cluster import Machines

ANCHOR, SOURCE, MEMORY = "anchor", "source.json", "512MB"
#: Folders that a project has for itself.
OF_PROJECTS = ("index", "indexed", "live", "models", "rankers", "reports")


def index_file(  # noqa: PLR0913 (what a command is asked)
    path: Paths,
    to: Path,
    memory: str = MEMORY,
    *,
    format_: str | None = None,
    positions: bool = False,
    machines: Machines | None = None,
    shards: int | None = None,
) -> Table:
    """Index the documents of a file or folder in a folder of its own.

    path : also several, a pattern, a folder of JSONL or Parquet files, or addresses
        that fsspec knows (s3://…).
    machines : who does it;  shards : how many segments the index has, one if None.
    The index is the same, byte by byte, whoever makes it.
    """
    require_shards(shards)
    if (to.absolute().parent / SETTINGS_FILE).is_file() and to.name in OF_PROJECTS:
        raise Mistake(
            f"{to} belongs to the project there: choose another folder, or import the "
            "file into the project and index that"
        )
    if to.exists() and (not to.is_dir() or _holds_something_else(to)):
        raise Mistake(f"{to} is there and is no index: choose another folder")
    require_writable(to)
    setup = Setup(Analyzer(), None, positions, byte_size(memory))
    if machines is None:
        snapshot = _fill(path, format_, to, setup, shards)
    else:
        from classmark.machines.indexing import Building

        files = files_of(path, format_)
        snapshot = Building(machines, to, files, setup, read_source).build(shards)
    index = Index(to, snapshot, setup.memory)
    _write_source(to, path, format_)
    row: dict[str, Cell] = {
        "documents": len(index),
        "fields": ", ".join(index.fields),
        "positions": "yes" if positions else "no",
    }
    return Table(f"Index of {_shown(path)} in {to}", [row])


def read_given(path: Paths, format_: str | None) -> Iterator[Record]:
    """Yield the records of a file or folder; or of several, one after the other."""
    if is_one(path, format_):
        return read_records(str(path), format_)
    return read_files(path, format_)


def read_source(partition: Partition, said: Mapping[str, str]) -> Iterator[Record]:
    """Yield the records of a partition, with what links say of them."""
    for record in read_partition(partition):
        yield replace(record, document=with_anchor(record.document, said))


def _fill(
    path: Paths, format_: str | None, to: Path, setup: Setup, shards: int | None
) -> Snapshot:
    """Index here, and where links say something, once more with that."""
    links: list[tuple[str, str]] = []

    def made(said: Mapping[str, str]) -> list[Segment]:
        stream = entries(documents(said), setup.fields)
        return build_segments(stream, setup, to, shards)

    def documents(said: Mapping[str, str]) -> Iterator[Document]:
        for record in read_given(path, format_):
            links.extend(record.links)
            yield with_anchor(record.document, said)

    def fill() -> list[Segment]:
        found = made({})
        if said := anchors(links):
            for segment in found:
                shutil.rmtree(segment.folder)
            found = made(said)
        return found

    return fill_index(to, setup, fill)


def _shown(given: Paths) -> str:
    return str(given) if isinstance(given, str | Path) else ", ".join(map(str, given))


def _write_source(to: Path, given: Paths, format_: str | None) -> None:
    several = [given] if isinstance(given, str | Path) else list(given)
    named = [str(p) if is_remote(str(p)) else str(Path(p).resolve()) for p in several]
    source = {"path": named[0] if len(named) == 1 else named, "format": format_}
    (to / SOURCE).write_text(json.dumps(source) + "\n", encoding="utf-8")


def open_index(folder: Path, memory: str | int = "1GB") -> Index:
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
    if not there.is_dir():
        raise Mistake(f"{there} is no folder: choose another place for {folder}")
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
    # by a build that did not end
    begun = ("segment-*", ".segment-*", f"{PARTS}*", ".lock")
    return any(not any(map(path.match, begun)) for path in folder.iterdir())
