"""Test collections of retrieval: SMART, TIME, LISA, NPL, NFCorpus, BEIR and TREC.

SMART's fields: ``title`` (.T), ``author`` (.A), ``body`` (.W), ``keywords`` (.K).
Labels: the categories (.C). Meta: ``source`` (.B), ``note`` (.N). Links: the documents
that cite it or that it cites (.X of type 5). Numbers lose their leading zeros. A marker
that comes twice adds to what it gave before.

TIME and LISA are read as they are distributed with SMART. TIME's judgments count the
documents, whose own numbers have gaps: ids are 1, 2, 3… in the file's order, and
``number``, ``date`` and ``page`` are in ``meta``.

NPL has one layout for ``doc-text``, ``query-text`` and the judgments ``rlv-ass``. Of
NFCorpus, ``*.docs`` and ``*.queries`` are read by ``read_nfcorpus``, ``*.qrel`` by
``read_qrels``.

SMART, TIME, LISA, NPL and TREC do not say their encoding: a file is read as UTF-8 where
all of it is that, else as Latin-1; a byte order mark decides before. Topics are TREC's
of old, with tags, or of later years, in XML or as ``id:query`` on each line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from classmark.corpus.documents import Document
from classmark.formats.jsonl import json_lines
from classmark.formats.records import SECONDARY, Judgment, Record, Retrieved
from classmark.formats.reuters import TAG, elements, plain
from classmark.formats.tables import dictionaries
from classmark.formats.text_files import (
    COMPRESSIONS,
    EITHER,
    LIMITS,
    FilePlace,
    Numbered,
    lines,
    open_bytes,
    raw_lines,
    safe_xml,
    write_lines,
)
from classmark.problems import Mistake, UnreadableFile

START = re.compile(r"\.I\s+(\d{1,18})\s*")
MARKER = re.compile(r"\.([A-Z])\s*")
FIELDS = {"T": "title", "A": "author", "W": "body", "K": "keywords"}
FACTS = {"B": "source", "N": "note"}
CITES = "5"


def read_smart(
    path: Path | str, *, ordinal: bool = False, encoding: str = EITHER
) -> Iterator[Record]:
    """Yield the documents, or the queries, of a SMART file.

    With ``ordinal`` the ids are 1, 2, 3… in the file's order: Cranfield's queries have
    numbers with gaps, and its judgments count them.
    """
    blocks = Numbered(path, _smart_blocks(lines(path, encoding)))
    for count, (_, (number, parts)) in enumerate(blocks, 1):
        name = blocks.new_id(str(count) if ordinal else number)
        joined = {marker: "\n".join(texts).strip() for marker, texts in parts.items()}
        fields, facts = (
            {to: joined[marker] for marker, to in names.items() if joined.get(marker)}
            for names in (FIELDS, FACTS)
        )
        labels = dict.fromkeys(joined.get("C", "").replace(",", " ").split(), SECONDARY)
        cited = [text.split() for text in parts.get("X", [])]
        links = dict.fromkeys(
            row[0]
            for row in cited
            if len(row) == 3 and row[1] == CITES and row[0] != name
        )
        targets = tuple((to, "") for to in links)
        yield Record(Document(name, fields), labels, facts, targets)


def _smart_blocks(
    file: Numbered[str],
) -> Iterator[tuple[int, tuple[str, dict[str, list[str]]]]]:
    start, number, part = 0, "", None
    parts: dict[str, list[str]] = {}
    for line, text in file:
        begun = START.fullmatch(text)
        if begun:
            if number:
                yield start, (number, parts)
            start, number, parts, part = line, str(int(begun[1])), {}, None
        elif (marker := MARKER.fullmatch(text)) and number:
            part = parts.setdefault(marker[1], [])
        elif part is not None:
            part.append(text)
        elif text.strip():
            file.refuse(f"{text:.40} before a marker: begin with .I NUMBER and .T")
    if number:
        yield start, (number, parts)


def read_smart_judgments(path: Path | str) -> Iterator[Judgment]:
    """Yield the judgments of ``cranqrel``, ``qrels.text`` (CACM) or ``ADI.REL``.

    Three columns are Cranfield's ``query document code``: codes 1 (a complete answer)
    to 4 (of minimum interest) become the grades 4 to 1, and 5 and −1 (of no interest)
    become 0. Four columns are ``query document 0 0`` in CACM and ADI: grade 1.
    """
    file = lines(path, EITHER, blank=False)
    for _, line in file:
        row = line.split()
        whole = len(row) in {3, 4} and all(part.isdecimal() for part in row[:2])
        if whole and len(row) == 3 and row[2] in {"1", "2", "3", "4", "5", "-1"}:
            grade = 0.0 if row[2] == "-1" else 5.0 - int(row[2])
        elif whole and len(row) == 4 and {row[2], row[3]} <= {"0", "0.000000"}:
            grade = 1.0
        else:
            file.refuse("not 'query document code' nor 'query document 0 0': mend it")
        query, document = (digits.lstrip("0") or "0" for digits in row[:2])
        yield Judgment(query, document, grade)


TIME_HEADER = re.compile(r"\*(TEXT|FIND)\s+(\d+)(?:\s+(\S+))?(?:\s+PAGE\s+(\d+))?\s*")
TIME_END = "*STOP"


def read_time(path: Path | str, *, encoding: str = EITHER) -> Iterator[Record]:
    """Yield the documents of ``TIME.ALL``, or the queries of ``TIME.QUE``."""
    blocks = Numbered(path, _blocks(lines(path, encoding), TIME_HEADER, TIME_END))
    for count, (_, (header, texts)) in enumerate(blocks, 1):
        body, is_query = "\n".join(texts).strip(), header[1] == "FIND"
        name = str(int(header[2])) if is_query else str(count)
        facts = zip(("number", "date", "page"), header.groups()[1:], strict=True)
        meta = {key: value for key, value in facts if value and not is_query}
        yield Record(Document(blocks.new_id(name), {"body": body}), {}, meta)


def read_time_judgments(path: Path | str) -> Iterator[Judgment]:
    """Yield the judgments of ``TIME.REL``: a query and relevant documents a line."""
    file = lines(path, EITHER, blank=False)
    for _, line in file:
        query, *documents = line.split()
        if not all(word.isdecimal() for word in (query, *documents)):
            file.refuse("not a query and the numbers of documents: mend the line")
        for document in documents:
            yield Judgment(str(int(query)), str(int(document)), 1.0)


LISA_HEADER = re.compile(r"\s*(?:Document\s+)?(\d+)\s*")
LISA_END = re.compile(r"\*{4,}\s*")


def read_lisa(path: Path | str, *, encoding: str = EITHER) -> Iterator[Record]:
    """Yield the documents of ``LISA0.001`` and so on, or the queries of ``LISA.QUE``.

    A document's title ends with an empty line; a query ends with #.
    """
    file = lines(path, encoding)
    number, block, start = "", list[str](), 0
    for line, text in file:
        if not number:
            begun = LISA_HEADER.fullmatch(text)
            if begun:
                number, block, start = str(int(begun[1])), [], line
            elif text.strip():
                file.refuse(f"{text:.40} where Document NUMBER should stand: mend it")
        elif LISA_END.fullmatch(text) or text.rstrip().endswith("#"):
            block += [] if text.startswith("**") else [text.rstrip().removesuffix("#")]
            whole = "\n".join(block).strip()
            title, _, body = re.sub(r"\n[ \t]+\n", "\n\n", whole).partition("\n\n")
            both = {"title": title.strip(), "body": body.strip()}
            fields = both if body else {"body": title.strip()}
            yield Record(Document(file.new_id(number), fields))
            number = ""
        else:
            block.append(text)
    if number:
        FilePlace(path, start).refuse(
            f"document or query {number} is not ended: put a line of asterisks, or #"
        )


def read_lisa_judgments(path: Path | str) -> Iterator[Judgment]:
    """Yield the judgments of ``LISA.REL``: ``Query 1``, ``2 Relevant Refs:``, numbers.

    The numbers end with −1.
    """
    query, file = "", lines(path, EITHER, blank=False)
    for _, line in file:
        row = line.split()
        if row[0] == "Query" and len(row) == 2:
            query = row[1]
        elif row[-1] != "Refs:":
            if not query or not all(word.lstrip("-").isdecimal() for word in row):
                file.refuse("not Query NUMBER, nor numbers of documents: mend the line")
            for document in row:
                if document != "-1":
                    yield Judgment(query, str(int(document)), 1.0)


def _blocks(
    file: Numbered[str], header: re.Pattern[str], end: str
) -> Iterator[tuple[int, tuple[re.Match[str], list[str]]]]:
    """Yield each header with the lines below it, until the next or the end."""
    start, begun = 0, None
    block: list[str] = []
    for line, text in file:
        match = header.fullmatch(text)
        if match or text.strip() == end:
            if begun:
                yield start, (begun, block)
            start, begun, block = line, match, []
        elif begun:
            block.append(text)
        elif text.strip():
            file.refuse(f"{text:.40} before a header: begin with *TEXT or *FIND")
    if begun:
        yield start, (begun, block)


def _npl_blocks(path: Path | str) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield (number, (line, text) pairs) of each block."""
    start, name = 0, ""
    block: list[tuple[int, str]] = []
    file = lines(path, EITHER)
    for line, text in file:
        word = text.strip()
        if not name:
            if word.isdecimal():
                start, name, block = line, file.new_id(word), []
            elif word:
                file.refuse(f"{word:.40} where a number should begin a block")
        elif word == "/":
            yield name, block
            name = ""
        else:
            block.append((line, text))
    if name:
        FilePlace(path, start).refuse(
            f"block {name} is not ended: put a line with / after it"
        )


