"""Documents one by one: added, deleted and restored; and imports undone as one act."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import refusal
from classmark.workbench.results import Logged, Table
from classmark.workbench.store.log import CHANGED, whoami
from classmark.workbench.store.store import titles
from classmark.workbench.store.undo import chain_of, is_undone, undo

if TYPE_CHECKING:
    from classmark.workbench.project import Project


LAST_DELETE = """
SELECT max(seq) FROM judgments AS j WHERE document = ? AND act = 'delete'
AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq)
"""
DELETED = """
SELECT j.document, j.seq, j.at, j.who FROM judgments AS j
JOIN all_documents AS d ON d.id = j.document AND d.stands = 0
WHERE j.act = 'delete' AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq)
ORDER BY j.seq DESC LIMIT ?
"""
IMPORTS = "SELECT at, who, detail FROM events WHERE what = 'imported' ORDER BY seq DESC"


def put_document(
    project: Project,
    id_: str,
    fields: Mapping[str, str],
    meta: Mapping[str, str] | None = None,
    links: Iterable[tuple[str, str]] = (),
    who: str = "",
) -> None:
    """Add a document by its id, or replace what it says; its labels stay."""
    document = Document(id_, dict(fields))
    record = Record(document, meta=dict(meta or {}), links=tuple(links))
    who = who or whoami()
    if project.store.contents([id_]):
        project.store.put_documents([record], who)
    else:
        project.store.insert_document(record, who)
    project.store.note_event(CHANGED, who, document=id_)


def add_document(
    project: Project, id_: str, fields: Mapping[str, str], who: str = ""
) -> str:
    """Add a document that somebody wrote; return its id, made here if it is empty."""
    texts = {name: text.strip() for name, text in fields.items() if text.strip()}
    if not texts:
        raise refusal("the document is empty: enter a title or a text")
    id_ = id_.strip() or f"added-{secrets.token_hex(4)}"
    with project.store.transaction():
        if project.store.contents([id_]):
            raise refusal(
                "there is already a document %(id)r: enter another id", id=id_
            )
        put_document(project, id_, texts, who=who)
    return id_


def delete_documents(project: Project, ids: Sequence[str], who: str = "") -> Logged:
    """Delete documents, each as an act of the log that can be undone."""
    who = who or whoami()
    with project.store.transaction():
        seqs = [project.store.delete_document(id_, who) for id_ in ids]
        project.store.note_event(CHANGED, who, deleted=len(seqs))
    listed = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
    return Logged(tuple(seqs), f"deleted: {listed}")


def restore_documents(project: Project, ids: Sequence[str], who: str = "") -> Logged:
    """Bring deleted documents back, with what was said of them."""
    who, numbers = who or whoami(), list[int]()
    with project.store.transaction():
        for id_ in ids:
            (seq,) = project.store.run(LAST_DELETE, (id_,)).fetchone()
            if seq is None or project.store.contents([id_]):
                raise refusal(
                    "%(id)r is not a deleted document: choose one that is", id=id_
                )
            numbers += undo(project, int(seq), who).numbers
    return Logged(tuple(numbers), f"restored: {', '.join(ids)}")


@dataclass(frozen=True, slots=True)
class DeletedDocument:
    """A document that was deleted, by which act, when and by whom."""

    document: str
    title: str
    act: int
    at: str
    who: str


def deleted_documents(project: Project, top: int = 50) -> tuple[DeletedDocument, ...]:
    """The documents that were deleted, the last first."""
    rows = project.store.run(DELETED, (top,)).fetchall()
    named = titles(project.store, {id_ for id_, *_ in rows})
    return tuple(DeletedDocument(id_, named[id_], *facts) for id_, *facts in rows)


@dataclass(frozen=True, slots=True)
class PastImport:
    """An import that can be undone as one act, or brought back.

    act : its number;  undone : whether it is;  again : the number that brings it back.
    """

    act: int
    at: str
    who: str
    source: str
    new: int
    replaced: int
    undone: bool
    again: int


def past_imports(project: Project, top: int = 10) -> tuple[PastImport, ...]:
    """The last imports, the newest first; several files at once are one."""
    imports: dict[int, PastImport] = {}
    for at, who, text in project.store.run(IMPORTS):
        detail = json.loads(text)
        if (act := detail.get("act")) is None:
            continue
        if act in imports:
            one = imports[act]
            counts = {k: getattr(one, k) + detail[k] for k in ("new", "replaced")}
            source = f"{detail['source']}, {one.source}"
            imports[act] = replace(one, source=source, **counts)
        elif len(imports) == top:
            break
        else:
            chain = chain_of(project.store, act)
            imports[act] = PastImport(
                act, at, who, detail["source"], detail["new"], detail["replaced"],
                is_undone(project.store, act), max(chain),
            )  # fmt: skip
    return tuple(imports.values())


def list_deleted(project: Project, top: int = 50) -> Table:
    """The documents that were deleted, the last first."""
    rows = [asdict(each) for each in deleted_documents(project, top)]
    return Table("Deleted documents", rows, "" if rows else "none is deleted")


def undo_import(project: Project, act: int, who: str = "") -> Logged:
    """Undo an import as one act, or bring it back where it is undone.

    Its documents go, with what was decided on them since; what it replaced comes back;
    categories that it brought stay while others use them.
    """
    with project.store.transaction():
        newest = max(chain_of(project.store, act), default=act)
        return undo(project, newest, who or whoami())
