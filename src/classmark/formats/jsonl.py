r"""JSONL: one JSON object on each line.

Keys: ``id``; text under any other key (``title``, ``body``, ``text``…), kept in order;
``labels`` as a list of names or name → grade, or ``primary`` (grade 2) and
``secondary`` (grade 1); ``meta`` (name → short fact); ``links`` or ``see``
(ids, ``[id, anchor]`` or ``{"id", "anchor"}``); ``preferences``, a list of ``{"winner",
"loser", "weight"}``. What is written is read back the same.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from classmark.formats.ids import Ids
from classmark.formats.mappings import Keys, Place, mapping_from, record_from
from classmark.formats.text_files import lines, writing
from classmark.problems import Mistake, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from classmark.formats.record import Record

KEYS = Keys()
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_jsonl(
    path: Path | str,
    *,
    id_key: str = "id",
    label_key: str = "labels",
    fields: Sequence[str] | None = None,
    encoding: str = "utf-8",
) -> Iterator[Record]:
    """Yield the records of a JSONL file; blank lines are passed over.

    With ``fields`` only those keys are text and others are ignored; without it every
    other key must hold text.
    """
    keys = Keys(id_key, label_key, None if fields is None else tuple(fields))
    for _, record in records_in(lines(path, encoding), str(path), keys):
        yield record


def records_in(
    numbered: Iterable[tuple[int, str]], path: str, keys: Keys = KEYS
) -> Iterator[tuple[int, Record]]:
    """Yield (line number, record) of the numbered lines of a JSONL file."""
    ids = Ids()
    for number, row in _objects(numbered, path):
        record = record_from(row, keys, Place(path, number))
        ids.new(record.id, path, number)
        yield number, record


def json_lines(
    path: Path | str, encoding: str = "utf-8"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a file with one JSON object on each line."""
    return _objects(lines(path, encoding), str(path))


def _objects(
    numbered: Iterable[tuple[int, str]], path: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in numbered:
        if line and not line.isspace():
            yield number, parse_object(line, path, number)


def parse_object(text: str, path: str, line: int | None) -> dict[str, Any]:
    """Parse one JSON object, strictly: no NaN, no half of a surrogate pair."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        if SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(
            path, line, f"not JSON ({error}): give one object per line"
        ) from error
    if not isinstance(value, dict):
        raise UnreadableFile(path, line, "JSON, but no object: write {…} on each line")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def write_jsonl(records: Iterable[Record], path: Path | str) -> int:
    """Write records, one on each line, and return how many."""
    count = 0
    with writing(path) as file:
        for record in records:
            try:
                line = json.dumps(
                    mapping_from(record), ensure_ascii=False, allow_nan=False
                )
                file.write(line + "\n")
            except ValueError as error:
                raise Mistake(
                    f"record {record.id!r} cannot be written as JSON: {error}"
                ) from error
            count += 1
    return count
