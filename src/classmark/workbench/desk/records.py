"""Documents as programs put them and read them: one, a page of them, or all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classmark.corpus.documents import Document
from classmark.formats.jsonl import mapping_from
from classmark.formats.records import Record
from classmark.workbench.project import Project

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk
    from classmark.workbench.log import Judged

BLOCK = 200  # lines handed over at once


@dataclass(frozen=True, slots=True)
class Content:
    """What a document says: name → text; facts; links as (id, anchor)."""

    fields: Mapping[str, str]
    meta: Mapping[str, str] = field(default_factory=dict)
    links: Sequence[tuple[str, str]] = ()


def put(desk: Desk, contents: Mapping[str, Content]) -> None:
    """Add documents by their ids, or replace what they say; labels stay."""
    records = [
        Record(
            Document(id_, dict(each.fields)),
            meta=dict(each.meta),
            links=tuple((to, anchor) for to, anchor in each.links),
        )
        for id_, each in contents.items()
    ]
    with desk.writing() as project:
        project.store.put_documents(records)


def page_of(desk: Desk, after: str | None, top: int) -> list[Judged]:
    """So many documents in order of arrival, those that follow ``after``."""
    store = desk.project.store
    ids = store.run(
        "SELECT id FROM documents WHERE number > coalesce("
        "(SELECT number FROM documents WHERE id = ?), 0) ORDER BY number LIMIT ?",
        (after or "", top),
    ).fetchall()
    return [store.record(id_) for (id_,) in ids]


def as_lines(folder: Path) -> Iterator[str]:
    """Every document with its labels as a line of JSON, some hundred at a time.

    By a connection of its own: whoever reads on may be another thread.
    """
    with Project(folder, shared=True) as project:
        lines = (_line(record) for record in project.store.records())
        while block := "".join(islice(lines, BLOCK)):
            yield block


def _line(record: Record) -> str:
    row: dict[str, Any] = mapping_from(record)
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
