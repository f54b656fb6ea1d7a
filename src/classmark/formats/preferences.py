"""Preferences: «for this document, this category rather than that», one a line.

CSV or TSV with the columns ``document``, ``winner``, ``loser`` and, if wanted,
``weight`` (1 where the cell is empty); or JSONL with the same keys. By suffix. The word
``threshold`` in the place of a category stands for the threshold of the other one:
«bees, threshold» says that bees belong to the document, the contrary that they do not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from classmark.formats.jsonl import json_lines
from classmark.formats.tables import dictionaries, write_rows
from classmark.formats.text_files import FilePlace, Numbered, plain_name, write_lines
from classmark.problems import refusal

COLUMNS = ("document", "winner", "loser", "weight")
MARK = ".preferences"


class Preference(NamedTuple):
    """For a document, one category should stand above another."""

    document: str
    winner: str
    loser: str
    weight: float = 1.0


def read_preferences(path: Path | str) -> Iterator[Preference]:
    """Yield the preferences of a CSV, TSV or JSONL file."""
    return (preference for _, preference in numbered_preferences(path))


def numbered_preferences(path: Path | str) -> Iterator[tuple[int, Preference]]:
    """Yield (line number, preference).

    Raises ``UnreadableFile`` for a preference met twice, and for its contrary: the ends
    of all that were read are kept in memory.
    """
    return preferences_in(preference_rows(path))


def preference_rows(path: Path | str) -> Numbered[dict[str, Any]]:
    """Return (line number, column → cell) pairs of a CSV, TSV or JSONL file."""
    if _kind(path) == ".jsonl":
        return json_lines(path)
    return Numbered(path, dictionaries(path))


def preferences_in(
    rows: Numbered[dict[str, Any]], columns: Sequence[str] = COLUMNS
) -> Iterator[tuple[int, Preference]]:
    """Yield the preferences of numbered rows, none of which repeats or contradicts.

    columns : the names of subject, winner, loser and, where rows may have one, weight.
    """
    seen: dict[tuple[str, str, str], int] = {}
    for number, row in rows:
        preference = _preference(row, rows, columns)
        subject, winner, loser, _ = preference
        for pair, wording in (
            ((winner, loser), "it"),
            ((loser, winner), "its contrary"),
        ):
            if (subject, *pair) in seen:
                raise rows.refusal(
                    "%(columns)s %(subject)r, %(winner)r over %(loser)r: "
                    "%(wording)s is on line %(seen)s already: keep one",
                    columns=columns[0],
                    subject=subject,
                    winner=winner,
                    loser=loser,
                    wording=wording,
                    seen=seen[subject, *pair],
                )
        seen[subject, winner, loser] = number
        yield number, preference


def is_preferences(path: Path | str) -> bool:
    """Whether the name says so: ``shelf.preferences.csv``, as an export writes it.

    >>> is_preferences("shelf.preferences.csv"), is_preferences("shelf.csv")
    (True, False)
    """
    return MARK in Path(path).suffixes


def write_preferences(
    preferences: Iterable[Preference], path: Path | str, *, raw: bool = False
) -> int:
    """Write CSV, TSV or JSONL, by suffix, and return how many.

    In CSV and TSV, cells that a spreadsheet would run get a leading ``'`` unless
    ``raw``; the reader leaves it there.
    """
    rows = map(_checked, preferences)
    if _kind(path) == ".jsonl":
        texts = (json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rows)
        return write_lines(texts, path)
    cells = ([*map(str, row[:3]), repr(float(row.weight))] for row in rows)
    return write_rows(COLUMNS, cells, path, raw=raw)


def _checked(preference: Preference) -> Preference:
    if not (math.isfinite(preference.weight) and preference.weight > 0):
        raise refusal(
            "%(preference)s: its weight must be a number above 0",
            preference=preference,
        )
    return preference


def _kind(path: Path | str) -> str:
    suffix = plain_name(path).suffix
    if suffix in {".jsonl", ".ndjson"}:
        return ".jsonl"
    if suffix in {".csv", ".tsv", ".tab"}:
        return suffix
    raise refusal(
        "%(path)s: the suffix names no format of preferences: use .csv, .tsv or .jsonl",
        path=path,
    )


def _preference(
    row: Mapping[str, Any], place: FilePlace, columns: Sequence[str]
) -> Preference:
    unknown = [name for name in row if name not in columns]
    missing = [name for name in columns[:3] if name not in row]
    if unknown or missing:
        weight = ", and weight if you like" if len(columns) > 3 else ""
        raise place.refusal(
            "%(what)s %(what2)r: give %(names)s%(weight)s",
            what="no" if missing else "unknown",
            what2=(missing or unknown)[0],
            names=", ".join(columns[:3]),
            weight=weight,
        )
    subject, winner, loser = (_name(row[name], name, place) for name in columns[:3])
    if winner == loser:
        raise place.refusal(
            "%(columns)s %(subject)r: %(winner)r cannot be above itself: remove "
            "the line",
            columns=columns[0],
            subject=subject,
            winner=winner,
        )
    return Preference(subject, winner, loser, _weight(row.get("weight"), place))


def _name(value: object, column: str, place: FilePlace) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise place.refusal(
            "%(column)r holds %(value)s: give a name",
            column=column,
            value=f"{value!r:.40}",
        )
    return value


def _weight(value: object, place: FilePlace) -> float:
    if value is None or value == "":
        return 1.0
    weight = place.finite("" if isinstance(value, bool) else value, "the weight")
    if weight <= 0:
        raise place.refusal(
            "the weight is %(value)r: give a number above 0, or none", value=value
        )
    return weight
