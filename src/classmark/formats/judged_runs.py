"""Topics, judgments and runs of retrieval, told by their names and first lines.

Judgments: TREC's ``query iteration document grade``; ``query document grade``, with a
header or without; SMART, TIME, LISA, NPL and BEIR; pairs, ``query winner loser`` on
each line of a ``.pairs`` file or under such a header in CSV, TSV or JSONL.

Topics: TREC with tags or in XML, SMART, TIME, LISA, NPL and BEIR; JSONL; CSV and TSV of
ids and queries, with a header or without; ``id:query`` on each line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import isfinite, nan
from pathlib import Path
from typing import Any, TypeGuard

from classmark.corpus.documents import Document
from classmark.formats import guess_format, named_format, read_records, some_of
from classmark.formats.jsonl import read_jsonl
from classmark.formats.preferences import preference_rows, preferences_in
from classmark.formats.records import Judgment, Record, Retrieved, gather
from classmark.formats.tables import delimiter_of, read_delimited, rows
from classmark.formats.test_collections import (
    read_beir_judgments,
    read_beir_queries,
    read_colon_topics,
    read_lisa_judgments,
    read_nfcorpus,
    read_npl_judgments,
    read_run,
    read_smart,
    read_smart_judgments,
    read_time_judgments,
)
from classmark.formats.text_files import EITHER, Numbered, lines, plain_name
from classmark.problems import Mistake, UnreadableFile, worded

Grades = dict[str, dict[str, float]]
Pairs = dict[str, list[tuple[str, str]]]
TABLES = {".csv", ".tsv", ".tab"}
PAIRS = "pairs"
PLAIN = {"", ".txt"}
BEGINNINGS = {
    "trec-topics": r"\s*<(?i:top)>", "smart": r"\.I\s+\d", "jsonl": r"\s*\{",
    "time": r"\*FIND\b",
}  # fmt: skip
COLON = "id:query"
TOPICS = (
    "trec-topics", "trec-xml", "smart", "cranfield", "time", "lisa", "npl", "nfcorpus",
    "beir-queries", "jsonl", "csv", COLON,
)  # fmt: skip
LOOK = 200  # lines by which judgments are told
PAIR = ("query", "winner", "loser")
ID_NAMES = ("id", "qid", "query_id", "query-id", "topic", "topic_id", "number", "num")


def read_run_table(path: Path | str) -> Grades:
    """Read a run in TREC's form as query → document → score, in the file's order."""
    return _gathered(read_run(path), path)


def read_judgments(path: Path | str, format: str | None = None) -> Grades | Pairs:  # noqa: A002 - the word users know
    """Read query → document → grade, or query → [(winner, loser), …].

    format : a name of ``JUDGMENTS``; None: told by the file's name and first line.
    """
    name = judgment_format(path) if format is None else format
    if name == PAIRS:
        return _read_pairs(path)
    if name not in JUDGMENTS:
        names = ", ".join([*JUDGMENTS, PAIRS])
        raise Mistake(f"format={name!r} is not known: use one of {names}")
    return _gathered(JUDGMENTS[name](path), path)


def is_graded(judgments: Grades | Pairs) -> TypeGuard[Grades]:
    """Whether documents were judged one by one, and not in pairs.

    >>> is_graded({"q": {"d": 1.0}}), is_graded({"q": [("d", "e")]})
    (True, False)
    """
    return all(isinstance(judged, dict) for judged in judgments.values())


def judgment_format(path: Path | str) -> str:
    """Tell the format of judgments.

    >>> judgment_format("data/cranqrel"), judgment_format("shelf.pairs")
    ('smart', 'pairs')
    """
    name = plain_name(path).name
    if Path(path).is_dir():
        return "beir"
    if name.endswith("cranqrel"):
        return "smart"
    if name.startswith("rlv-ass"):
        return "npl"
    if ".pairs" in Path(name).suffixes:
        return PAIRS
    first = _first_line(path)
    if all(name in first for name in PAIR):
        return PAIRS
    return _by_columns(path) if Path(path).is_file() else "trec"


def _by_columns(path: Path | str) -> str:
    """Tell LISA's, TIME's and SMART's judgments from TREC's by their first lines.

    SMART's are ``query document 0 0``, where TREC's have ``query 0 document grade``.
    """
    table = [line.split() for _, line in islice(lines(path, EITHER, blank=False), LOOK)]
    if table and table[0][0] == "Query":
        return "lisa"
    widths = {len(row) for row in table}
    if not all(cell.isdecimal() for row in table for cell in row[:3]):
        return "trec"
    if widths == {4} and all({*row[2:]} <= {"0", "0.000000"} for row in table):
        return "smart" if any(row[1] != "0" for row in table) else "trec"
    return "trec" if widths <= {3, 4} else "time"


def _read_grades(path: Path | str) -> Iterator[Judgment]:
    is_table = plain_name(path).suffix in TABLES
    return graded_lines(rows(path) if is_table else lines(path, EITHER, blank=False))


def graded_lines(file: Numbered[Any]) -> Iterator[Judgment]:
    """Yield ``query document grade``, or TREC's four columns; a header may be there.

    file : lines, or rows of cells.
    """
    for at, (_, line) in enumerate(file):
        row = line.split() if isinstance(line, str) else line
        row = row[0].split() if len(row) == 1 else row
        try:
            grade = float(row[-1])
        except ValueError:
            grade = nan
        if len(row) not in {3, 4} or (at and not isfinite(grade)):
            file.refuse("query, document and grade are needed: mend the line")
        if isfinite(grade):
            yield Judgment(row[0], row[-2], grade)


JUDGMENTS: dict[str, Callable[[Path | str], Iterable[Judgment]]] = {
    "trec": _read_grades,
    "smart": read_smart_judgments,
    "time": read_time_judgments,
    "lisa": read_lisa_judgments,
    "npl": read_npl_judgments,
    "beir": read_beir_judgments,
}


def _gathered(judged: Iterable[Judgment | Retrieved], path: Path | str) -> Grades:
    try:
        table = gather(judged)
    except UnreadableFile:
        raise
    except Mistake as problem:
        raise Mistake(f"{path}: {problem}") from problem
    if not table:
        raise UnreadableFile(path, None, "there is nothing in it: give another file")
    return table


def _read_pairs(path: Path | str) -> Pairs:
    is_table = plain_name(path).suffix in {*TABLES, ".jsonl", ".ndjson"}
    rows = preference_rows(path) if is_table else Numbered(path, _pair_lines(path))
    pairs: Pairs = {}
    for _, (query, winner, loser, _) in preferences_in(rows, PAIR):
        pairs.setdefault(query, []).append((winner, loser))
    if not pairs:
        raise UnreadableFile(path, None, "there is nothing in it: give another file")
    return pairs


def _pair_lines(path: Path | str) -> Iterator[tuple[int, dict[str, str]]]:
    file = lines(path, EITHER, blank=False)
    for number, line in file:
        if len(row := line.split()) != len(PAIR):
            file.refuse("not 'query winner loser': mend the line")
        yield number, dict(zip(PAIR, row, strict=True))


def read_topics(
    path: Path | str,
    format: str | None = None,  # noqa: A002 - the word users know
    fields: Sequence[str] = (),
) -> dict[str, str]:
    """Read query → text.

    format : a name of ``TOPICS`` (``cranfield``: SMART queries that judgments count 1,
    2, 3…) or of ``READERS``; None: told by the file's name and first lines.
    fields : which of a topic's fields are its query, as ``title``; all without any.
    """
    name = topics_format(path) if format is None else format
    return {
        record.id: _text_of(record.document, fields, path)
        for record in some_of(_topics(path, name), path, name)
    }


def _text_of(topic: Document, fields: Sequence[str], path: Path | str) -> str:
    missing = [name for name in fields if name not in topic.fields]
    if missing:
        names = ", ".join(topic.fields) or "no text"
        raise Mistake(
            f"{path}: topic {topic.id!r} has no field {missing[0]!r}: it has {names}"
        )
    texts = [topic.fields[name] for name in fields]
    return "\n".join(texts) if fields else topic.text


def topics_format(path: Path | str) -> str:
    """Tell the format of topics.

    >>> topics_format("cran.qry")
    'cranfield'
    """
    plain = plain_name(path)
    if plain.name.startswith("cran.qry"):
        return "cranfield"
    if Path(path).is_dir():
        beir = any(Path(path).glob("queries.jsonl*"))
        return "beir-queries" if beir else guess_format(path)
    first = _first_line(path)
    for name, begins in BEGINNINGS.items():
        if re.match(begins, first):
            return name
    if plain.suffix in TABLES or ("\t" in first and plain.suffix in PLAIN):
        return "csv"
    likely = _by_lines(path, plain.suffix) or named_format(Path(path), TOPICS)
    if likely is None:
        raise Mistake(
            f"{path}: topics of which format? {worded('give --format (format=)')}, one "
            f"of {', '.join(TOPICS)}"
        )
    return likely


def _by_lines(path: Path | str, suffix: str) -> str | None:
    """Tell XML by its first element, and queries behind their ids and a colon."""
    some = [line for _, line in islice(lines(path, EITHER, blank=False), LOOK)]
    if re.search(r"<topics?\b", "\n".join(some)):
        return "trec-xml"
    has_ids = some and all(re.match(r"\s*[\w.-]+\s*:\s*\S", line) for line in some)
    return COLON if has_ids and suffix in PLAIN else None


def _topics(path: Path | str, name: str) -> Iterable[Record]:
    if name == "cranfield":
        return read_smart(path, ordinal=True)
    if name == "jsonl":
        return _json_topics(path)
    if name == COLON:
        return read_colon_topics(path)
    return _table_topics(path) if name == "csv" else read_records(path, name)


def _json_topics(path: Path | str) -> Iterable[Record]:
    """JSONL with ``id``, ``qid`` and the like, or as BEIR has it."""
    try:
        row = json.loads(_first_line(path))
    except ValueError:
        row = {}  # the reader says what is wrong with the line
    if "_id" in row:
        return read_beir_queries(path)
    key = next((name for name in ID_NAMES if name in row), "id")
    return read_jsonl(path, id_key=key)


def _table_topics(path: Path | str) -> Iterator[Record]:
    """Ids and queries: under a header that names an id, or in two columns."""
    first = _first_line(path)
    delimiter = "\t" if "\t" in first else delimiter_of(path)
    names = [name.strip() for name in first.split(delimiter)]
    for name in names:
        if name.lower() in ID_NAMES:
            return read_delimited(path, delimiter=delimiter, id_column=name)
    return read_nfcorpus(path) if delimiter == "\t" else _two_columns(path)


def _two_columns(path: Path | str) -> Iterator[Record]:
    table = rows(path)
    for _, row in table:
        if len(row) != 2:
            table.refuse(f"{len(row)} cells, not an id and a query: mend the row")
        yield Record(Document(table.new_id(row[0].strip()), {"text": row[1]}))


def _first_line(path: Path | str) -> str:
    return next((line for _, line in lines(path, "latin-1", blank=False)), "")
