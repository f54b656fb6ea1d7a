"""Documents from text that somebody pasted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.language import whole
from classmark.problems import refusal
from classmark.workbench.files.importing import import_records

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk


MOST = 10_000  # documents at once
TITLE = 120  # characters of a first line that is a title
_BLANK = re.compile(r"\n[ \t]*\n\s*")


def cut(text: str, *, by_line: bool = False) -> list[dict[str, str]]:
    r"""The fields of each document: blank lines are between them, or one is one line.

    Of several lines the first is the title, where it is short.

    >>> cut("Salt road\nA walk.\n\nBees in May")
    [{'title': 'Salt road', 'text': 'A walk.'}, {'text': 'Bees in May'}]
    """
    text = text.replace("\r\n", "\n").strip()
    parts = text.split("\n") if by_line else _BLANK.split(text)
    return [_fields(part.strip()) for part in parts if part.strip()]


def _fields(part: str) -> dict[str, str]:
    first, _, rest = part.partition("\n")
    if rest.strip() and len(first.strip()) <= TITLE:
        return {"title": first.strip(), "text": rest.strip()}
    return {"text": part}


def paste_documents(desk: Desk, text: str, who: str, *, by_line: bool = False) -> int:
    """Add pasted documents, numbered on from those that are here; return how many."""
    contents = cut(text, by_line=by_line)
    if not contents:
        raise refusal("no text was pasted: paste some documents first")
    if len(contents) > MOST:
        raise refusal(
            "at most %(most)s documents can be pasted at once: upload a file for more",
            most=whole(MOST),
        )
    with desk.writing() as project:
        ids = _free_ids(project.store.ids())
        records = [Record(Document(next(ids), fields)) for fields in contents]
        import_records(project, records, "pasted text", who)
    desk.look_again()
    return len(contents)


def _free_ids(taken: set[str]) -> Iterator[str]:
    number = len(taken)
    while True:
        number += 1
        if (id_ := f"note-{number}") not in taken:
            yield id_
