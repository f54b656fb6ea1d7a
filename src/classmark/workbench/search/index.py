"""The index of a project, or of a folder outside any.

The text of links to a document is indexed with it, as its field "anchor". Beside the
index is a digest of each document, so that only new or changed ones are indexed again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
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
from classmark.language import _, ngettext, whole
from classmark.links.pagerank import anchors
from classmark.machines import files
from classmark.problems import refusal, worded
from classmark.progress import remarks
from classmark.storage import Generations, open_folder, save
from classmark.text import Analyzer
from classmark.validation import byte_size
from classmark.workbench.results import Cell, Table
from classmark.workbench.settings import FILE as SETTINGS_FILE
from classmark.workbench.settings import StoreSettings
from classmark.workbench.store.log import whoami
from classmark.workbench.store.store import Store

if TYPE_CHECKING:
    from classmark.machines.cluster import Machines
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk
    from classmark.workbench.team.jobs import Job


ANCHOR, SOURCE, MEMORY = "anchor", "source.json", "512MB"
#: Folders that a project has for itself.
OF_PROJECTS = ("index", "indexed", "live", "models", "rankers", "reports")
FORMAT, VERSION = "classmark-indexed", 1
STANDS = "upto", "act", "number"  # of events, acts and documents: what was indexed
JOB = "index"
Digests = dict[str, int]
Anchors = Mapping[str, str]  # document → the texts of the links to it
LAST_INDEXED = """
SELECT seq, detail FROM events WHERE what = 'indexed' ORDER BY seq DESC LIMIT 1
"""
LAST_CHANGE = """
SELECT coalesce(max(seq), 0) FROM events
WHERE seq > ? AND what IN ('imported', 'documents changed')
"""
STANDING = """
SELECT (SELECT coalesce(max(seq), 0) FROM events),
  (SELECT coalesce(max(seq), 0) FROM judgments),
  (SELECT coalesce(max(number), 0) FROM all_documents)
"""
UNDONE_IMPORT = """
SELECT 1 FROM judgments WHERE seq > ? AND document IS NULL AND undoes IS NOT NULL
"""
TOUCHED = """
SELECT id FROM all_documents WHERE number > ?
UNION SELECT document FROM judgments WHERE seq > ? AND document IS NOT NULL
  AND act IN ('insert', 'delete', 'replace', 'undo')
