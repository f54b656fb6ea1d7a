"""Tables of records: CSV, TSV and Parquet.

Columns of CSV and TSV: ``id``; ``labels``, names with ``|`` between them (grade 1);
``primary``, one name or several (grade 2); ``meta.NAME`` for facts; ``links``, a JSON
list; every other column is text, ``fields.NAME`` whatever its name, and an empty cell
is no field. In the place of ``labels`` stand ``category`` and the like, as in JSONL. A
spreadsheet runs a cell that starts with ``= + - @``, a tab or a carriage return. The
writer puts ``'`` before such cells; the reader leaves it there. With ``raw=True`` cells
are written as they are, and read back the same.

Columns of Parquet: ``id``; ``labels`` (map of name → grade, list of names, or one
name); ``meta`` (map or struct); ``links`` (list of ``{id, anchor}``); every other
column is text, and null is no field, but a list of numbers named ``vector`` is the
document's vector.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, BinaryIO, NamedTuple

from classmark.formats.jsonl import (
    KEYS,
    Keys,
    is_taken,
    label_key,
    parse_object,
    record_from,
)
from classmark.formats.records import PRIMARY, SECONDARY, Record
from classmark.formats.text_files import (
    LIMITS,
    FilePlace,
    Numbered,
    existing,
    plain_name,
    raw_lines,
    replacing,
    writing,
)
from classmark.language import N_, whole
from classmark.problems import MissingExtra, refusal


class Columns(NamedTuple):
    """The names of text fields and of facts, in the order they are written."""

    fields: tuple[str, ...]
    meta: tuple[str, ...]

    def check(self, record: Record, *, meta: bool) -> None:
        """Refuse a record with a field, fact or preference that has no column."""
        lost = record.document.fields.keys() - set(self.fields)
        if meta:
            lost |= record.meta.keys() - set(self.meta)
        if lost:
            raise refusal(
                "record %(id)r has %(sorted)s, which the first record has not: give "
                "the records as a list, or write JSONL",
                id=record.id,
                sorted=sorted(lost),
            )
        for name in ("preferences", "vector"):
            if getattr(record, name):
                raise refusal(
                    "record %(id)r has %(name)s, which a table of documents does not "
                    "hold: write JSONL, or write them to a file of their own",
                    id=record.id,
                    name=name,
                )


def columns_of(records: Iterable[Record]) -> tuple[Columns, Iterator[Record]]:
    """Find the columns: of all records when they are a list, else of the first one.

    Returns the columns and an iterator over all the records.
    """
    stream = iter(records)
    seen = records if isinstance(records, Sequence) else list(islice(stream, 1))
    fields = dict.fromkeys(name for record in seen for name in record.document.fields)
    meta = dict.fromkeys(name for record in seen for name in record.meta)
    rest = stream if seen is records else chain(seen, stream)
    return Columns(tuple(fields), tuple(meta)), rest


FORMULAS = ("=", "+", "-", "@", "\t", "\r")
META, FIELDS = "meta.", "fields."
_limit_lock = RLock()


def delimiter_of(path: Path | str) -> str:
    r"""Tell the delimiter by the name: a tab for ``.tsv`` and ``.tab``, else a comma.

    >>> delimiter_of("shelf.tsv.gz"), delimiter_of("shelf.csv")
    ('\t', ',')
    """
    return "\t" if plain_name(path).suffix in {".tsv", ".tab"} else ","


def rows(
    path: Path | str, delimiter: str | None = None, encoding: str = "utf-8"
) -> Numbered[list[str]]:
    """Return (line number, cells) pairs of a CSV or TSV file, blank rows left out.

    The line is the one on which the row begins. Quotes are checked strictly.
    """
    return Numbered(path, _rows(path, delimiter or delimiter_of(path), encoding))


def _rows(
    path: Path | str, delimiter: str, encoding: str
) -> Iterator[tuple[int, list[str]]]:
    return cells_in(raw_lines(path, encoding), path, delimiter)


def cells_in(
    numbered: Iterable[tuple[int, str]], path: Path | str, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of the lines of a CSV or TSV file, strictly read."""
    texts = (text for _, text in numbered)
    reader = csv.reader(texts, delimiter=delimiter, strict=True)
    row: list[str] | None = []
    while row is not None:
        start = reader.line_num + 1
        with _limit_lock:
            before = csv.field_size_limit(LIMITS.line)
            try:
                row = next(reader, None)
            except csv.Error as error:
                raise FilePlace(path, start).refusal(
                    "not a row (%(error)s): close quotes, double those inside",
                    error=error,
                ) from error
            finally:
                csv.field_size_limit(before)
        if row:
            yield start, row


