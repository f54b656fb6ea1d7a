"""JSONL: one JSON object on each line, and how a mapping becomes a record.

Keys: ``id``; text under any other key (``title``, ``body``, ``text``…), kept in order;
``labels`` as a list of names or name → grade, or ``primary`` (grade 2) and
``secondary`` (grade 1); ``meta`` (name → short fact); ``links`` or ``see``
(ids, ``[id, anchor]`` or ``{"id", "anchor"}``); ``preferences``, a list of ``{"winner",
"loser", "weight"}``; ``vector``, a list of numbers that the file's writer has made of
the text. In the place of ``labels`` stand ``label``, ``category``,
``categories``, ``class``, ``classes`` or ``subjects``, in small or large letters.
Numbers, true and false under other keys than ``title``, ``text`` and ``body`` are
facts. What is written is read back the
same.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from classmark.corpus.documents import Document
from classmark.formats.column_names import role_by_name
from classmark.formats.records import PRIMARY, SECONDARY, Record
from classmark.formats.text_files import FilePlace, Numbered, lines, write_lines
from classmark.language import _
from classmark.problems import refusal, worded

RESERVED = frozenset(
    {"fields", "primary", "secondary", "meta", "links", "see", "preferences"}
)
ALIKE = frozenset(
    {
        "label", "labels", "category", "categories", "class", "classes", "subject",
        "subjects",
    }
)  # fmt: skip
LABELS, VECTOR = "labels", "vector"
TEXTS = frozenset({"title", "text", "body"})  # a book may be called 1984
PREFERENCE = frozenset({"winner", "loser", "weight"})


@dataclass(frozen=True, slots=True)
class Keys:
    """Which keys hold what.

    id : the document's id, a string or an integer;
    labels : a name, a list of names, or an object of name → grade; beside it
    ``primary`` (a name, grade 2) and ``secondary`` (names, grade 1);
    fields : the keys that are text, or None for every other key, which must then hold a
    string, null (no field), or a number or truth (a fact). An object under ``fields``
    gives fields whatever their names.
    """

    id: str = "id"
    labels: str = LABELS
    fields: tuple[str, ...] | None = None


def record_from(row: Mapping[str, Any], keys: Keys, place: FilePlace) -> Record:
    """Build a record from parsed JSON or a table's row; its id is new to the place."""
    name = place.new_id(_id(row, keys, place))
    if (key := label_key(row, keys, place)) != keys.labels:
        keys = replace(keys, labels=key)
    vector: tuple[float, ...] = ()
    if isinstance(row.get(VECTOR), list):  # text or a fact may have the same name
        vector = place.vector(row[VECTOR], VECTOR)
        row = {name: value for name, value in row.items() if name != VECTOR}
    fields, facts = _fields(row, keys, place)
    meta = _meta(row.get("meta"), place)
    for name in facts.keys() & meta.keys():
        raise place.refusal(
            "%(name)r is there twice, once under 'meta': leave one", name=name
        )
    return Record(
        Document(name, fields),
        _labels(row, keys, place),
        meta | facts,
        _links(row.get("links"), place) + _links(row.get("see"), place),
        _preferences(row.get("preferences"), place),
        vector,
    )


def label_key(names: Iterable[str], keys: Keys, place: FilePlace) -> str:
    """The key of the labels: as it is named, or one that can mean nothing else.

    What may hold the answer is refused, lest it be learned from as text.
    """
    if keys.fields is not None:
        return keys.labels
    alike = [n for n in names if n.lower() in ALIKE and n not in {keys.id, keys.labels}]
    if not alike:
        return keys.labels
    sure = len(alike) == 1 and alike[0].lower() != "subject"
    if not sure or keys.labels != LABELS or LABELS in names:
        raise place.refusal(
            "%(alike)r may hold categories: call what does 'labels', and put "
            "what is text under 'fields' (in a table: fields.NAME), what is "
            "neither under 'meta'",
            alike=alike[0],
        )
    return alike[0]


def _id(row: Mapping[str, Any], keys: Keys, place: FilePlace) -> str:
    name = row.get(keys.id)
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    if not isinstance(name, str):
        if isinstance(row.get("_id"), str):  # BEIR's name for it
            raise place.refusal(
                "no id: it is under '_id': %(remedy)s beir",
                remedy=worded("give --format (format=)"),
            )
        raise place.refusal(
            "no id: give every record a string under %(id)r", id=keys.id
        )
    return name


def _fields(
    row: Mapping[str, Any], keys: Keys, place: FilePlace
) -> tuple[dict[str, str], dict[str, str]]:
    """The texts, and the facts among them: numbers and truths nobody calls text."""
    reserved = RESERVED | {keys.id, keys.labels}
    names = keys.fields or [name for name in row if name not in reserved]
    nested = row.get("fields") or {}
    if not isinstance(nested, Mapping):
        raise place.refusal("'fields' must be an object of name → text")
    fields: dict[str, str] = {}
    facts: dict[str, str] = {}
    for name, value in [*((name, row.get(name)) for name in names), *nested.items()]:
        if isinstance(value, str):
            fields[name] = value
        elif isinstance(value, float) and math.isnan(value):
            continue  # an empty cell of a table
        elif isinstance(value, bool | int | float):
            place.finite(value, repr(name))
            text = keys.fields is not None or name in nested or name in TEXTS
            (fields if text else facts)[name] = json.dumps(value)
        elif value is not None:
            kind = _("a list") if isinstance(value, list) else _("an object")
            raise place.refusal(
                "%(name)r holds %(kind)s, not text: name the keys that are text "
                "(fields=), or move it under 'meta'",
                name=name,
                kind=kind,
            )
    return fields, facts


def _labels(row: Mapping[str, Any], keys: Keys, place: FilePlace) -> dict[str, float]:
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


