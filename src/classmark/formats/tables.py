"""Which columns does a table of records need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.formats.record import Record


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
