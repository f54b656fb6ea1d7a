"""JSONL: one JSON object on each line, and how a mapping becomes a record.

Keys: ``id``; text under any other key (``title``, ``body``, ``text``…), kept in order;
``labels`` as a list of names or name → grade, or ``primary`` (grade 2) and
``secondary`` (grade 1); ``meta`` (name → short fact); ``links`` or ``see``
(ids, ``[id, anchor]`` or ``{"id", "anchor"}``); ``preferences``, a list of ``{"winner",
"loser", "weight"}``. What is written is read back the same.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from classmark.corpus.documents import Document
from classmark.formats.records import PRIMARY, SECONDARY, Ids, Record
from classmark.formats.text_files import lines, writing
from classmark.problems import Mistake, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path


RESERVED = frozenset(
    {"fields", "primary", "secondary", "meta", "links", "see", "preferences"}
)


@dataclass(frozen=True, slots=True)
class Keys:
    """Which keys hold what.

    id : the document's id, a string or an integer;
    labels : a name, a list of names, or an object of name → grade; beside it
    ``primary`` (a name, grade 2) and ``secondary`` (names, grade 1);
    fields : the keys that are text, or None for every other key, which must then hold a
    string or null (no field). An object under ``fields`` gives fields whatever their
    names.
    """

    id: str = "id"
    labels: str = "labels"
    fields: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a mapping was read, for messages."""

    path: str
    line: int | None

    def refuse(self, problem: str) -> NoReturn:
        """Raise with the file, the line and the problem."""
        raise UnreadableFile(self.path, self.line, problem)


def record_from(row: Mapping[str, Any], keys: Keys, place: Place) -> Record:
    """Build a record from parsed JSON or a table's row."""
    return Record(
        Document(_id(row, keys, place), _fields(row, keys, place)),
        _labels(row, keys, place),
        _meta(row.get("meta"), place),
        _links(row.get("links"), place) + _links(row.get("see"), place),
        _preferences(row.get("preferences"), place),
    )


def _id(row: Mapping[str, Any], keys: Keys, place: Place) -> str:
    name = row.get(keys.id)
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    if not isinstance(name, str):
        place.refuse(
            f"no id: give every record a string under {keys.id!r}, or name the key"
        )
    return name


def _fields(row: Mapping[str, Any], keys: Keys, place: Place) -> dict[str, str]:
    reserved = RESERVED | {keys.id, keys.labels}
    names = keys.fields or [name for name in row if name not in reserved]
    nested = row.get("fields") or {}
    if not isinstance(nested, Mapping):
        place.refuse("'fields' is to be an object of name → text")
    fields: dict[str, str] = {}
    for name, value in [*((name, row.get(name)) for name in names), *nested.items()]:
        if isinstance(value, str):
            fields[name] = value
        elif value is not None:
            place.refuse(
                f"{name!r} holds {_kind(value)}, not text: name the keys that are text "
                "(fields=), or move it under 'meta'"
            )
    return fields


def _kind(value: object) -> str:
    kinds = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
    return kinds.get(type(value), "an object")


def _labels(row: Mapping[str, Any], keys: Keys, place: Place) -> dict[str, float]:
    labels: dict[str, float] = {}
    for key, grade in (("primary", PRIMARY), ("secondary", SECONDARY)):
        for name in _names(row.get(key), key, place):
            labels.setdefault(name, grade)
    listed = row.get(keys.labels)
    if isinstance(listed, Mapping):
        for name, value in listed.items():
            labels[name] = _grade(name, value, place)
    else:
        for name in _names(listed, keys.labels, place):
            labels.setdefault(name, SECONDARY)
    return labels


def _names(value: object, key: str, place: Place) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if names is None:
        return []
    if not isinstance(names, list) or not all(
        isinstance(name, str) and name.strip() for name in names
    ):
        place.refuse(f"{key!r} is to be a name, a list of names or name → grade")
    return names


def _grade(name: object, value: object, place: Place) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    grade = float(str(value)) if number else math.nan
    if not math.isfinite(grade) or not str(name).strip():
        place.refuse(f"label {name!r} has the grade {value!r}: give a finite number")
    return grade


def _meta(value: object, place: Place) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        place.refuse("'meta' is to be an object of name → short text")
    return {str(name): _fact(name, fact, place) for name, fact in value.items()}


def _fact(name: object, fact: object, place: Place) -> str:
    if isinstance(fact, str):
        return fact
    if not isinstance(fact, bool | int | float):
        place.refuse(f"meta {name!r} holds {fact!r:.40}: give text or a number")
    return json.dumps(fact)


def _links(value: object, place: Place) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        place.refuse("links are to be a list of ids, [id, anchor] or {id, anchor}")
    return tuple(_link(link, place) for link in value)


def _link(link: object, place: Place) -> tuple[str, str]:
    if isinstance(link, str):
        return link, ""
    if isinstance(link, Mapping):
        link = [link.get("id"), link.get("anchor") or ""]
    if not isinstance(link, list) or [type(part) for part in link] != [str, str]:
        place.refuse("a link is to be an id, [id, anchor] or {id, anchor}")
    return link[0], link[1]


def _preferences(value: object, place: Place) -> dict[tuple[str, str], float]:
    if value is None:
        return {}
    if not isinstance(value, list):
        place.refuse("'preferences' is to be a list of {winner, loser, weight}")
    weights: dict[tuple[str, str], float] = {}
    for entry in value:
        pair, weight = _preference(entry, place)
        if pair in weights or pair[::-1] in weights:
            place.refuse(
                f"preferences: {pair[0]!r} and {pair[1]!r} are compared twice: keep one"
            )
        weights[pair] = weight
    return weights


def _preference(entry: object, place: Place) -> tuple[tuple[str, str], float]:
    allowed = {"winner", "loser", "weight"}
    if not isinstance(entry, Mapping) or not entry.keys() <= allowed:
        place.refuse("a preference is to be {winner, loser} or {winner, loser, weight}")
    winner, loser = entry.get("winner"), entry.get("loser")
    for name in (winner, loser):
        if not isinstance(name, str) or not name.strip() or winner == loser:
            place.refuse(f"preference {dict(entry)}: name two different categories")
    weight = _grade(f"{winner} over {loser}", entry.get("weight", 1.0), place)
    if weight <= 0:
        place.refuse(f"preference {dict(entry)}: give a weight above 0")
    return (str(winner), str(loser)), weight


def mapping_from(record: Record) -> dict[str, Any]:
    """Build what :func:`record_from` reads back, with :class:`Keys` as they are.

    >>> mapping_from(Record(Document("7", {"title": "Bees"}), {"insects": 1.0}))
    {'id': '7', 'title': 'Bees', 'labels': ['insects']}
    """
    fields = dict(record.document.fields)
    row: dict[str, Any] = {"id": record.id}
    if fields.keys() & (RESERVED | {"id", "labels"}):
        row["fields"] = fields
    else:
        row |= fields
    if record.labels:
        plain = all(grade == SECONDARY for grade in record.labels.values())
        row["labels"] = list(record.labels) if plain else dict(record.labels)
    if record.meta:
        row["meta"] = dict(record.meta)
    if record.links:
        row["links"] = [{"id": to, "anchor": anchor} for to, anchor in record.links]
    if record.preferences:
        row["preferences"] = [
            {"winner": winner, "loser": loser, "weight": weight}
            for (winner, loser), weight in record.preferences.items()
        ]
    return row


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
