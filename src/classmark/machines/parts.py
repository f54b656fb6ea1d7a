"""A part of an index, made on a worker: its documents inverted, or parts merged.

A part is a folder in a working folder, with a segment and notes. It is there whole or
not at all, and one that is there is not made again; whoever makes the same at the same
time comes too late.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from classmark.corpus.document import Document
from classmark.formats.record import Record
from classmark.index.building import Setup, build_segment
from classmark.index.documents import entries
from classmark.index.ids import TwinIds
from classmark.index.segments import Segment
from classmark.index.sharding import Piece, merge_pieces, refuse_twins
from classmark.index.snapshots import new_segment
from classmark.links.graph import anchors
from classmark.problems import DamagedFolder, Mistake
from classmark.storage import MANIFEST, sync_folder

SEGMENT, NOTES = "segment", "notes.json"
Read = Callable[[Any, Mapping[str, str]], Iterator[Record]]
Digest = Callable[[Document], int]


class Job(NamedTuple):
    """What all parts share: the working folder, how to index, how to read a source.

    read : yields the records of a source, with what links say of them;
    digest : what is to be noted of each document, by which it is known again.
    """

    folder: Path
    setup: Setup
    read: Read
    digest: Digest | None = None


class Task(NamedTuple):
    """A part to be built: its number, its name, and the sources of its documents."""

    number: int
    name: str
    sources: Sequence[Any]


class Merge(NamedTuple):
    """A part to be merged of pieces of others."""

    name: str
    pieces: Sequence[Piece]
    fields: Sequence[str]


class Built(NamedTuple):
    """What a part is; mark : another as soon as any byte of it is."""

    documents: int
    fields: tuple[str, ...]
    mark: str


@dataclass
class Notes:
    """What is to be known of a part's documents beside their index.

    said : target → what their links say of it;  digests : of each, by id, if wanted.
    """

    said: dict[str, str] = field(default_factory=dict)
    digests: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Notes:
        """Read the notes of the part in a folder."""
        return cls(**json.loads((folder / NOTES).read_text(encoding="utf-8")))

    def write(self, folder: Path) -> None:
        """Write them into the folder of a part."""
        text = json.dumps({"said": self.said, "digests": self.digests})
        write_whole(folder / NOTES, text)


def build_part(task: Task, job: Job, said: Mapping[str, str]) -> Built:
    """Index the documents of some sources, unless that is done."""
    folder = job.folder / task.name
    if not _is_whole(folder, SEGMENT) or not _is_as_noted(task, job, said):
        with _making(folder) as beside:
            made = _built(task, job, said, beside)
            if folder.exists() and not _is_as_noted(task, job, said):
                shutil.rmtree(folder)
            _put(made, folder)
    found = Segment(folder / SEGMENT)
    manifest = (found.folder / MANIFEST).read_bytes()
    mark = blake2b(manifest, digest_size=16).hexdigest()
    return Built(found.n_items, tuple(found.fields), mark)


def count_part(task: Task, job: Job) -> int:
    """Count the documents of some sources."""
    return sum(1 for _ in _records(task, job, {}))


def merge_part(task: Merge, job: Job) -> None:
    """Merge pieces of parts to one, unless that is done."""
    folder = job.folder / task.name
    if not _is_whole(folder):
        with _making(folder) as beside:
            merge_pieces(task.pieces, beside / "merged", job.setup, task.fields)
            _put(beside / "merged", folder)


def check_ids(folders: Sequence[Path]) -> None:
    """Refuse an id that two documents of some parts have."""
    refuse_twins(folders)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    beside = path.with_name(f".{path.name}.{uuid4().hex}.writing")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    sync_folder(path.parent)


def _built(task: Task, job: Job, said: Mapping[str, str], beside: Path) -> Path:
    """Build a part beside its place."""
    notes, links = Notes(), list[tuple[str, str]]()

    def documents() -> Iterator[Document]:
        for record in _records(task, job, said):
            links.extend(record.links)
            if job.digest is not None:
                notes.digests[record.id] = job.digest(record.document)
            yield record.document

    stream = entries(documents(), job.setup.fields)

    def place() -> Path:
        if not beside.is_dir():
            raise Mistake(f"{beside} was removed: another build has begun there")
        return new_segment(beside)

    try:
        segment = build_segment(stream, job.setup, place)
    except TwinIds as problem:
        problem.part = task.number
        raise
    notes.said = anchors(links)
    made = beside / "made"
    made.mkdir()
    segment.move(made / SEGMENT)
    notes.write(made)
    return made


def _is_as_noted(task: Task, job: Job, said: Mapping[str, str]) -> bool:
    """Say whether the documents are what they were, if that was noted."""
    if job.digest is None:
        return True
    if not (job.folder / task.name / NOTES).exists():
        return False
    digests = {r.id: job.digest(r.document) for r in _records(task, job, said)}
    return digests == Notes.read(job.folder / task.name).digests


def _records(task: Task, job: Job, said: Mapping[str, str]) -> Iterator[Record]:
    return (record for source in task.sources for record in job.read(source, said))


def _is_whole(folder: Path, within: str = "") -> bool:
    """Say whether a part is there and sound; one that is damaged is removed."""
    if not folder.exists():
        return False
    try:
        Segment(folder / within)
    except DamagedFolder:
        shutil.rmtree(folder)
        return False
    return True


@contextmanager
def _making(folder: Path) -> Iterator[Path]:
    """Give a folder of one's own beside a part, which is gone in the end."""
    beside = folder.with_name(f".{folder.name}.{uuid4().hex}.writing")
    beside.mkdir()
    try:
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _put(made: Path, folder: Path) -> None:
    """Put what was made in its place, unless another was there first."""
    try:
        made.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    sync_folder(folder.parent)
