"""The index of a project, or of a folder outside any.

A worker opens the store itself: a file that its machine has, or PostgreSQL's server.

What links say of a document is indexed with it, as its field "anchor". Beside the index
lies what each document was when it was indexed (a digest), so that only documents that
are new or changed are indexed again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from classmark.arrays import Array
from classmark.corpus.documents import Document
from classmark.formats import read_records
from classmark.formats.records import Record
from classmark.index.build import Setup, build_segments, entries, require_shards
from classmark.index.index import Index, fill_index
from classmark.index.segment import Segment
from classmark.index.snapshot import PARTS, Snapshot, open_snapshot
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
from classmark.storage import Generations, open_folder, save
from classmark.text.analyzer import Analyzer
from classmark.validation import byte_size
from classmark.workbench.results import Cell, Table
from classmark.workbench.settings import FILE as SETTINGS_FILE
from classmark.workbench.settings import StoreSettings
from classmark.workbench.store.log import whoami
from classmark.workbench.store.store import Store

if TYPE_CHECKING:
    from classmark.machines.cluster import Machines
    from classmark.workbench.project import Project


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
        snapshot = _fill_folder(path, format_, to, setup, shards)
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


def _fill_folder(
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


Digests = dict[str, int]
FACTS = (
    "SELECT count(*), coalesce(max(number), 0), coalesce(sum(length(fields)), 0) "
    "FROM documents"
)
NUMBERS = "SELECT number FROM documents ORDER BY number"
STRETCH = (
    "SELECT id, fields FROM documents WHERE number >= ? AND number < ? ORDER BY number"
)


class Stretch(NamedTuple):
    """Documents ``low`` to before ``high`` of a store, by their numbers there."""

    path: Path
    server: StoreSettings | None
    low: int
    high: int


@dataclass
class Stored:
    """All documents of a store."""

    store: Store

    @cached_property
    def facts(self) -> tuple[int, int, int]:
        """How many documents there are, the last number, and characters of all."""
        count, last, total = self.store.run(FACTS).fetchone()
        return int(count), int(last), int(total)

    @property
    def total(self) -> int:
        """Characters of all documents."""
        return self.facts[2]

    @property
    def fingerprint(self) -> str:
        """Another where documents came or went; changed ones are found by digests."""
        server = self.store.server
        where = ["", ""] if server is None else [server.url, server.schema]
        facts = json.dumps([str(self.store.path.absolute()), *where, *self.facts[:2]])
        return blake2b(facts.encode(), digest_size=16).hexdigest()

    def cut(self, size: int) -> list[tuple[Stretch]]:
        """Cut into stretches of so many documents as have about ``size`` characters."""
        count, last, total = self.facts
        some = max(count * size // max(total, 1), 1)
        rows = enumerate(self.store.run(NUMBERS))
        lows = [int(number) for at, (number,) in rows if at % some == 0]
        path, server = self.store.path.absolute(), self.store.server
        edges = pairwise([*lows, last + 1])
        return [(Stretch(path, server, low, high),) for low, high in edges]


def read_stretch(stretch: Stretch, said: Mapping[str, str]) -> Iterator[Record]:
    """Yield documents of a store, with what links say of them."""
    with Store(stretch.path, server=stretch.server) as store:
        for id_, fields in store.run(STRETCH, (stretch.low, stretch.high)):
            yield Record(with_anchor(Document(id_, json.loads(fields)), said))


def digest_of(document: Document) -> int:
    """Return a number that is another as soon as the fields of a document are."""
    texts = json.dumps(list(document.fields.items()), ensure_ascii=False)
    content = texts.encode(errors="surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def build_on(
    machines: Machines,
    project: Project,
    setup: Setup,
    said: Mapping[str, str],
    after: Digests,
    shards: int | None,
) -> Snapshot:
    """Index all documents on machines; ``after`` gets the digest of each."""
    from classmark.machines.indexing import Building

    stored = Stored(project.store)
    building = Building(
        machines, project.index.folder, stored, setup, read_stretch, digest_of
    )
    snapshot = building.build(shards, said)
    after |= building.digests
    return snapshot


FORMAT, VERSION = "classmark-indexed", 1
DOCUMENTS = "SELECT id, fields FROM documents ORDER BY number"
LINKS = "SELECT links FROM documents WHERE links <> '[]' ORDER BY number"


@dataclass(frozen=True, slots=True)
class Wanted:
    """How an index is to be: its analyzer, its fields (all, if None), positions."""

    analyzer: str
    fields: tuple[str, ...] | None
    positions: bool

    def settings(self) -> dict[str, Any]:
        """Return them as they are written down."""
        fields = None if self.fields is None else list(self.fields)
        return {
            "analyzer": self.analyzer,
            "fields": fields,
            "positions": self.positions,
        }

    def setup(self, memory: str) -> Setup:
        """Return how such an index is built."""
        analyzer = Analyzer.parse(self.analyzer)
        return Setup(analyzer, self.fields, self.positions, byte_size(memory))


def index_project(
    project: Project,
    memory: str = MEMORY,
    *,
    positions: bool | None = None,
    machines: Machines | None = None,
    shards: int | None = None,
) -> Table:
    """Build the project's index, or bring it up to date.

    positions : whether places of words are kept, for phrases; None: as they were.
    machines : who builds it; what changed is brought up to date here.
    shards : how many segments it is to have; it is built anew where it has others.
    """
    require_shards(shards)
    folder = project.index.folder
    if positions is None:
        positions = _has_positions(folder)
    wanted = _wanted(project, positions=positions)
    said = anchors(
        (to, anchor)
        for (text,) in project.store.run(LINKS)
        for to, anchor in json.loads(text)
    )
    before = _digests_of(project, wanted)
    after: Digests = {}
    if before is None or not _has_shards(folder, shards):
        setup = wanted.setup(memory)
        if machines is None:
            snapshot = _fill(project, setup, said, after, shards)
        else:
            snapshot = build_on(machines, project, setup, said, after, shards)
        index = Index(folder, snapshot, setup.memory)
        changed = {"added": len(after), "replaced": 0, "deleted": 0}
    else:
        index = Index.open(folder, memory)
        stream = noted(project_documents(project, said), after)
        changed = _update(index, before, stream, after)
    _note(project, wanted, index.generation, after)
    row: dict[str, Cell] = {
        "documents": len(index),
        **changed,
        "fields": ", ".join(index.fields),
        "positions": "yes" if positions else "no",
        "generation": index.generation,
    }
    return Table(f"Index of {project.settings.name}", [row])


def _fill(
    project: Project,
    setup: Setup,
    said: Mapping[str, str],
    after: Digests,
    shards: int | None,
) -> Snapshot:
    folder = project.index.folder
    stream = noted(project_documents(project, said), after)
    return fill_index(
        folder,
        setup,
        lambda: build_segments(entries(stream, setup.fields), setup, folder, shards),
    )


def _has_shards(folder: Path, shards: int | None) -> bool:
    """Say whether an index has as many segments as are wanted, if that was said."""
    if shards is None:
        return True
    found = open_snapshot(folder)
    return len(found.parts) == min(shards, found.n_items)


def merge_project_index(project: Project, memory: str = MEMORY) -> Table:
    """Merge the index of a project, and note that it has the same documents."""
    index = open_project_index(project)
    wanted = _wanted(project, positions=index.has_positions)
    digests = _digests_of(project, wanted)
    merged = merge_index(project.index.folder, memory)
    if digests is not None:
        _write_note(project, wanted, Index.open(index.path).generation, digests)
    return merged


def open_project_index(project: Project, memory: str | int = "1GB") -> Index:
    """Open the index of a project, or say how to make one.

    memory : where the postings of a field, decoded, fit it, they are kept decoded.
    """
    return Index.open(index_folder(project), memory)


def index_folder(project: Project) -> Path:
    """Return where the index of a project is, or say how to make one."""
    if project.index.current() is None:
        raise Mistake(
            f"{project.folder} has no index yet: make it with classmark index "
            f"--project {project.folder}"
        )
    return project.index.folder


def is_stale(project: Project) -> bool:
    """Say whether documents were imported after the index was made."""
    newest = "SELECT coalesce(max(seq), 0) FROM events WHERE what = ?"
    made, given = (
        project.store.run(newest, (what,)).fetchone()[0]
        for what in ("indexed", "imported")
    )
    return bool(given > made)


def _wanted(project: Project, *, positions: bool) -> Wanted:
    text = project.settings.text
    fields = (*text.fields, ANCHOR) if text.fields else None
    return Wanted(text.analyzer, fields, positions)


def _has_positions(folder: Path) -> bool:
    if Generations(folder).current() is None:
        return False
    return Index.open(folder).has_positions


def project_documents(project: Project, said: Mapping[str, str]) -> Iterator[Document]:
    """Yield all documents, with what links say of them."""
    for id_, fields in project.store.run(DOCUMENTS):
        yield with_anchor(Document(id_, json.loads(fields)), said)


def noted(documents: Iterator[Document], digests: Digests) -> Iterator[Document]:
    """Yield documents, and keep the digest of each."""
    for document in documents:
        digests[document.id] = digest_of(document)
        yield document


def _update(
    index: Index, before: Digests, stream: Iterator[Document], after: Digests
) -> dict[str, int]:
    """Index what is new or changed, and take out what is gone."""
    counts = {"added": 0, "replaced": 0, "deleted": 0}

    def changed() -> Iterator[Document]:
        for document in stream:
            if before.get(document.id) != after[document.id]:
                kind = "replaced" if document.id in before else "added"
                counts[kind] += 1
                yield document

    try:
        index.replace(changed())
        gone = [id_ for id_ in before if id_ not in after]
        counts["deleted"] = len(gone)
        index.delete(gone)
    except BaseException:
        index.discard()
        raise
    if any(counts.values()):
        index.commit()
    else:
        index.discard()
    return counts


def _digests_of(project: Project, wanted: Wanted) -> Digests | None:
    """Return what was indexed; None where the index is not there or is another."""
    noted = _notes(project).current()
    current = project.index.current()
    if noted is None or current is None:
        return None
    saved = open_folder(noted, FORMAT, VERSION)
    if saved.settings != wanted.settings() | {"generation": int(current.name)}:
        return None
    ids = json.loads(saved.arrays["ids"].tobytes().decode())
    return dict(zip(ids, saved.arrays["digests"].tolist(), strict=True))


def _note(project: Project, wanted: Wanted, generation: int, digests: Digests) -> None:
    _write_note(project, wanted, generation, digests)
    project.store.note_event(
        "indexed", whoami(), generation=generation, count=len(digests)
    )


def _write_note(
    project: Project, wanted: Wanted, generation: int, digests: Digests
) -> None:
    notes = _notes(project)
    folder = notes.next()
    ids = json.dumps(list(digests)).encode()
    arrays: dict[str, Array] = {
        "ids": np.frombuffer(ids, np.uint8),
        "digests": np.fromiter(digests.values(), np.uint64, len(digests)),
    }
    save(
        folder, FORMAT, VERSION, arrays, wanted.settings() | {"generation": generation}
    )
    notes.put_in_service(folder)
    notes.drop_old(1)


def _notes(project: Project) -> Generations:
    return Generations(project.folder / "indexed")
