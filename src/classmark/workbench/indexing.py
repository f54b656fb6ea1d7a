"""Index a project's documents, and keep the index up to date.

What links say of a document is indexed with it, as its field "anchor". Beside the index
lies what each document was when it was indexed (a digest), so that only documents that
are new or changed are indexed again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Array
from classmark.corpus.documents import Document
from classmark.index.build import Setup, build_segments, entries, require_shards
from classmark.index.index import Index, fill_index
from classmark.index.snapshot import Snapshot, open_snapshot
from classmark.links.graph import anchors
from classmark.problems import Mistake
from classmark.storage import Generations, open_folder, save
from classmark.text.analyzer import Analyzer
from classmark.validation import byte_size
from classmark.workbench.index_folders import ANCHOR, MEMORY, merge_index, with_anchor
from classmark.workbench.project import whoami
from classmark.workbench.stored_documents import Digests, build_on, digest_of
from classmark.workbench.views import Cell, Table

if TYPE_CHECKING:
    from classmark.machines.cluster import Machines
    from classmark.workbench.project import Project

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
