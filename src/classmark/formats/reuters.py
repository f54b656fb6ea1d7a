"""Reuters-21578: newswire stories of 1987 in their original SGML [Lewis97].

Each story becomes a record: id ``NEWID``, fields ``title`` and ``body``, labels the
TOPICS. In ``meta``: ``lewissplit``, ``cgisplit``, ``topics`` (the attribute),
``oldid``, ``date``, ``type`` (NORM, BRIEF, UNPROC), and, where given, ``author``,
``dateline``, ``places``, ``people``, ``orgs``, ``exchanges``, ``companies`` (names
joined by ``|``).
"""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from classmark.corpus.document import Document
from classmark.formats.archive import entries, is_archive
from classmark.formats.ids import Ids
from classmark.formats.record import SECONDARY, Record
from classmark.formats.sgml import TAG, elements, inside, plain
from classmark.formats.text_files import LIMITS, Limits, lines_of
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator

ATTRIBUTE = re.compile(r'([A-Z]+)="([^"<>]*)"')
NAME = re.compile(r"<D>([^<]*)</D>")
TEXT = re.compile(r'<TEXT(?: TYPE="(\w+)")?>')
NEEDED = ("NEWID", "LEWISSPLIT", "TOPICS")
LISTS = ("PLACES", "PEOPLE", "ORGS", "EXCHANGES", "COMPANIES")


def read_reuters(path: Path | str, *, limits: Limits = LIMITS) -> Iterator[Record]:
    """Yield the stories of one ``.sgm`` file, or of a folder or archive of them."""
    ids = Ids()
    many = Path(path).is_dir() or is_archive(path)
    found = False
    for entry in entries(path, limits):
        if many and not fnmatch(PurePosixPath(entry.name).name, "*.sgm*"):
            continue
        found = True
        with entry.open() as stream:
            numbered = lines_of(stream, entry.where, "latin-1", limits)
            for line, tag, story in elements(numbered, "REUTERS", entry.where, limits):
                record = _record(tag, story, entry.where, line)
                ids.new(record.id, entry.where, line)
                yield record
    if not found:
        raise UnreadableFile(path, None, "holds no .sgm file: give reut2-*.sgm")


def _record(tag: str, story: str, path: str, line: int) -> Record:
    attributes = dict(ATTRIBUTE.findall(tag))
    missing = [name for name in NEEDED if name not in attributes]
    if missing:
        raise UnreadableFile(
            path, line, f"<REUTERS> without {', '.join(missing)}: restore the attribute"
        )
    opening = TEXT.search(story)
    if opening is None:
        raise UnreadableFile(path, line, "a story without <TEXT>: restore it")
    kind, text = opening[1] or "NORM", story[opening.end() :].split("</TEXT>", 1)[0]
    head = story[: opening.start()]
    meta = {
        "lewissplit": attributes["LEWISSPLIT"],
        "topics": attributes["TOPICS"],
        "cgisplit": attributes.get("CGISPLIT", ""),
        "oldid": attributes.get("OLDID", ""),
        "date": _tidy(inside(head, "DATE")),
        "type": kind,
        "author": _tidy(inside(text, "AUTHOR")),
        "dateline": _tidy(inside(text, "DATELINE")),
        **{name.lower(): "|".join(_names(head, name)) for name in LISTS},
    }
    return Record(
        Document(attributes["NEWID"], _fields(text, kind)),
        dict.fromkeys(_names(head, "TOPICS"), SECONDARY),
        {name: fact for name, fact in meta.items() if fact},
    )


def _fields(text: str, kind: str) -> dict[str, str]:
    body = inside(text, "BODY")
    if body is None and kind == "UNPROC":
        body = TAG.sub(" ", text)
    fields = {"title": _tidy(inside(text, "TITLE")), "body": plain(body or "").strip()}
    return {name: value for name, value in fields.items() if value}


def _tidy(text: str | None) -> str:
    return " ".join(plain(text or "").split())


def _names(head: str, element: str) -> list[str]:
    return [plain(name).strip() for name in NAME.findall(inside(head, element) or "")]


def modapte_part(record: Record) -> str | None:
    """Tell the part of the Modified Apté split: ``"train"``, ``"test"`` or None.

    train: LEWISSPLIT is TRAIN and TOPICS is YES (9,603 stories);
    test: LEWISSPLIT is TEST and TOPICS is YES (3,299 stories) [Lewis97].
    With at least one topic: 7,775 and 3,019. 115 topics have a training story, and the
    3,019 are the same stories whether any topic counts or only one of these 115.

    >>> story = Record(Document("1"), {}, {"lewissplit": "TEST", "topics": "YES"})
    >>> modapte_part(story)
    'test'
    """
    if record.meta.get("topics") != "YES":
        return None
    return {"TRAIN": "train", "TEST": "test"}.get(record.meta.get("lewissplit", ""))
