"""BEIR folders: corpus.jsonl, queries.jsonl and qrels/*.tsv [Thakur21]."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from classmark.corpus.document import Document
from classmark.formats.delimited import dictionaries
from classmark.formats.ids import Ids
from classmark.formats.jsonl import json_lines
from classmark.formats.judged import Judgment
from classmark.formats.record import Record
from classmark.formats.text_files import COMPRESSIONS, writing
from classmark.problems import Mistake, UnreadableFile

HEADER = ("query-id", "corpus-id", "score")


def read_beir(folder: Path | str) -> Iterator[Record]:
    """Yield the documents of ``corpus.jsonl``: ``_id``, ``title``, ``text``."""
    yield from _records(_inside(folder, "corpus.jsonl"))


def read_beir_queries(folder: Path | str) -> Iterator[Record]:
    """Yield the queries of ``queries.jsonl``: ``_id`` and ``text``."""
    yield from _records(_inside(folder, "queries.jsonl"))


def _inside(folder: Path | str, name: str) -> Path:
    found = [
        path
        for suffix in ("", *COMPRESSIONS)
        if (path := Path(folder) / (name + suffix)).is_file()
    ]
    if not found:
        raise UnreadableFile(folder, None, f"no {name} inside: give a BEIR folder")
    return found[0]


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
