"""CSV and TSV: a header, then one record on each row.

Columns: ``id``; ``labels``, names with ``|`` between them (grade 1); ``primary``, one
name or several (grade 2); ``meta.NAME`` for facts; ``links``, a JSON list; every other
column is text, and an empty cell is no field.

A spreadsheet runs a cell that starts with ``= + - @``, a tab or a carriage return. The
writer puts ``'`` before such cells; the reader leaves it there. With ``raw=True`` cells
are written as they are, and read back the same.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from classmark.formats.ids import Ids
from classmark.formats.jsonl import parse_object
from classmark.formats.mappings import Keys, Place, record_from
from classmark.formats.record import PRIMARY, SECONDARY, Record
from classmark.formats.tables import Columns, columns_of, refuse_preferences
from classmark.formats.text_files import COMPRESSIONS, LIMITS, raw_lines, writing
from classmark.problems import Mistake, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
    taken = {"id", "primary", "labels", "links"}
    for name in columns.fields:
        if name in taken or name.startswith(META) or name != name.strip() or not name:
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