def read_npl(path: Path | str) -> Iterator[Record]:
    """Yield the documents of ``doc-text``, or the queries of ``query-text``."""
    for name, block in _npl_blocks(path):
        body = "\n".join(text for _, text in block).strip()
        yield Record(Document(name, {"body": body} if body else {}))


def read_npl_judgments(path: Path | str) -> Iterator[Judgment]:
    """Yield the judgments of ``rlv-ass``: the numbers of the relevant documents."""
    for query, block in _npl_blocks(path):
        for line, text in block:
            for word in text.split():
                if not word.isdecimal():
                    FilePlace(path, line).refuse(
                        f"{word:.40} is no document number: mend it"
                    )
                yield Judgment(query, word, 1.0)


def read_nfcorpus(path: Path | str) -> Iterator[Record]:
    """Yield the documents or queries of a file; an empty file is refused.

    Some copies of the collection hold empty files in place of large ones.
    """
    file = lines(path)
    for _, text in file:
        name, tab, body = text.partition("\t")
        if not tab:
            file.refuse("no tab: give an id, a tab, the text")
        fields = {"body": body.strip()} if body.strip() else {}
        yield Record(Document(file.new_id(name.strip()), fields))
    if not file.ids:
        raise UnreadableFile(path, None, "empty: fetch the file again, it is lacking")


