"""A whole project as lines of JSON: all that its store holds, and back, without loss.

The first line has the settings, each other one a row of a table, the last one how many
rows there were and a checksum, so that a file that was cut off or changed is not taken
for whole. People and their tokens are left out.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from classmark.formats.text_files import lines
from classmark.problems import DamagedFolder, UnreadableFile
from classmark.progress import track
from classmark.workbench.changes import as_json
from classmark.workbench.schema import VERSION
from classmark.workbench.settings import StoreSettings, settings_text

if TYPE_CHECKING:
    from classmark.workbench.settings import Settings
    from classmark.workbench.store import Store

TABLES = (
    "documents", "categories", "judgments", "undone", "lessons", "events", "searches",
    "marks", "impressions", "clicks",
)  # fmt: skip
PEOPLE = ("users", "tokens")
JSON_COLUMNS = {
    "fields", "meta", "links", "synonyms", "parents", "changes", "detail", "settings",
    "shown",
}  # fmt: skip
FORMAT = 1
WHAT = "classmark project"
Row = tuple[Any, ...]


def columns_of(store: Store, table: str) -> tuple[str, ...]:
    """The names of a table's columns."""
    found = store.run(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608 (one of TABLES)
    return tuple(name for name, *_ in found.description)


def rows_in(store: Store, table: str) -> Iterator[Row]:
    """The rows of a table, by number; within a snapshot, all of one moment."""
    first = columns_of(store, table)[0]
    yield from store.engine.stream(f"SELECT * FROM {table} ORDER BY {first}")  # noqa: S608 (one of TABLES)


def copy_rows(source: Store, target: Store) -> None:
    """Copy everything, people too, into a store that has only its tables."""
    with source.snapshot(), target.transaction():
        for table in (*TABLES, *PEOPLE):
            rows = track(rows_in(source, table), f"copying {table}")
            target.engine.fill(table, columns_of(source, table), rows)


def write_whole(store: Store, settings: Settings, file: IO[str]) -> int:
    """Write the project as it is at one moment; return how many rows."""
    said = settings_text(replace(settings, store=StoreSettings()))
    head = {"what": WHAT, "version": FORMAT, "format": VERSION, "settings": said}
    crc = _put(file, head, 0)
    count = 0
    with store.snapshot():
        for table in TABLES:
            names = columns_of(store, table)
            for row in track(rows_in(store, table), f"writing {table}"):
                values = zip(names, row, strict=True)
                told = {name: _told(name, value) for name, value in values}
                crc = _put(file, {"in": table, **told}, crc)
                count += 1
    _put(file, {"end": count, "crc32": crc}, 0)
    return count


def settings_in(path: Path) -> str:
    """The settings that a file has in its first line."""
    for number, text in lines(path):
        head = _object(path, number, text)
        if head.get("what") != WHAT or not isinstance(head.get("settings"), str):
            break
        if max(head.get("version", 0) - FORMAT, head.get("format", 0) - VERSION) > 0:
            raise DamagedFolder(f"{path} is of a newer format: upgrade classmark")
        return str(head["settings"])
    raise UnreadableFile(
        path, 1, "not a project written by classmark backup: give such a file"
    )


def fill_from(store: Store, path: Path) -> None:
    """Put what a file holds into a store that has only its tables; all or nothing."""
    known = {table: set(columns_of(store, table)) for table in TABLES}
    with store.transaction():
        named = (
            _placed(path, number, row, known) for number, row in _checked_rows(path)
        )
        for (table, names), group in groupby(named, key=lambda found: found[:2]):
            try:
                store.engine.fill(table, names, (values for *_, values in group))
            except sqlite3.IntegrityError as problem:
                raise UnreadableFile(
                    path, None, f"{table}: {problem}: it was changed: fetch it again"
                ) from problem


def _put(file: IO[str], value: Mapping[str, Any], crc: int) -> int:
    text = as_json(value)
    file.write(text + "\n")
    return zlib.crc32(text.encode(), crc)


def _told(name: str, value: Any) -> Any:
    """A value as JSON has it; JSON in a column as itself, if it comes back the same."""
    if isinstance(value, float) and not isfinite(value):
        return {"number": repr(value)}
    if name in JSON_COLUMNS and isinstance(value, str):
        try:
            inside = json.loads(value)
            if not isinstance(inside, str) and as_json(inside) == value:
                return inside
        except ValueError:
            return value
    return value


def _meant(name: str, value: Any) -> Any:
    """The value that was told.

    >>> _meant("score", _told("score", float("-inf")))
    -inf
    >>> _meant("fields", _told("fields", '{"title":"Bees"}'))
    '{"title":"Bees"}'
    """
    if name in JSON_COLUMNS and value is not None and not isinstance(value, str):
        return as_json(value)
    return float(value["number"]) if isinstance(value, dict) else value


def _checked_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows between the first and the last line, if the last one agrees."""
    crc = count = 0
    end: dict[str, Any] = {}
    for number, text in track(lines(path), f"reading {path}"):
        found = _object(path, number, text)
        if end:
            raise UnreadableFile(path, number, "more after the end: fetch it again")
        if "end" in found:
            end = found
            continue
        crc = zlib.crc32(text.encode(), crc)
        if number > 1:
            count += 1
            yield number, found
    if (end.get("end"), end.get("crc32")) != (count, crc):
        raise UnreadableFile(
            path, None, "it is not whole, or was changed: fetch it again"
        )


def _placed(
    path: Path, number: int, row: dict[str, Any], known: Mapping[str, set[str]]
) -> tuple[str, tuple[str, ...], Row]:
    table = row.pop("in", None)
    if table not in known or not row.keys() <= known[table]:
        raise UnreadableFile(path, number, f"no row of {table!r}: fetch it again")
    try:
        values = tuple(_meant(name, value) for name, value in row.items())
    except (KeyError, TypeError, ValueError):
        values = (dict,)
    if not all(
        value is None or isinstance(value, str | int | float) for value in values
    ):
        raise UnreadableFile(path, number, "a value is none: fetch the file again")
    return str(table), tuple(row), values


def _object(path: Path, number: int, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise UnreadableFile(path, number, f"not JSON ({problem})") from problem
    if not isinstance(found, dict):
        raise UnreadableFile(path, number, "not an object: fetch the file again")
    return found
