"""Reuters' newswire: Reuters-21578 in SGML, RCV1 in XML and in tokens.

Of Reuters-21578 [Lewis97], stories of 1987, each becomes a record: id ``NEWID``, fields
``title`` and ``body``, labels the TOPICS. In ``meta``: ``lewissplit``, ``cgisplit``,
``topics`` (the attribute), ``oldid``, ``date``, ``type`` (NORM, BRIEF, UNPROC), and,
where given, ``author``, ``dateline``, ``places``, ``people``, ``orgs``, ``exchanges``,
``companies`` (names joined by ``|``).

Of the Reuters Corpus (RCV1, RCV2), an XML file a story: id ``itemid``, labels the codes
of ``bip:topics:1.0``; in ``meta`` ``date``, ``language``, and, where given, ``byline``,
``dateline``, ``countries``, ``industries``. RCV1-v2 [LewisYangRoseLi04] has the stems
of the words of each story instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from classmark.corpus.documents import Document
from classmark.formats.archive import ArchiveFile, entries, is_archive
from classmark.formats.records import SECONDARY, Record
from classmark.formats.text_files import (
    LIMITS,
    FileLimits,
    FilePlace,
    Numbered,
    lines,
    lines_of,
    safe_xml,
)
from classmark.problems import UnreadableFile
from classmark.progress import track

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

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


TOKENS, TOPICS = "lyrl2004_tokens_*.dat*", "*topics.qrels*"


def rcv1_topics(
    path: Path | str, topics: Collection[str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Read RCV1-v2's label file, ``topic document 1`` a line: document → its topics.

    topics : those that are known; another one is refused. Documents in the order of
    their first line; equal lists of topics are one object.
    """
    topics_of: dict[str, tuple[str, ...]] = {}
    lists: dict[tuple[str, ...], tuple[str, ...]] = {}
    file = lines(path, blank=False)
    for _, line in track(file, f"reading {Path(path).name}"):
        row = line.split()
        if len(row) != 3 or not row[1].isdecimal() or row[2] != "1":
            file.refuse("not 'topic document 1': mend the line")
        if topics is not None and row[0] not in topics:
            file.refuse(f"{row[0]!r} is not a topic of the hierarchy: mend the line")
        together = (*topics_of.get(row[1], ()), row[0])
        topics_of[row[1]] = lists.setdefault(together, together)
    return topics_of


def read_rcv1_tokens(
    path: Path | str, topics: Mapping[str, Iterable[str]] | None = None
) -> Iterator[Record]:
    """Yield the stories of ``lyrl2004_tokens_*.dat``, a file or a folder of them.

    A story is ``.I number``, ``.W``, then lines of stems. topics : document → labels;
    by default those of ``rcv1-v2.topics.qrels`` in the same folder, where there is one.
    """
    path, ids = Path(path), set[str]()
    if topics is None:
        beside = sorted((path if path.is_dir() else path.parent).glob(TOPICS))
        topics = rcv1_topics(beside[0]) if beside else {}
    for file in sorted(path.glob(TOKENS)) if path.is_dir() else [path]:
        numbered = lines(file, blank=False)
        stories = Numbered(file, _stories(numbered), ids)
        for _, (name, words) in stories:
            labels = dict.fromkeys(topics.get(name, ()), SECONDARY)
            yield Record(Document(stories.new_id(name), {"body": words}), labels)


def _stories(file: Numbered[str]) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the line, number and words of each story."""
    start, name, words = 0, "", list[str]()
    for number, line in file:
        if line.startswith(".I"):
            if name:
                yield start, (name, "\n".join(words))
            start, name, words = number, line[2:].strip(), []
            if not name.isdecimal():
                file.refuse("a number is needed after .I: mend the line")
        elif not name:
            file.refuse(".I and the number of a story are to come first")
        elif line.strip() != ".W":
            words.append(line)
    if name:
        yield start, (name, "\n".join(words))


CODES = {"countries": "bip:countries:1.0", "industries": "bip:industries:1.0"}
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
STORY, DAY = "*newsML.xml", "[0-9]" * 8 + ".zip"


def read_reuters_xml(
    path: Path | str, *, limits: FileLimits = LIMITS
) -> Iterator[Record]:
    """Yield the stories of the Reuters Corpus, an XML file each.

    path : a file, a folder or a zip of ``*newsML.xml``, or a folder of zips, one a day.
    DTDs and entities are refused.
    """
    ids, many = set[str](), Path(path).is_dir() or is_archive(path)
    for file in entries(path, limits):
        if many and fnmatch(file.name, f"*{DAY}") and Path(path).is_dir():
            for inner in entries(Path(path) / file.name, limits):
                if fnmatch(inner.name, STORY):
                    yield _newsitem(inner, ids, limits)
        elif not many or fnmatch(file.name, STORY):
            yield _newsitem(file, ids, limits)


def _newsitem(file: ArchiveFile, ids: set[str], limits: FileLimits) -> Record:
    place, content = FilePlace(file.where, None, ids), bytearray()
    with file.open() as stream:
        while chunk := stream.read():
            content += chunk
            if len(content) > limits.line:
                place.refuse(f"more than {limits.line} bytes: raise limits.line")
    root = safe_xml(file.where, bytes(content))
    if root.tag != "newsitem" or not root.get("itemid"):
        place.refuse("no <newsitem itemid=…>: give files of the Reuters Corpus")
    paragraphs = ("".join(p.itertext()).strip() for p in root.iterfind("text/p"))
    heads = {name: (root.findtext(name) or "").split() for name in HEADS}
    texts = {name: " ".join(words) for name, words in heads.items()}
    fields = {
        "title": texts["headline"] or texts["title"],
        "body": "\n".join(filter(None, paragraphs)),
    }
    meta = {
        "date": root.get("date", ""),
        "language": root.get(XML_LANGUAGE, ""),
        "byline": texts["byline"],
        "dateline": texts["dateline"],
        **{name: "|".join(_codes(root, kind)) for name, kind in CODES.items()},
    }
    return Record(
        Document(
            place.new_id(root.get("itemid", "")),
            {name: text for name, text in fields.items() if text},
        ),
        dict.fromkeys(_codes(root, "bip:topics:1.0"), SECONDARY),
        {name: fact for name, fact in meta.items() if fact},
    )


HEADS = ("title", "headline", "byline", "dateline")


def _codes(root: Element, kind: str) -> list[str]:
    """The codes of a class, as they come."""
    return [
        code.get("code", "")
        for codes in root.iterfind("metadata/codes")
        if codes.get("class") == kind
        for code in codes.iterfind("code")
        if code.get("code")
    ]