HEADER = ("query-id", "corpus-id", "score")


def read_beir(folder: Path | str) -> Iterator[Record]:
    """Yield the documents of ``corpus.jsonl``: ``_id``, ``title``, ``text``."""
    yield from _records(_inside(folder, "corpus.jsonl"))


def read_beir_queries(folder: Path | str) -> Iterator[Record]:
    """Yield the queries of ``queries.jsonl``, or of such a file: ``_id``, ``text``."""
    yield from _records(_inside(folder, "queries.jsonl"))


def _inside(folder: Path | str, name: str) -> Path:
    if Path(folder).is_file():
        return Path(folder)
    paths = [
        path
        for suffix in ("", *COMPRESSIONS)
        if (path := Path(folder) / (name + suffix)).is_file()
    ]
    if not paths:
        raise UnreadableFile(folder, None, f"no {name} inside: give a BEIR folder")
    return paths[0]


def _records(path: Path) -> Iterator[Record]:
    rows = json_lines(path)
    for _, row in rows:
        name, title, text = row.get("_id"), row.get("title"), row.get("text")
        texts = {"title": title or "", "body": text or ""}
        if not all(isinstance(value, str) for value in (name, *texts.values())):
            rows.refuse("_id, title and text must be strings: mend the line")
        fields = {key: value for key, value in texts.items() if value}
        metadata = row.get("metadata") or {}
        if not isinstance(metadata, Mapping):
            rows.refuse("metadata must be an object: mend the line")
        facts = {
            str(key): value if isinstance(value, str) else json.dumps(value)
            for key, value in metadata.items()
        }
        yield Record(Document(rows.new_id(str(name)), fields), {}, facts)


def read_beir_judgments(folder: Path | str, split: str = "test") -> Iterator[Judgment]:
    """Yield the judgments of ``qrels/SPLIT.tsv``."""
    table = dictionaries(_inside(folder, f"qrels/{split}.tsv"), "\t")
    for _, row in table:
        missing = [name for name in HEADER if name not in row]
        if missing:
            table.refuse(f"no column {missing[0]}: begin with {' '.join(HEADER)}")
        grade = table.finite(row["score"], "score")
        yield Judgment(row["query-id"], row["corpus-id"], grade)


