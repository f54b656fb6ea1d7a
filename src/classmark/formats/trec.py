"""TREC: documents, topics, judgments (qrels) and runs."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from classmark.corpus.documents import Document
from classmark.formats.records import Judgment, Record, Retrieved
from classmark.formats.reuters import TAG, elements, plain
from classmark.formats.text_files import lines, raw_lines, write_lines
from classmark.problems import Mistake

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

TITLES = ("title", "headline", "hl", "head", "ttl")
FACTS = (
    "docno", "date", "byline", "pub", "page", "section", "profile", "docid", "dochdr",
    "author",
)  # fmt: skip
PLACES = dict.fromkeys(TITLES, "title") | {name: name for name in FACTS}
TOPIC = {"title": "title", "desc": "description", "narr": "narrative", "dom": "domain"}
CAPTION = re.compile(
    r"\s*(Number|Topic|Domain|Description|Narrative|Title)\s*:", re.IGNORECASE
)


def read_trec(path: Path | str, *, encoding: str = "latin-1") -> Iterator[Record]:
    """Yield the documents of a file of ``<DOC><DOCNO>…</DOCNO> … </DOC>``.

    ``title`` is the text of TITLE, HEADLINE, HL, HEAD and TTL; DATE, BYLINE, PUB, PAGE,
    SECTION, PROFILE, DOCID and the like go to ``meta``; all else, tagged or not, is
    ``body``. Tags are left out, the five entities and numeric ones decoded.
    """
    documents = elements(raw_lines(path, encoding), "DOC", path)
    for _, (_, content) in documents:
        parts = _parts(content)
        number = "".join(parts.pop("docno", ())).strip()
        fields: dict[str, str] = {}
        for key in ("title", "body"):
            text = "".join(parts.pop(key, ())).strip()
            if text:
                fields[key] = text
        facts = {key: " ".join("".join(texts).split()) for key, texts in parts.items()}
        yield Record(Document(documents.new_id(number), fields), {}, facts)


def _parts(content: str) -> dict[str, list[str]]:
    """Share the text among docno, title, body and facts by the outermost known tag."""
    parts: dict[str, list[str]] = {}
    place, opened, start = "body", "", 0
    for tag in TAG.finditer(content):
        parts.setdefault(place, []).append(plain(content[start : tag.start()]))
        start = tag.end()
        name = tag[2].lower()
        if opened:
            if tag[1] and name == opened:
                place, opened = "body", ""
        elif not tag[1] and name in PLACES:
            place, opened = PLACES[name], name
        parts.setdefault(place, []).append(" " if place == "body" else "")
    parts.setdefault(place, []).append(plain(content[start:]))
    return parts


def read_trec_topics(
    path: Path | str, *, encoding: str = "latin-1"
) -> Iterator[Record]:
    """Yield topics: ``<top> <num> … <title> … <desc> … <narr> … </top>``.

    Tags may be closed or not; the captions ``Number:``, ``Topic:``, ``Description:``
    and ``Narrative:`` are left out. Fields: ``title``, ``description``, ``narrative``,
    ``domain``.
    """
    topics = elements(raw_lines(path, encoding), "top", path)
    for _, (_, content) in topics:
        tags = [tag for tag in TAG.finditer(content) if not tag[1]]
        ends = [*(tag.start() for tag in tags), len(content)][1:]
        texts: dict[str, str] = {}
        for tag, end in zip(tags, ends, strict=True):
            text = plain(TAG.sub(" ", content[tag.end() : end]))
            caption = CAPTION.match(text)
            text = text[caption.end() :] if caption else text
            texts.setdefault(tag[2].lower(), text.strip())
        fields = {to: texts[key] for key, to in TOPIC.items() if texts.get(key)}
        yield Record(Document(topics.new_id(texts.get("num", "")), fields))


def read_qrels(path: Path | str, *, columns: int = 4) -> Iterator[Judgment]:
    """Yield judgments: ``query iteration document grade`` on each line.

    With ``columns=3`` the lines are ``query document grade``, as in RCV1's label file.
    """
    if columns not in {3, 4}:
        raise Mistake(f"columns={columns}: qrels have 4 columns, or 3 in RCV1's form")
    file = lines(path, blank=False)
    for _, line in file:
        row = line.split()
        if len(row) != columns:
            file.refuse(f"{len(row)} columns, not {columns}: mend the line")
        yield Judgment(row[0], row[-2], file.finite(row[-1], "grade"))


def write_qrels(judgments: Iterable[Judgment], path: Path | str) -> int:
    """Write judgments as ``query 0 document grade``, and return how many."""
    rows = (
        f"{_word(query)} 0 {_word(document)} {_shortest(grade)}\n"
        for query, document, grade in judgments
    )
    return write_lines(rows, path)


def _shortest(number: float) -> str:
    if not math.isfinite(number):
        raise Mistake(f"{number} cannot be written: give finite numbers")
    return str(int(number)) if number == int(number) else repr(float(number))


def _word(word: str) -> str:
    if len(word.split()) != 1 or word != word.strip():
        raise Mistake(f"{word!r} cannot be a column: use ids without blanks")
    return word


def read_run(path: Path | str) -> Iterator[Retrieved]:
    """Yield the lines of a run: ``query Q0 document rank score name``."""
    file = lines(path, blank=False)
    for _, line in file:
        row = line.split()
        if len(row) != 6 or not row[3].removeprefix("-").isdecimal():
            file.refuse("not 'query Q0 document rank score name': mend the line")
        score = file.finite(row[4], "score")
        yield Retrieved(row[0], row[2], score, int(row[3][:18]), row[5])


def write_run(
    run: Mapping[str, Mapping[str, float]], path: Path | str, *, name: str = "classmark"
) -> int:
    """Write query → document → score, best first, and return how many lines.

    Ranks begin at 1; equal scores keep the order of the ids.
    """
    rows = (
        f"{_word(query)} Q0 {_word(document)} {rank} {_shortest(score)} {_word(name)}\n"
        for query, scores in run.items()
        for rank, (document, score) in enumerate(
            sorted(scores.items(), key=lambda item: (-item[1], item[0])), 1
        )
    )
    return write_lines(rows, path)
