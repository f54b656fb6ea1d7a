"""Reuters-21578: newswire stories of 1987 in their original SGML [Lewis97].

Each story becomes a record: id ``NEWID``, fields ``title`` and ``body``, labels the
TOPICS. In ``meta``: ``lewissplit``, ``cgisplit``, ``topics`` (the attribute),
``oldid``, ``date``, ``type`` (NORM, BRIEF, UNPROC), and, where given, ``author``,
``dateline``, ``places``, ``people``, ``orgs``, ``exchanges``, ``companies`` (names
joined by ``|``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from classmark.corpus.documents import Document
from classmark.formats.archive import entries, is_archive
from classmark.formats.records import SECONDARY, Record
from classmark.formats.text_files import (
    LIMITS,
    FileLimits,
    FilePlace,
    Numbered,
    lines_of,
)
from classmark.problems import UnreadableFile

ENTITY = re.compile(r"&(lt|gt|amp|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*+)([^<>]*+)>")
DECLARATION = re.compile(
    r"<!\s*+(ENTITY|ELEMENT|ATTLIST|NOTATION|DOCTYPE[^<>\[]*+\[)", re.IGNORECASE
)


def plain(text: str) -> str:
    """Decode the five entities and numbers, once; control characters become spaces.

    >>> plain("A&amp;P &lt;GAP> &#2;&unknown;")
    'A&P <GAP>  &unknown;'
    """
    return CONTROL.sub(" ", ENTITY.sub(_decoded, text)) if text else ""


def _decoded(match: re.Match[str]) -> str:
    name = match[1]
    if name in NAMED:
        return NAMED[name]
    code = int(f"0{name[1:]}", 16) if name[1] in "xX" else int(name[1:])
    unusable = code > 0x10FFFF or 0xD800 <= code <= 0xDFFF
    return " " if unusable else chr(code)


def elements(
    lines: Iterable[tuple[int, str]],
    name: str,
    path: Path | str,
    limits: FileLimits = LIMITS,
    ids: set[str] | None = None,
) -> Numbered[tuple[str, str]]:
    """Return (line, (opening tag, content)) of each outermost ``<name …>``.

    An element begins on a line of its own; between them only blank lines, a DOCTYPE and
    comments may stand. Declarations of entities and internal subsets are refused.
    """
    file = Numbered(path, lines)
    return Numbered(path, _elements(file, name, limits), ids)


def _elements(
    file: Numbered[str], name: str, limits: FileLimits
) -> Iterator[tuple[int, tuple[str, str]]]:
    opening = re.compile(rf"\s*<{name}(\s[^<>]*)?>", re.IGNORECASE)
    closing = f"</{name}>".lower()
    start, tag, size = 0, "", 0
    parts: list[str] = []
    for number, line in file:
        if "<!" in line and DECLARATION.search(line):
            file.refuse("declares entities: remove the declaration, none is expanded")
        rest = line
        if not tag:
            match = opening.match(line)
            if match is None:
                _refuse_stray(line, name, file)
                continue
            start, tag, parts, size = number, match[0], [], 0
            rest = line[match.end() :]
        end = rest.lower().find(closing)
        parts.append(rest if end < 0 else rest[:end])
        size += len(rest)
        if size > limits.line:
            FilePlace(file.path, start).refuse(
                f"<{name}> is not closed: add </{name}>, or raise limits"
            )
        if end >= 0:
            yield start, (tag, "".join(parts))
            tag = ""
            _refuse_stray(rest[end + len(closing) :], name, file)
    if tag:
        raise UnreadableFile(file.path, start, f"<{name}> is not closed: add </{name}>")


def _refuse_stray(text: str, name: str, place: FilePlace) -> None:
    text = text.strip()
    if text and not (text.startswith("<!") and text.endswith(">")):
        place.refuse(f"{text:.40} stands outside <{name}>: remove it")


def inside(text: str, name: str) -> str | None:
    """Return what stands between ``<name>`` and ``</name>``, or None.

    >>> inside("<TITLE>Bees</TITLE>", "TITLE")
    'Bees'
    """
    start = text.find(f"<{name}>")
    if start < 0:
        return None
    start += len(name) + 2
    end = text.find(f"</{name}>", start)
    return text[start : end if end >= 0 else len(text)]


ATTRIBUTE = re.compile(r'([A-Z]+)="([^"<>]*)"')
NAME = re.compile(r"<D>([^<]*)</D>")
TEXT = re.compile(r'<TEXT(?: TYPE="(\w+)")?>')
NEEDED = ("NEWID", "LEWISSPLIT", "TOPICS")
LISTS = ("PLACES", "PEOPLE", "ORGS", "EXCHANGES", "COMPANIES")


def read_reuters(path: Path | str, *, limits: FileLimits = LIMITS) -> Iterator[Record]:
    """Yield the stories of one ``.sgm`` file, or of a folder or archive of them.

    A file is UTF-8 where all of it is that, else Latin-1.
    """
    ids: set[str] = set()
    many = Path(path).is_dir() or is_archive(path)
    has_files = False
    for entry in entries(path, limits):
        if many and not fnmatch(PurePosixPath(entry.name).name, "*.sgm*"):
            continue
        has_files, encoding = True, entry.encoding()
        with entry.open() as stream:
            numbered = lines_of(stream, entry.where, encoding, limits)
            stories = elements(numbered, "REUTERS", entry.where, limits, ids)
            for _, (tag, story) in stories:
                record = _record(tag, story, stories)
                stories.new_id(record.id)
                yield record
    if not has_files:
        raise UnreadableFile(path, None, "holds no .sgm file: give reut2-*.sgm")


def _record(tag: str, story: str, place: FilePlace) -> Record:
    attributes = dict(ATTRIBUTE.findall(tag))
    missing = [name for name in NEEDED if name not in attributes]
    if missing:
        place.refuse(f"<REUTERS> without {', '.join(missing)}: restore the attribute")
    opening = TEXT.search(story)
    if opening is None:
        place.refuse("a story without <TEXT>: restore it")
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
    body = inside(text, "BODY")
    if body is None and kind == "UNPROC":
        body = TAG.sub(" ", text)
    fields = {"title": _tidy(inside(text, "TITLE")), "body": plain(body or "").strip()}
    return Record(
        Document(attributes["NEWID"], {n: t for n, t in fields.items() if t}),
        dict.fromkeys(_names(head, "TOPICS"), SECONDARY),
        {name: fact for name, fact in meta.items() if fact},
    )


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
