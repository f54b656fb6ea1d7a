"""SMART collections: Cranfield, CACM, ADI and their kin, by ``.I .T .A .B .W`` markers.

Fields: ``title`` (.T), ``author`` (.A), ``body`` (.W), ``keywords`` (.K). Labels: the
categories (.C). Meta: ``source`` (.B), ``note`` (.N). Links: the documents that cite it
or that it cites (.X of type 5). Numbers lose their leading zeros. A marker that comes
twice adds to what it gave before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from classmark.corpus.document import Document
from classmark.formats.ids import Ids
from classmark.formats.judged import Judgment
from classmark.formats.record import SECONDARY, Record
from classmark.formats.text_files import lines
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START = re.compile(r"\.I\s+(\d{1,18})\s*")
MARKER = re.compile(r"\.([A-Z])\s*")
FIELDS = {"T": "title", "A": "author", "W": "body", "K": "keywords"}
FACTS = {"B": "source", "N": "note"}
CITES = "5"


def read_smart(
    path: Path | str, *, ordinal: bool = False, encoding: str = "latin-1"
) -> Iterator[Record]:
    """Yield the documents, or the queries, of a SMART file.

    With ``ordinal`` the ids are 1, 2, 3… in the file's order: Cranfield's queries have
    numbers with gaps, and its judgments count them.
    """
    ids = Ids()
    for count, (line, number, parts) in enumerate(_blocks(path, encoding), 1):
        name = str(count) if ordinal else number
        yield _record(ids.new(name, str(path), line), parts)


def _blocks(
    path: Path | str, encoding: str
) -> Iterator[tuple[int, str, dict[str, list[str]]]]:
    start, number, held = 0, "", None
    parts: dict[str, list[str]] = {}
    for line, text in lines(path, encoding):
        begun = START.fullmatch(text)
        if begun:
            if number:
                yield start, number, parts
            start, number, parts, held = line, str(int(begun[1])), {}, None
        elif (marker := MARKER.fullmatch(text)) and number:
            held = parts.setdefault(marker[1], [])
        elif held is not None:
            held.append(text)
        elif text.strip():
            raise UnreadableFile(
                path, line, f"{text:.40} before a marker: begin with .I NUMBER and .T"
            )
    if number:
        yield start, number, parts


def _record(name: str, parts: dict[str, list[str]]) -> Record:
    joined = {marker: "\n".join(held).strip() for marker, held in parts.items()}
    fields = {to: joined[marker] for marker, to in FIELDS.items() if joined.get(marker)}
    facts = {to: joined[marker] for marker, to in FACTS.items() if joined.get(marker)}
    categories = joined.get("C", "").replace(",", " ").split()
    cited = [text.split() for text in parts.get("X", [])]
    links = dict.fromkeys(
        row[0] for row in cited if len(row) == 3 and row[1] == CITES and row[0] != name
    )
    return Record(
        Document(name, fields),
        dict.fromkeys(categories, SECONDARY),
        facts,
        tuple((to, "") for to in links),
    )


def read_smart_judgments(path: Path | str) -> Iterator[Judgment]:
    """Yield the judgments of ``cranqrel``, ``qrels.text`` (CACM) or ``ADI.REL``.

    Three columns are Cranfield's ``query document code``: codes 1 (a complete answer)
    to 4 (of minimum interest) become the grades 4 to 1, and 5 and −1 (of no interest)
    become 0. Four columns are ``query document 0 0`` in CACM and ADI: grade 1.
    """
    for number, line in lines(path, "latin-1"):
        row = line.split()
        if row:
            yield _judgment(row, str(path), number)


def _judgment(row: list[str], path: str, line: int) -> Judgment:
    whole = len(row) in {3, 4} and all(part.isdecimal() for part in row[:2])
    if whole and len(row) == 3 and row[2] in {"1", "2", "3", "4", "5", "-1"}:
        code = int(row[2])
        grade = 0.0 if code < 0 else float(5 - code)
    elif whole and len(row) == 4 and {row[2], row[3]} <= {"0", "0.000000"}:
        grade = 1.0
    else:
        raise UnreadableFile(
            path, line, "not 'query document code' nor 'query document 0 0': mend it"
        )
    return Judgment(_number(row[0]), _number(row[1]), grade)


def _number(digits: str) -> str:
    return digits.lstrip("0") or "0"