def dictionaries(
    path: Path | str, delimiter: str | None = None, encoding: str = "utf-8"
) -> Numbered[dict[str, str]]:
    """Return (line number, column → cell) pairs of a file that begins with names."""
    return Numbered(path, _dictionaries(rows(path, delimiter, encoding)))


def _dictionaries(table: Numbered[list[str]]) -> Iterator[tuple[int, dict[str, str]]]:
    header: list[str] = []
    for number, row in table:
        if not header:
            header = [name.strip() for name in row]
            if len(set(header)) < len(header) or "" in header:
                raise table.refusal(
                    "a column has no name, or two have the same: correct the first row"
                )
        elif len(row) == len(header):
            yield number, dict(zip(header, row, strict=True))
        else:
            raise table.refusal(
                "%(n)s cells under %(n2)s columns: quote cells that hold the delimiter",
                n=whole(len(row)),
                n2=whole(len(header)),
            )
    if not header:
        raise FilePlace(table.path, 1).refusal(
            "empty: the first row is to name the columns"
        )


def read_delimited(
    path: Path | str,
    *,
    delimiter: str | None = None,
    label_separator: str = "|",
    id_column: str = "id",
    label_column: str = "labels",
    encoding: str = "utf-8",
) -> Iterator[Record]:
    """Yield the records of a CSV or TSV file with a header."""
    keys = Keys(id_column, label_column)
    table = dictionaries(path, delimiter, encoding)
    for _, row in table:
        if id_column not in row:
            raise table.refusal(
                "no column %(id_column)r: add it, or name it (id_column=)",
                id_column=id_column,
            )
        typed: dict[str, object] = {id_column: row.pop(id_column)}
        columns = {label_column: label_key(row, keys, table), "primary": "primary"}
        for key, column in columns.items():
            cell = row.pop(column, "")
            names = [name.strip() for name in cell.split(label_separator)]
            typed[key] = [name for name in names if name]
        if links := row.pop("links", ""):
            parsed = parse_object(f'{{"links": {links}}}', table)
            if list(parsed) != ["links"]:
                raise table.refusal("'links' must be one JSON list")
            typed |= parsed
        facts = {name: row.pop(name) for name in list(row) if name.startswith(META)}
        typed["meta"] = {
            n.removeprefix(META): fact for n, fact in facts.items() if fact
        }
        typed["fields"] = {
            n.removeprefix(FIELDS): text for n, text in row.items() if text
        }
        yield record_from(typed, keys, table)


def write_delimited(
    records: Iterable[Record],
    path: Path | str,
    *,
    delimiter: str | None = None,
    label_separator: str = "|",
    raw: bool = False,
) -> int:
    """Write records as CSV or TSV, and return how many.

    The columns are those of all records when ``records`` is a list, else those of the
    first record. Cells that a spreadsheet would run get a leading ``'`` unless ``raw``.
    """
    columns, stream = columns_of(records)
    for name in (*columns.fields, *columns.meta):
        if name != name.strip() or not name:
            raise refusal("%(name)r cannot name a column: write JSONL", name=name)
    header = ["id", "primary", "labels"]
    for name in columns.fields:
        clash = is_taken(name) or name.startswith((META, FIELDS))
        header.append(FIELDS + name if clash else name)
    header += [META + name for name in columns.meta] + ["links"]
    cells = (_cells(record, columns, label_separator) for record in stream)
    return write_rows(header, cells, path, delimiter, raw=raw)


def write_rows(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    path: Path | str,
    delimiter: str | None = None,
    *,
    raw: bool = True,
    end: str = "\r\n",
) -> int:
    """Write a CSV or TSV file, and return how many rows follow the header.

    Without ``raw``, cells that a spreadsheet would run get a leading ``'``.
    """
    count = -1
    with writing(path) as file:
        delimiter = delimiter or delimiter_of(path)
        table = csv.writer(file, delimiter=delimiter, lineterminator=end)
        for row in chain([header], rows):
            guarded = (f"'{c}" if c.startswith(FORMULAS) else c for c in row)
            table.writerow(row if raw else guarded)
            count += 1
    return count


