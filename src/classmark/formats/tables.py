"""Tables of records: CSV, TSV and Parquet.

Columns: ``id``; ``labels``, names with ``|`` between them (grade 1); ``primary``, one
name or several (grade 2); ``meta.NAME`` for facts; ``links``, a JSON list; every other
column is text, and an empty cell is no field.

A spreadsheet runs a cell that starts with ``= + - @``, a tab or a carriage return. The
writer puts ``'`` before such cells; the reader leaves it there. With ``raw=True`` cells
are written as they are, and read back the same.

Columns: ``id``; ``labels`` (map of name → grade, list of names, or one name); ``meta``
(map or struct); ``links`` (list of ``{id, anchor}``); every other column is text, and
null is no field.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, BinaryIO

from classmark.formats.jsonl import RESERVED, Keys, Place, parse_object, record_from
from classmark.formats.records import PRIMARY, SECONDARY, Ids, Record
from classmark.formats.text_files import (
    COMPRESSIONS,
    LIMITS,
    existing,
    raw_lines,
    replacing,
    writing,
)
from classmark.problems import MissingExtra, Mistake, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of text fields and of facts, in the order they are written."""

    fields: tuple[str, ...]
    meta: tuple[str, ...]

    def check_fields(self, record: Record) -> None:
        """Refuse a record with a field that has no column."""
        _refuse(record, record.document.fields.keys() - set(self.fields))

    def check_meta(self, record: Record) -> None:
        """Refuse a record with a fact that has no column."""
        _refuse(record, record.meta.keys() - set(self.meta))


def refuse_preferences(record: Record) -> None:
    """Refuse a record with preferences, which have no column."""
    if record.preferences:
        raise Mistake(
            f"record {record.id!r} has preferences, which a table of documents does "
            "not hold: write JSONL, or write them to a file of their own"
        )


def _refuse(record: Record, lost: set[str]) -> None:
    if lost:
        raise Mistake(
            f"record {record.id!r} has {sorted(lost)}, which the first record has "
            "not: give the records as a list, or write JSONL"
        )


def columns_of(records: Iterable[Record]) -> tuple[Columns, Iterator[Record]]:
    """Find the columns: of all records when they are a list, else of the first one.

    Returns the columns and an iterator over all the records.
    """
    if isinstance(records, Sequence):
        return _columns(records), iter(records)
    stream = iter(records)
    first = list(islice(stream, 1))
    return _columns(first), chain(first, stream)


def _columns(records: Iterable[Record]) -> Columns:
    fields: dict[str, None] = {}
    meta: dict[str, None] = {}
    for record in records:
        fields |= dict.fromkeys(record.document.fields)
        meta |= dict.fromkeys(record.meta)
    return Columns(tuple(fields), tuple(meta))


FORMULAS = ("=", "+", "-", "@", "\t", "\r")
META = "meta."
_limit_lock = RLock()


def delimiter_of(path: Path | str) -> str:
    r"""Tell the delimiter by the name: a tab for ``.tsv`` and ``.tab``, else a comma.

    >>> delimiter_of("shelf.tsv.gz"), delimiter_of("shelf.csv")
    ('\t', ',')
    """
    path = Path(path)
    path = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return "\t" if path.suffix in {".tsv", ".tab"} else ","


