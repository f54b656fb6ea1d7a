"""Parquet: a table of records in batches, read and written through pyarrow.

Columns: ``id``; ``labels`` (map of name → grade, list of names, or one name); ``meta``
(map or struct); ``links`` (list of ``{id, anchor}``); every other column is text, and
null is no field.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from classmark.formats.ids import Ids
from classmark.formats.mappings import RESERVED, Keys, Place, record_from
from classmark.formats.tables import Columns, columns_of, refuse_preferences
from classmark.formats.text_files import existing, replacing
from classmark.problems import MissingExtra, Mistake, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    from classmark.formats.record import Record

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
    wanted = range(file.num_row_groups) if groups is None else groups
    before = sum(file.metadata.row_group(at).num_rows for at in range(wanted.start))
    ids = Ids()
    rows = (
        row
        for rows in file.iter_batches(batch_size=batch, row_groups=list(wanted))
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