def _names(value: object, key: str, place: FilePlace) -> list[str]:
    names = [value] if isinstance(value, str | int) else value
    if names is None:
        return []
    if isinstance(names, list):  # the numbers of classes are their names
        names = [str(name) if type(name) is int else name for name in names]
    if not isinstance(names, list) or not all(
        isinstance(name, str) and name.strip() for name in names
    ):
        raise place.refusal(
            "%(key)r must be a name, a list of names or name → grade", key=key
        )
    return names


def _grade(name: object, value: object, place: FilePlace) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    grade = float(str(value)) if number else math.nan
    if not math.isfinite(grade) or not str(name).strip():
        raise place.refusal(
            "label %(name)r has the grade %(value)r: give a finite number",
            name=name,
            value=value,
        )
    return grade


def _meta(value: object, place: FilePlace) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise place.refusal("'meta' must be an object of name → short text")
    meta = {}
    for name, fact in value.items():
        if not isinstance(fact, str | bool | int | float):
            raise place.refusal(
                "meta %(name)r holds %(fact)s: give text or a number",
                name=name,
                fact=f"{fact!r:.40}",
            )
        meta[str(name)] = fact if isinstance(fact, str) else json.dumps(fact)
    return meta


def _links(value: object, place: FilePlace) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise place.refusal("links must be a list of ids, [id, anchor] or {id, anchor}")
    links = []
    for link in value:
        if isinstance(link, Mapping):
            pair = [link.get("id"), link.get("anchor") or ""]
        else:
            pair = [link, ""] if isinstance(link, str) else link
        if not isinstance(pair, list) or [type(part) for part in pair] != [str, str]:
            raise place.refusal("a link must be an id, [id, anchor] or {id, anchor}")
        links.append((pair[0], pair[1]))
    return tuple(links)


def _preferences(value: object, place: FilePlace) -> dict[tuple[str, str], float]:
    if value is None:
        return {}
    if not isinstance(value, list):
        raise place.refusal("'preferences' must be a list of {winner, loser, weight}")
    weights: dict[tuple[str, str], float] = {}
    for entry in value:
        if not isinstance(entry, Mapping) or not entry.keys() <= PREFERENCE:
            raise place.refusal(
                "a preference must be {winner, loser} or {winner, loser, weight}"
            )
        winner, loser = pair = entry.get("winner"), entry.get("loser")
        named = all(isinstance(name, str) and name.strip() for name in pair)
        if not named or winner == loser:
            raise place.refusal(
                "preference %(dict)s: name two different categories",
                dict=dict(entry),
            )
        weight = _grade(f"{winner} over {loser}", entry.get("weight", 1.0), place)
        if weight <= 0:
            raise place.refusal(
                "preference %(dict)s: give a weight above 0", dict=dict(entry)
            )
        if (winner, loser) in weights or (loser, winner) in weights:
            raise place.refusal(
                "preferences: %(winner)r and %(loser)r are compared twice: keep one",
                winner=winner,
                loser=loser,
            )
        weights[str(winner), str(loser)] = weight
    return weights


def is_taken(name: str) -> bool:
    """Whether a key of this name is no field, unless it stands under ``fields``."""
    return name in RESERVED or name == "id" or name.lower() in ALIKE


def _means_more(name: str) -> bool:
    """Whether a key of this name may be taken for something else than a field."""
    role = role_by_name(name)
    return is_taken(name) or (role not in {None, "text"} and name != "title")


def mapping_from(record: Record) -> dict[str, Any]:
    """Build what :func:`record_from` reads back, with :class:`Keys` as they are.

    >>> mapping_from(Record(Document("7", {"title": "Bees"}), {"insects": 1.0}))
    {'id': '7', 'title': 'Bees', 'labels': ['insects']}
    """
    fields = dict(record.document.fields)
    row: dict[str, Any] = {"id": record.id}
    if any(map(_means_more, fields)) or (record.vector and VECTOR in fields):
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
    if record.vector:
        row[VECTOR] = list(record.vector)
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
    for _line, record in records_in(lines(path, encoding), str(path), keys):
        yield record


def records_in(
    numbered: Iterable[tuple[int, str]], path: str, keys: Keys = KEYS
) -> Iterator[tuple[int, Record]]:
    """Yield (line number, record) of the numbered lines of a JSONL file."""
    objects = objects_in(Numbered(path, numbered))
    for number, row in objects:
        yield number, record_from(row, keys, objects)


def json_lines(path: Path | str, encoding: str = "utf-8") -> Numbered[dict[str, Any]]:
    """Return (line number, object) pairs of a file of one JSON object on each line."""
    return objects_in(lines(path, encoding))


def objects_in(file: Numbered[str]) -> Numbered[dict[str, Any]]:
    """Return (line number, object) pairs of lines; blank lines are passed over."""
    numbered = (
        (number, parse_object(line, file))
        for number, line in file
        if line and not line.isspace()
    )
    return Numbered(file.path, numbered)


def parse_object(text: str, place: FilePlace) -> dict[str, Any]:
    """Parse one JSON object, strictly: no NaN, no half of a surrogate pair."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        if SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise place.refusal(
            "not JSON (%(error)s): give one object per line", error=error
        ) from error
    if not isinstance(value, dict):
        raise place.refusal("JSON, but no object: write {…} on each line")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def write_jsonl(records: Iterable[Record], path: Path | str) -> int:
    """Write records, one on each line, and return how many."""
    return write_lines(map(_line, records), path)


def _line(record: Record) -> str:
    try:
        row = mapping_from(record)
        return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:
        raise refusal(
            "record %(id)r cannot be written as JSON: %(error)s",
            id=record.id,
            error=error,
        ) from error
