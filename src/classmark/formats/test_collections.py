"""Test collections of retrieval: SMART, NPL, NFCorpus and BEIR.

Fields: ``title`` (.T), ``author`` (.A), ``body`` (.W), ``keywords`` (.K). Labels: the
categories (.C). Meta: ``source`` (.B), ``note`` (.N). Links: the documents that cite it
or that it cites (.X of type 5). Numbers lose their leading zeros. A marker that comes
twice adds to what it gave before.

The same layout serves ``doc-text``, ``query-text`` and the judgments ``rlv-ass``.

``*.docs`` and ``*.queries`` are read here, ``*.qrel`` by ``trec.read_qrels``.
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
from classmark.formats.records import SECONDARY, Ids, Judgment, Record
from classmark.formats.tables import dictionaries
from classmark.formats.text_files import COMPRESSIONS, lines, writing
from classmark.problems import Mistake, UnreadableFile

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
    for count, (line, number, parts) in enumerate(_smart_blocks(path, encoding), 1):
        name = str(count) if ordinal else number
        yield _record(ids.new(name, str(path), line), parts)


def _smart_blocks(
    path: Path | str, encoding: str
) -> Iterator[tuple[int, str, dict[str, list[str]]]]:
    start, number, part = 0, "", None
    parts: dict[str, list[str]] = {}
    for line, text in lines(path, encoding):
        begun = START.fullmatch(text)
        if begun:
            if number:
                yield start, number, parts
            start, number, parts, part = line, str(int(begun[1])), {}, None
        elif (marker := MARKER.fullmatch(text)) and number:
            part = parts.setdefault(marker[1], [])
        elif part is not None:
            part.append(text)
        elif text.strip():
            raise UnreadableFile(
                path, line, f"{text:.40} before a marker: begin with .I NUMBER and .T"
            )
    if number:
        yield start, number, parts


def _record(name: str, parts: dict[str, list[str]]) -> Record:
    joined = {marker: "\n".join(texts).strip() for marker, texts in parts.items()}
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


def _npl_blocks(path: Path | str) -> Iterator[tuple[int, str, list[tuple[int, str]]]]:
    """Yield (line, number, (line, text) pairs) of each block."""
    start, name = 0, ""
    block: list[tuple[int, str]] = []
    ids = Ids()
    for line, text in lines(path, "latin-1"):
        word = text.strip()
        if not name:
            if word.isdecimal():
                start, name, block = line, ids.new(word, str(path), line), []
            elif word:
                raise UnreadableFile(
                    path, line, f"{word:.40} where a number should begin a block"
                )
        elif word == "/":
            yield start, name, block
            name = ""
        else:
            block.append((line, text))
    if name:
        raise UnreadableFile(
            path, start, f"block {name} is not ended: put a line with / after it"
        )


def read_npl(path: Path | str) -> Iterator[Record]:
    """Yield the documents of ``doc-text``, or the queries of ``query-text``."""
    for _, name, block in _npl_blocks(path):
        body = "\n".join(text for _, text in block).strip()
        yield Record(Document(name, {"body": body} if body else {}))


def read_npl_judgments(path: Path | str) -> Iterator[Judgment]:
    """Yield the judgments of ``rlv-ass``: the numbers of the relevant documents."""
    for _, query, block in _npl_blocks(path):
        for line, text in block:
            for word in text.split():
                if not word.isdecimal():
                    raise UnreadableFile(
                        path, line, f"{word:.40} is no document number: mend it"
                    )
                yield Judgment(query, word, 1.0)


def read_nfcorpus(path: Path | str) -> Iterator[Record]:
    """Yield the documents or queries of a file; an empty file is refused.

    Some copies of the collection hold empty files in place of large ones.
    """
    ids = Ids()
    for line, text in lines(path):
        name, tab, body = text.partition("\t")
        if not tab:
            raise UnreadableFile(path, line, "no tab: give an id, a tab, the text")
        body = body.strip()
        fields = {"body": body} if body else {}
        yield Record(Document(ids.new(name.strip(), str(path), line), fields))
    if not ids.seen:
        raise UnreadableFile(path, None, "empty: fetch the file again, it is lacking")


HEADER = ("query-id", "corpus-id", "score")


def read_beir(folder: Path | str) -> Iterator[Record]:
    """Yield the documents of ``corpus.jsonl``: ``_id``, ``title``, ``text``."""
    yield from _records(_inside(folder, "corpus.jsonl"))


def read_beir_queries(folder: Path | str) -> Iterator[Record]:
    """Yield the queries of ``queries.jsonl``: ``_id`` and ``text``."""
    yield from _records(_inside(folder, "queries.jsonl"))


def _inside(folder: Path | str, name: str) -> Path:
    paths = [
        path
        for suffix in ("", *COMPRESSIONS)
        if (path := Path(folder) / (name + suffix)).is_file()
    ]
    if not paths:
        raise UnreadableFile(folder, None, f"no {name} inside: give a BEIR folder")
    return paths[0]


def _records(path: Path) -> Iterator[Record]:
    ids = Ids()
    for line, row in json_lines(path):
        name, title, text = row.get("_id"), row.get("title"), row.get("text")
        texts = {"title": title or "", "body": text or ""}
        if not all(isinstance(value, str) for value in (name, *texts.values())):
            raise UnreadableFile(
                path, line, "_id, title and text are to be strings: mend the line"
            )
        fields = {key: value for key, value in texts.items() if value}
        facts = _facts(row.get("metadata") or {}, path, line)
        yield Record(Document(ids.new(str(name), str(path), line), fields), {}, facts)


def _facts(metadata: object, path: Path, line: int) -> dict[str, str]:
    if not isinstance(metadata, Mapping):
        raise UnreadableFile(path, line, "metadata is to be an object: mend the line")
    return {
        str(key): value if isinstance(value, str) else json.dumps(value)
        for key, value in metadata.items()
    }


def read_beir_judgments(folder: Path | str, split: str = "test") -> Iterator[Judgment]:
    """Yield the judgments of ``qrels/SPLIT.tsv``."""
    path = _inside(folder, f"qrels/{split}.tsv")
    for line, row in dictionaries(path, "\t"):
        missing = [name for name in HEADER if name not in row]
        if missing:
            raise UnreadableFile(
                path, line, f"no column {missing[0]}: begin with {' '.join(HEADER)}"
            )
        try:
            grade = float(row["score"])
        except ValueError:
            grade = math.nan
        if not math.isfinite(grade):
            raise UnreadableFile(path, line, f"score {row['score']:.40} is no number")
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
    _write_records(documents, folder / "corpus.jsonl")
    _write_records(queries, folder / "queries.jsonl")
    for split, judged in judgments.items():
        with writing(folder / "qrels" / f"{split}.tsv") as file:
            file.write("\t".join(HEADER) + "\n")
            for query, document, grade in judged:
                file.write(f"{_word(query)}\t{_word(document)}\t{_grade(grade)}\n")


def _word(name: str) -> str:
    if '"' in name or any(character in name for character in "\t\r\n"):
        raise Mistake(f"id {name!r} cannot stand in a BEIR table: rename it")
    return name


def _grade(grade: float) -> str:
    if not math.isfinite(grade) or grade != int(grade):
        raise Mistake(f"grade {grade}: BEIR holds whole numbers")
    return str(int(grade))


def _write_records(records: Iterable[Record], path: Path) -> None:
    with writing(path) as file:
        for record in records:
            fields = dict(record.document.fields)
            row: dict[str, Any] = {"_id": record.id, "title": fields.pop("title", "")}
            row["text"] = "\n".join(text for text in fields.values() if text)
            row["metadata"] = dict(record.meta)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