def _cells(record: Record, columns: Columns, separator: str) -> list[str]:
    columns.check(record, meta=True)
    for name, grade in record.labels.items():
        if separator in name or name != name.strip() or not name:
            raise refusal(
                "record %(id)r: label %(name)r cannot stand between %(separator)r: "
                "choose another label_separator",
                id=record.id,
                name=name,
                separator=separator,
            )
        if grade not in (PRIMARY, SECONDARY):
            raise refusal(
                "record %(id)r: a table holds grades 1 and 2, not %(grade)s: write "
                "JSONL",
                id=record.id,
                grade=grade,
            )
    fields, meta = record.document.fields, record.meta
    return [
        record.id,
        separator.join(n for n, grade in record.labels.items() if grade == PRIMARY),
        separator.join(n for n, grade in record.labels.items() if grade == SECONDARY),
        *(fields.get(name, "") for name in columns.fields),
        *(meta.get(name, "") for name in columns.meta),
        json.dumps(record.links, ensure_ascii=False) if record.links else "",
    ]


def _arrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra(N_("Parquet files"), "parquet") from error
    return pa, pq


def read_parquet(
    path: Path | str,
    *,
    id_column: str = "id",
    label_column: str = "labels",
    fields: Sequence[str] | None = None,
    batch: int = 1024,
) -> Iterator[Record]:
    """Yield the records of a Parquet file, ``batch`` rows in memory at a time.

    An error's line is the number of the row.
    """
    keys = Keys(id_column, label_column, None if fields is None else tuple(fields))
    with parquet_file(existing(path), str(path)) as file:
        yield from (r for _, r in rows_in(file, str(path), keys=keys, batch=batch))


@contextmanager
def parquet_file(source: Path | BinaryIO, name: str) -> Iterator[Any]:
    """Open a Parquet file, as pyarrow has it; what is wrong in it is told by name."""
    arrow, parquet = _arrow()
    try:
        with parquet.ParquetFile(source) as file:
            yield file
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise FilePlace(name).refusal(
            "no Parquet file (%(error)s): write it again", error=error
        ) from error


def rows_in(
    file: Any,
    name: str,
    groups: range | None = None,
    *,
    keys: Keys = KEYS,
    batch: int = 1024,
) -> Iterator[tuple[int, Record]]:
    """Yield (row, record) of some row groups of an opened file; of all, if None."""
    selected = range(file.num_row_groups) if groups is None else groups
    before = sum(file.metadata.row_group(at).num_rows for at in range(selected.start))
    batches = file.iter_batches(batch_size=batch, row_groups=list(selected))
    numbered = enumerate(
        chain.from_iterable(b.to_pylist() for b in batches), before + 1
    )
    table = Numbered(name, numbered)
    for number, row in table:
        for key in (keys.labels, "meta", "fields"):  # arrow's maps are lists of pairs
            value = row.get(key)
            if isinstance(value, list) and value and isinstance(value[0], tuple):
                row[key] = dict(value)
        if row.get("meta") == []:
            row["meta"] = None
        yield number, record_from(row, keys, table)


def write_parquet(
    records: Iterable[Record], path: Path | str, *, batch: int = 1024
) -> int:
    """Write records, one column per field, and return how many.

    The columns are those of all records when ``records`` is a list, else those of the
    first record.
    """
    arrow, parquet = _arrow()
    columns, stream = columns_of(records)
    text, taken = arrow.string(), any(map(is_taken, columns.fields))
    link = arrow.struct([("id", text), ("anchor", text)])
    schema = arrow.schema(
        [
            ("id", text),
            *((name, text) for name in columns.fields if not is_taken(name)),
            *([("fields", arrow.map_(text, text))] if taken else []),
            ("labels", arrow.map_(text, arrow.float64())),
            ("meta", arrow.map_(text, text)),
            ("links", arrow.list_(link)),
        ]
    )
    count = 0
    with replacing(path) as beside, parquet.ParquetWriter(beside, schema) as writer:
        while rows := [_row(record, columns) for record in islice(stream, batch)]:
            writer.write_batch(arrow.RecordBatch.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


def _row(record: Record, columns: Columns) -> dict[str, Any]:
    columns.check(record, meta=False)
    fields = record.document.fields
    return {
        "id": record.id,
        **{name: fields[name] for name in fields if not is_taken(name)},
        "fields": [(name, fields[name]) for name in fields if is_taken(name)],
        "labels": list(record.labels.items()),
        "meta": list(record.meta.items()),
        "links": [{"id": to, "anchor": anchor} for to, anchor in record.links],
    }