def rows(
    path: Path | str, delimiter: str | None = None, encoding: str = "utf-8"
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of a CSV or TSV file, blank rows left out.

    The line is the one on which the row begins. Quotes are checked strictly.
    """
    line = 0

    def numbered() -> Iterator[str]:
        nonlocal line
        for line, text in raw_lines(path, encoding):  # noqa: B007 - read outside
            yield text

    reader = csv.reader(
        numbered(), delimiter=delimiter or delimiter_of(path), strict=True
    )
    while True:
        start = line + 1
        try:
            row = _unbounded(reader)
        except csv.Error as error:
            raise UnreadableFile(
                path, start, f"not a row ({error}): close quotes, double those inside"
            ) from error
        if row is None:
            return
        if row:
            yield start, row


def _unbounded(reader: Iterator[list[str]]) -> list[str] | None:
    """Read a row with long fields; the limit of the csv module is put back."""
    with _limit_lock:
        before = csv.field_size_limit(LIMITS.line)
        try:
            return next(reader, None)
        finally:
            csv.field_size_limit(before)


def dictionaries(
    path: Path | str, delimiter: str | None = None, encoding: str = "utf-8"
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, column → cell) of a file that begins with column names."""
    table = rows(path, delimiter, encoding)
    line, header = next(table, (1, []))
    header = [name.strip() for name in header]
    if not header:
        raise UnreadableFile(path, 1, "empty: the first row is to name the columns")
    if len(set(header)) < len(header) or "" in header:
        raise UnreadableFile(
            path, line, "a column has no name, or two the same: mend the first row"
        )
    for number, row in table:
        if len(row) != len(header):
            raise UnreadableFile(
                path,
                number,
                f"{len(row)} cells under {len(header)} columns: quote cells that hold "
                "the delimiter",
            )
        yield number, dict(zip(header, row, strict=True))


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
    ids = Ids()
    for number, row in dictionaries(path, delimiter, encoding):
        place = Place(str(path), number)
        if id_column not in row:
            place.refuse(f"no column {id_column!r}: add it, or name it (id_column=)")
        record = record_from(_typed(row, keys, label_separator, place), keys, place)
        ids.new(record.id, str(path), number)
        yield record


def _typed(
    row: dict[str, str], keys: Keys, separator: str, place: Place
) -> dict[str, object]:
    typed: dict[str, object] = {keys.id: row.pop(keys.id)}
    for key in (keys.labels, "primary"):
        names = [name.strip() for name in row.pop(key, "").split(separator)]
        typed[key] = [name for name in names if name]
    links = row.pop("links", "")
    if links:
        parsed = parse_object(f'{{"links": {links}}}', place.path, place.line)
        if list(parsed) != ["links"]:
            place.refuse("'links' is to be one JSON list")
        typed |= parsed
    facts = {name: row.pop(name) for name in list(row) if name.startswith(META)}
    typed["meta"] = {
        name.removeprefix(META): fact for name, fact in facts.items() if fact
    }
    typed["fields"] = {name: text for name, text in row.items() if text}
    return typed


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
    _check_names(columns)
    guard = str if raw else _guarded
    header = ["id", "primary", "labels", *columns.fields]
    header += [META + name for name in columns.meta] + ["links"]
    count = 0
    with writing(path) as file:
        writer = csv.writer(file, delimiter=delimiter or delimiter_of(path))
        writer.writerow([guard(name) for name in header])
        for record in stream:
            columns.check_fields(record)
            columns.check_meta(record)
            refuse_preferences(record)
            writer.writerow(_cells(record, columns, label_separator, guard))
            count += 1
    return count


def _check_names(columns: Columns) -> None:
    reserved = {"id", "primary", "labels", "links"}
    for name in columns.fields:
        if (
            name in reserved
            or name.startswith(META)
            or name != name.strip()
            or not name
        ):
            raise Mistake(f"field {name!r} cannot name a column: write JSONL")
    for name in columns.meta:
        if name != name.strip() or not name:
            raise Mistake(f"meta {name!r} cannot name a column: write JSONL")


def _guarded(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULAS) else cell


def _cells(
    record: Record, columns: Columns, separator: str, guard: Callable[[str], str]
) -> list[str]:
    for name, grade in record.labels.items():
        if separator in name or name != name.strip() or not name:
            raise Mistake(
                f"record {record.id!r}: label {name!r} cannot stand between "
                f"{separator!r}: choose another label_separator"
            )
        if grade not in (PRIMARY, SECONDARY):
            raise Mistake(
                f"record {record.id!r}: a table holds grades 1 and 2, not {grade}: "
                "write JSONL"
            )
    fields, meta = record.document.fields, record.meta
    cells = [
        record.id,
        separator.join(n for n, grade in record.labels.items() if grade == PRIMARY),
        separator.join(n for n, grade in record.labels.items() if grade == SECONDARY),
        *(fields.get(name, "") for name in columns.fields),
        *(meta.get(name, "") for name in columns.meta),
        json.dumps(record.links, ensure_ascii=False) if record.links else "",
    ]
    return [guard(cell) for cell in cells]


KEYS = Keys()


def _arrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("Parquet files", "parquet") from error
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
        raise UnreadableFile(
            name, None, f"no Parquet file ({error}): write it again"
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
    ids = Ids()
    rows = (
        row
        for rows in file.iter_batches(batch_size=batch, row_groups=list(selected))
        for row in rows.to_pylist()
    )
    for number, row in enumerate(rows, before + 1):
        record = record_from(_unmapped(row, keys.labels), keys, Place(name, number))
        ids.new(record.id, name, number)
        yield number, record


def _unmapped(row: dict[str, Any], label_column: str) -> dict[str, Any]:
    """Turn arrow's maps, lists of pairs, into dictionaries."""
    for key in (label_column, "meta", "fields"):
        value = row.get(key)
        if isinstance(value, list) and value and isinstance(value[0], tuple):
            row[key] = dict(value)
    if row.get("meta") == []:
        row["meta"] = None
    return row


def write_parquet(
    records: Iterable[Record], path: Path | str, *, batch: int = 1024
) -> int:
    """Write records, one column per field, and return how many.

    The columns are those of all records when ``records`` is a list, else those of the
    first record.
    """
    arrow, parquet = _arrow()
    columns, stream = columns_of(records)
    clash = set(columns.fields) & (RESERVED | {"id", "labels"})
    if clash:
        raise Mistake(f"fields {sorted(clash)} cannot name a column: write JSONL")
    schema, count = _schema(arrow, columns), 0
    with replacing(path) as beside, parquet.ParquetWriter(beside, schema) as writer:
        while rows := [_row(record, columns) for record in islice(stream, batch)]:
            writer.write_batch(arrow.RecordBatch.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


def _schema(arrow: Any, columns: Columns) -> Any:
    text = arrow.string()
    link = arrow.struct([("id", text), ("anchor", text)])
    return arrow.schema(
        [
            ("id", text),
            *((name, text) for name in columns.fields),
            ("labels", arrow.map_(text, arrow.float64())),
            ("meta", arrow.map_(text, text)),
            ("links", arrow.list_(link)),
        ]
    )


def _row(record: Record, columns: Columns) -> dict[str, Any]:
    columns.check_fields(record)
    refuse_preferences(record)
    return {
        "id": record.id,
        **record.document.fields,
        "labels": list(record.labels.items()),
        "meta": list(record.meta.items()),
        "links": [{"id": to, "anchor": anchor} for to, anchor in record.links],
    }