def write_beir(
    folder: Path | str,
    documents: Iterable[Record],
    queries: Iterable[Record],
    judgments: Mapping[str, Iterable[Judgment]],
) -> None:
    """Write a BEIR folder; ``judgments`` maps the name of a split to its judgments."""
    folder = Path(folder)
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    for records, name in ((documents, "corpus"), (queries, "queries")):
        write_lines(map(_beir_line, records), folder / f"{name}.jsonl")
    for split, judged in judgments.items():
        rows = ["\t".join(HEADER) + "\n"]
        for query, document, grade in judged:
            for name in (query, document):
                if set(name) & set('"\t\r\n'):
                    raise Mistake(
                        f"id {name!r} cannot stand in a BEIR table: rename it"
                    )
            if not math.isfinite(grade) or grade != int(grade):
                raise Mistake(f"grade {grade}: BEIR holds whole numbers")
            rows.append(f"{query}\t{document}\t{int(grade)}\n")
        write_lines(rows, folder / "qrels" / f"{split}.tsv")


def _beir_line(record: Record) -> str:
    fields = dict(record.document.fields)
    row: dict[str, Any] = {"_id": record.id, "title": fields.pop("title", "")}
    row["text"] = "\n".join(text for text in fields.values() if text)
    row["metadata"] = dict(record.meta)
    return json.dumps(row, ensure_ascii=False) + "\n"


TITLES = ("title", "headline", "hl", "head", "ttl")
TREC_FACTS = (
    "docno", "date", "byline", "pub", "page", "section", "profile", "docid", "dochdr",
    "author",
)  # fmt: skip
PLACES = dict.fromkeys(TITLES, "title") | {name: name for name in TREC_FACTS}
TOPIC = {"title": "title", "desc": "description", "narr": "narrative", "dom": "domain"}
CAPTION = re.compile(
    r"\s*(Number|Topic|Domain|Description|Narrative|Title)\s*:", re.IGNORECASE
)


def read_trec(path: Path | str, *, encoding: str = EITHER) -> Iterator[Record]:
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


def read_trec_topics(path: Path | str, *, encoding: str = EITHER) -> Iterator[Record]:
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


NUMBERS = ("number", "num", "id", "qid")  # what names a topic in XML


def read_xml_topics(path: Path | str) -> Iterator[Record]:
    """Yield topics: ``<topics><topic number="1"> <query> … </query> … </topic>``.

    Fields: by the names of the elements, as ``query``, ``question`` and ``narrative``;
    ``text`` where a topic has none. Its id is an attribute or an element, ``number``,
    ``num``, ``id`` or ``qid``.
    """
    with open_bytes(path) as stream:
        content = bytearray()
        while len(content) <= LIMITS.line and (chunk := stream.read()):
            content += chunk
    place = FilePlace(path)
    if len(content) > LIMITS.line:
        place.refuse(f"topics of more than {LIMITS.line} bytes: part the file")
    for topic in safe_xml(path, bytes(content)).iter("topic"):
        texts = {child.tag: "".join(child.itertext()) for child in topic}
        texts["text"] = " ".join([topic.text or "", *(c.tail or "" for c in topic)])
        named = {key: value for key, value in topic.items() if key in NUMBERS}
        named |= {key: texts.pop(key) for key in NUMBERS if key in texts}
        fields = {key: " ".join(text.split()) for key, text in texts.items()}
        name = next((named[key].strip() for key in NUMBERS if key in named), "")
        present = {key: text for key, text in fields.items() if text}
        yield Record(Document(place.new_id(name), present))


def read_colon_topics(path: Path | str, *, encoding: str = EITHER) -> Iterator[Record]:
    """Yield queries: ``id:query`` on each line."""
    file = lines(path, encoding, blank=False)
    for _, line in file:
        name, colon, query = line.partition(":")
        if not colon or not query.strip():
            file.refuse("not 'id:query': mend the line")
        yield Record(Document(file.new_id(name.strip()), {"text": query.strip()}))


def read_qrels(path: Path | str, *, columns: int = 4) -> Iterator[Judgment]:
    """Yield judgments: ``query iteration document grade`` on each line.

    With ``columns=3`` the lines are ``query document grade``, as in RCV1's label file.
    """
    if columns not in {3, 4}:
        raise Mistake(f"columns={columns}: qrels have 4 columns, or 3 in RCV1's form")
    file = lines(path, EITHER, blank=False)
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
    file = lines(path, EITHER, blank=False)
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

    Ranks begin at 1; equal scores keep the order they are in.
    """
    rows = (
        f"{_word(query)} Q0 {_word(document)} {rank} {_shortest(score)} {_word(name)}\n"
        for query, scores in run.items()
        for rank, (document, score) in enumerate(
            sorted(scores.items(), key=lambda item: -item[1]), 1
        )
    )
    return write_lines(rows, path)