"""
FACTS = (
    "SELECT count(*), coalesce(max(number), 0), coalesce(sum(length(fields)), 0) "
    "FROM documents"
)
NUMBERS = "SELECT number FROM documents ORDER BY number"
RANGE = (
    "SELECT id, fields FROM documents WHERE number >= ? AND number < ? ORDER BY number"
)
DOCUMENTS = "SELECT id, fields FROM documents ORDER BY number"
DOCUMENT = "SELECT id, fields FROM documents WHERE id = ?"
LINKS = "SELECT links FROM documents WHERE links <> '[]' ORDER BY number"


def index_file(  # noqa: PLR0913 (what a command is asked)
    path: files.Paths,
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
        raise refusal(
            "%(to)s belongs to the project there: choose another folder, or "
            "import the file into the project and index that",
            to=to,
        )
    if to.exists() and (not to.is_dir() or _holds_something_else(to)):
        raise refusal("%(to)s is there and is no index: choose another folder", to=to)
    require_writable(to)
    setup = Setup(Analyzer(), None, positions, byte_size(memory))
    notes: list[str] = []
    if machines is None:
        with remarks() as notes:
            snapshot = _fill_folder(path, format_, to, setup, shards)
    else:
        from classmark.machines.indexing import Building

        source = files.files_of(path, format_)
        snapshot = Building(machines, to, source, setup, read_source).build(shards)
    index = Index(to, snapshot, setup.memory)
    name = ", ".join(map(str, _listed(path)))
    if not len(index):
        raise refusal(
            "%(name)s: there is no document in it: give another one", name=name
        )
    _write_source(to, path, format_)
    described = _described(f"Index of {name} in {to}", index)
    return replace(described, note="\n".join(dict.fromkeys(notes)))


def _described(title: str, index: Index, **changes: int) -> Table:
    """What is indexed, and what changed."""
    row: dict[str, Cell] = {
        "documents": len(index),
        **changes,
        "fields": ", ".join(index.fields),
        "positions": "yes" if index.has_positions else "no",
    }
    if changes:
        row["generation"] = index.generation
    return Table(title, [row])


def read_given(path: files.Paths, format_: str | None) -> Iterator[Record]:
    """Yield the records of a file or folder; or of several, one after the other."""
    if files.is_one(path, format_):
        return read_records(str(path), format_)
    return files.read_files(path, format_)


def read_source(partition: files.Partition, texts: Anchors) -> Iterator[Record]:
    """Yield the records of a partition, with the texts of links to them."""
    for record in files.read_partition(partition):
        yield replace(record, document=with_anchor(record.document, texts))


def _fill_folder(
    path: files.Paths, format_: str | None, to: Path, setup: Setup, shards: int | None
) -> Snapshot:
    """Index here, and where links have texts, once more with those."""
    links: list[tuple[str, str]] = []

    def build(texts: Anchors) -> list[Segment]:
        stream = entries(documents(texts), setup.fields)
        return build_segments(stream, setup, to, shards)

    def documents(texts: Anchors) -> Iterator[Document]:
        for record in read_given(path, format_):
            links.extend(record.links)
            yield with_anchor(record.document, texts)

    def fill() -> list[Segment]:
        segments = build({})
        if texts := anchors(links):
            for segment in segments:
                shutil.rmtree(segment.folder)
            segments = build(texts)
        return segments

    return fill_index(to, setup, fill)


def _listed(paths: files.Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _write_source(to: Path, paths: files.Paths, format_: str | None) -> None:
    names = [
        str(path) if files.is_remote(str(path)) else str(Path(path).resolve())
        for path in _listed(paths)
    ]
    source = {"path": names[0] if len(names) == 1 else names, "format": format_}
    (to / SOURCE).write_text(json.dumps(source) + "\n", encoding="utf-8")


def open_index(folder: Path, memory: str | int = "1GB") -> Index:
    """Open the index in a folder of its own, or say how to make one."""
    require_index(folder)
    return Index.open(folder, memory)


def require_index(folder: Path) -> None:
    """Refuse a folder that holds no index, and say how to make one."""
    if (folder / SETTINGS_FILE).is_file():
        raise refusal(
            "%(folder)s is a project: name it with --project %(folder)s",
            folder=folder,
        )
    if not folder.is_dir() or Generations(folder).current() is None:
        raise refusal(
            "%(folder)s holds no index: make it with classmark index FILE --to "
            "%(folder)s",
            folder=folder,
        )


def check_index(folder: Path) -> Table:
    """Read every byte of an index and verify it."""
    checked = open_index(folder).check()._asdict()
    return Table(f"Index in {folder}: every byte is as written", [checked])


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
    paths = [folder.absolute(), *folder.absolute().parents]
    existing = next(path for path in paths if path.exists())
    if not existing.is_dir():
        raise refusal(
            "%(existing)s is no folder: choose another place for %(folder)s",
            existing=existing,
            folder=folder,
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise refusal(
            "%(existing)s may not be written by you: choose another folder, or "
            "have the right to write there given to you",
            existing=existing,
        )


def with_anchor(document: Document, texts: Anchors) -> Document:
    """Return a document with the texts of links to it, as its field "anchor"."""
    if document.id not in texts:
        return document
    before = [document.fields[ANCHOR]] if ANCHOR in document.fields else []
    text = "\n".join([*before, texts[document.id]])
    return Document(document.id, {**document.fields, ANCHOR: text})


def _holds_something_else(folder: Path) -> bool:
    if Generations(folder).current() is not None:
        return False
    # by a build that did not end
    begun = ("segment-*", ".segment-*", f"{PARTS}*", ".lock")
    return any(not any(map(path.match, begun)) for path in folder.iterdir())


class DocumentRange(NamedTuple):
    """Documents ``low`` to before ``high`` of a store, by their numbers there."""

    path: Path
    server: StoreSettings | None
    low: int
    high: int


class StoreDocuments:
    """All documents of a store, to be indexed by machines.

    count, last, total : how many there are, the last number, and characters of all.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.count, self.last, self.total = map(int, store.run(FACTS).fetchone())

    @property
    def fingerprint(self) -> str:
        """Another where documents came or went; changed ones are found by digests."""
        server = self.store.server
        where = ["", ""] if server is None else [server.url, server.schema]
        path = str(self.store.path.absolute())
        facts = json.dumps([path, *where, self.count, self.last])
        return blake2b(facts.encode(), digest_size=16).hexdigest()

    def cut(self, size: int) -> list[tuple[DocumentRange]]:
        """Cut into ranges of so many documents as have about ``size`` characters."""
        some = max(self.count * size // max(self.total, 1), 1)
        lows = [int(row[0]) for row in self.store.run(NUMBERS).fetchall()[::some]]
        path, server = self.store.path.absolute(), self.store.server
        edges = pairwise([*lows, self.last + 1])
        return [(DocumentRange(path, server, low, high),) for low, high in edges]


def read_range(part: DocumentRange, texts: Anchors) -> Iterator[Record]:
    """Yield documents of a store, which a worker opens itself, and link texts."""
    with Store(part.path, server=part.server) as store:
        for id_, fields in store.run(RANGE, (part.low, part.high)):
            yield Record(with_anchor(Document(id_, json.loads(fields)), texts))


def digest_of(document: Document) -> int:
    """Return a number that is another as soon as the fields of a document are."""
    texts = json.dumps(list(document.fields.items()), ensure_ascii=False)
    content = texts.encode(errors="surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def index_project(
    project: Project,
    memory: str = MEMORY,
    *,
    positions: bool | None = None,
    machines: Machines | None = None,
    shards: int | None = None,
    by_log: bool = False,
) -> Table:
    """Build the project's index, or bring it up to date.

    positions : whether places of words are kept, for phrases; None: as they were.
    machines : who builds it; what changed is brought up to date here.
    shards : how many segments it is to have; it is built anew where it has others.
    by_log : look only at documents that changed by the log, where it says which.
    """
    project.require_texts(_("a search needs words"))
    require_shards(shards)
    folder = project.index.folder
    if positions is None:
        positions = project.index.current() is not None and (
            Index.open(folder).has_positions
        )
    settings = _settings(project, positions=positions)
    standing = dict(zip(STANDS, project.store.run(STANDING).fetchone(), strict=True))
    rows = project.store.run(LINKS)
    texts = anchors((to, text) for (row,) in rows for to, text in json.loads(row))
    before = _read_digests(project, settings)
    after: Digests = {}
    if before is None or not _has_shards(folder, shards):
        setup = Setup(
            Analyzer.parse(settings["analyzer"]),
            None if settings["fields"] is None else tuple(settings["fields"]),
            positions,
            byte_size(memory),
        )
        snapshot = _build(project, setup, texts, after, machines, shards)
        index = Index(folder, snapshot, setup.memory)
        changed = {"added": len(after), "replaced": 0, "deleted": 0}
    else:
        index = Index.open(folder, memory)
        ids = changed_since(project) if by_log else None
        if ids is not None:
            after |= {id_: digest for id_, digest in before.items() if id_ not in ids}
        stream = noted(project_documents(project, texts, ids), after)
        changed = _update(index, before, stream, after)
    _write_digests(project, settings, index.generation, after)
    project.store.note_event(
        "indexed", whoami(), generation=index.generation, count=len(after), **standing
    )
    return _described(f"Index of {project.settings.name}", index, **changed)


def index_words(row: Mapping[str, Any]) -> str:
    """What the index has, and what has changed of it, in words."""
    return ngettext(
        "%(n)s document is indexed: %(added)s new, %(changed)s changed, %(gone)s "
        "removed",
        "%(n)s documents are indexed: %(added)s new, %(changed)s changed, %(gone)s "
        "removed",
        row["documents"],
        added=whole(row["added"]),
        changed=whole(row["replaced"]),
        gone=whole(row["deleted"]),
    )


def start_indexing(desk: Desk, who: str = "", *, positions: bool | None = None) -> Job:
    """Index the documents, or what changed of them, as a job, or as that which runs."""
    if positions is None and (running := desk.jobs.running(JOB)):
        return running[-1]

    def work(project: Project) -> str:
        return index_words(index_project(project, positions=positions).rows[0])

    return desk.jobs.start(JOB, work, who)


def _build(
    project: Project,
    setup: Setup,
    texts: Anchors,
    digests: Digests,
    machines: Machines | None,
    shards: int | None,
) -> Snapshot:
    """Index all documents, here or on machines; ``digests`` gets that of each."""
    folder = project.index.folder
    if machines is not None:
        from classmark.machines.indexing import Building

        documents = StoreDocuments(project.store)
        building = Building(machines, folder, documents, setup, read_range, digest_of)
        snapshot = building.build(shards, texts)
        digests |= building.digests
        return snapshot
    stream = entries(noted(project_documents(project, texts), digests), setup.fields)
    return fill_index(
        folder, setup, lambda: build_segments(stream, setup, folder, shards)
    )


def _has_shards(folder: Path, shards: int | None) -> bool:
    """Say whether an index has so many segments; any number will do if None."""
    if shards is None:
        return True
    snapshot = open_snapshot(folder)
    return len(snapshot.parts) == min(shards, snapshot.n_items)


def merge_project_index(project: Project, memory: str = MEMORY) -> Table:
    """Merge the index of a project, and note that it has the same documents."""
    index = open_project_index(project)
    settings = _settings(project, positions=index.has_positions)
    digests = _read_digests(project, settings)
    merged = merge_index(project.index.folder, memory)
    if digests is not None:
        generation = Index.open(index.path).generation
        _write_digests(project, settings, generation, digests)
    return merged


def open_project_index(project: Project, memory: str | int = "1GB") -> Index:
    """Open the index of a project, or say how to make one.

    memory : where the postings of a field, decoded, fit it, they are kept decoded.
    """
    return Index.open(index_folder(project), memory)


def stale_note() -> str:
    """What to know of an index that lacks the newest documents."""
    return _(
        "documents were added or changed since: %(remedy)s",
        remedy=worded("classmark index brings the index up to date"),
    )


def index_folder(project: Project) -> Path:
    """Return where the index of a project is, or say how to make one."""
    if project.index.current() is None:
        raise refusal(
            "%(folder)s has no index yet: make it %(remedy)s",
            folder=project.folder,
            remedy=worded(
                "with classmark index --project {folder}", folder=project.folder
            ),
        )
    return project.index.folder


def is_stale(project: Project) -> bool:
    """Whether documents came, went or were replaced after the index was made."""
    return last_change(project) > 0


def last_change(project: Project) -> int:
    """The number of the last change of documents since they were indexed; 0: none."""
    seq, detail = project.store.run(LAST_INDEXED).fetchone() or (-1, "{}")
    upto = json.loads(detail).get("upto", seq)
    return int(project.store.run(LAST_CHANGE, (upto,)).fetchone()[0])


def changed_since(project: Project) -> set[str] | None:
    """The ids of documents that may differ from what is indexed; None: any may."""
    run, current = project.store.run, project.index.current()
    detail = json.loads((run(LAST_INDEXED).fetchone() or (0, "{}"))[1])
    if current is None or detail.get("generation") != int(current.name):
        return None
    if not detail.keys() >= set(STANDS) or run(LINKS).fetchone():
        return None  # a link's text is indexed with the document it points to
    if run(UNDONE_IMPORT, (detail["act"],)).fetchone():
        return None
    return {id_ for (id_,) in run(TOUCHED, (detail["number"], detail["act"]))}


def _settings(project: Project, *, positions: bool) -> dict[str, Any]:
    """How the index is made: its analyzer, its fields (None: all), positions."""
    text = project.settings.text
    fields = [*text.fields, ANCHOR] if text.fields else None
    return {"analyzer": text.analyzer, "fields": fields, "positions": positions}


def project_documents(
    project: Project, texts: Anchors, ids: Iterable[str] | None = None
) -> Iterator[Document]:
    """Yield all documents, or those of some ids, with the texts of links to them."""
    run = project.store.run
    some = (row for id_ in sorted(ids or ()) for row in run(DOCUMENT, (id_,)))
    for id_, fields in run(DOCUMENTS) if ids is None else some:
        yield with_anchor(Document(id_, json.loads(fields)), texts)


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
        if any(counts.values()):
            index.commit()
    finally:
        index.discard()  # what is not committed
    return counts


def _read_digests(project: Project, settings: dict[str, Any]) -> Digests | None:
    """Return what was indexed; None where the index is not there or is another."""
    folder = Generations(project.folder / "indexed").current()
    current = project.index.current()
    if folder is None or current is None:
        return None
    saved = open_folder(folder, FORMAT, VERSION)
    if saved.settings != settings | {"generation": int(current.name)}:
        return None
    ids = json.loads(saved.arrays["ids"].tobytes().decode())
    return dict(zip(ids, saved.arrays["digests"].tolist(), strict=True))


def _write_digests(
    project: Project, settings: dict[str, Any], generation: int, digests: Digests
) -> None:
    generations = Generations(project.folder / "indexed")
    folder = generations.next()
    ids = json.dumps(list(digests)).encode()
    arrays: dict[str, Array] = {
        "ids": np.frombuffer(ids, np.uint8),
        "digests": np.fromiter(digests.values(), np.uint64, len(digests)),
    }
    save(folder, FORMAT, VERSION, arrays, settings | {"generation": generation})
    generations.put_in_service(folder)
    generations.drop_old(1)
