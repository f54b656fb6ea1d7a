"""What a column holds, guessed by its name and its first cells."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from statistics import mean
from typing import Any

from classmark.formats.column_names import (
    DATE,
    FACT,
    ID,
    IGNORE,
    LABEL,
    LIKELY_IDS,
    PRIMARY,
    STRUCTURED,
    TEXT,
    TITLE,
    UNCLEAR,
    plain,
    role_by_name,
)
from classmark.formats.rows import Row

WHOLE_EXPORT = {"id", "primary", "labels", "links"}  # of a table that we wrote
SEPARATORS = ("|", ";")  # that are guessed; a comma is often part of a name
LONG = 40  # letters of a cell, on average, from which it is text


def examples(sample: list[Row], column: str) -> tuple[str, ...]:
    """The first three values of a column, as a page shows them."""
    cells = (_shown(row[column]) for row in sample if row.get(column) not in (None, ""))
    return tuple(islice(dict.fromkeys(cells), 3))


def _shown(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "; ".join(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text[:240].split())[:80]


def guessed_roles(
    sample: list[Row], columns: list[str], chosen: Mapping[str, str], *, typed: bool
) -> dict[str, str]:
    """Column → role: as given, by its name, or by its first cells."""
    exported = set(columns) >= WHOLE_EXPORT
    roles: dict[str, str] = {}
    for column in columns:
        role = chosen.get(column)
        if role is None:
            role = role_by_name(column)
            known = role == STRUCTURED or column in WHOLE_EXPORT
            if exported and role is not None and not known:
                role = TEXT
            if role is None:
                cells = [row.get(column) for row in sample]
                role = _by_cells(column, cells, typed=typed or exported)
        roles[column] = role
    _one_of_each(sample, roles, chosen)
    if not chosen or ID not in chosen.values():
        _likely_id(sample, roles, chosen)
    if sample and not set(roles.values()) & {TEXT, TITLE} and not typed:
        _longest_is_text(sample, roles, chosen)
    return roles


def _by_cells(column: str, values: list[Any], *, typed: bool) -> str:
    """The role of a column whose name says nothing."""
    cells = [value for value in values if value not in (None, "")]
    if any(isinstance(value, dict) for value in cells):
        return UNCLEAR
    if any(isinstance(value, list) for value in cells):
        plain_list = all(
            isinstance(part, str) for v in cells if isinstance(v, list) for part in v
        )
        return TEXT if plain_list else UNCLEAR
    if cells and all(_is_number(value) for value in cells):
        unnamed = column.startswith(("column ", "Unnamed: "))
        return IGNORE if unnamed and _counts(cells) else FACT
    if typed:
        return TEXT
    return TEXT if cells and mean(len(str(value)) for value in cells) > LONG else FACT


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | int | float):
        return True
    try:
        float(value.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _counts(cells: list[Any]) -> bool:
    """Whether cells are the numbers of their rows."""
    texts = [str(cell) for cell in cells]
    return any(
        texts == [str(at) for at in range(first, first + len(texts))]
        for first in (0, 1)
    )


def _one_of_each(
    sample: list[Row], roles: dict[str, str], chosen: Mapping[str, str]
) -> None:
    """Let one column of a row alone be guessed for id, title, date, and labels.

    Of two that may hold labels, neither is sure, unless one is called ``labels``.
    """
    for role, other in ((ID, FACT), (TITLE, TEXT), (DATE, FACT), (LABEL, UNCLEAR)):
        named = [column for column, its in roles.items() if its == role]
        sure = [column for column in named if column in chosen or column == "labels"]
        exact = [column for column in named if plain(column) == role]
        kept = sure or (exact or named)[:1]
        beside = {
            column
            for column in set(named) - set(kept)
            if any(column in row and kept[0] in row for row in sample)
        }
        if role == LABEL and beside and not sure:
            beside |= set(kept)
        roles |= dict.fromkeys(beside - chosen.keys(), other)


def _likely_id(
    sample: list[Row], roles: dict[str, str], chosen: Mapping[str, str]
) -> None:
    """Take a column for the id that identifies every row, if none is called so."""
    if ID in roles.values():
        return
    for name in LIKELY_IDS:
        for column in roles:
            cells = [row.get(column) for row in sample]
            named = plain(column) == name and column not in chosen
            if named and all(cells) and len(set(map(str, cells))) == len(cells):
                roles[column] = ID
                return


def _longest_is_text(
    sample: list[Row], roles: dict[str, str], chosen: Mapping[str, str]
) -> None:
    """Where no column is text, the one with the longest cells is."""
    lengths = {
        column: mean(len(str(row.get(column, ""))) for row in sample)
        for column, role in roles.items()
        if role == FACT and column not in chosen and role_by_name(column) is None
    }
    words = {
        column: length
        for column, length in lengths.items()
        if not all(_is_number(row[column]) for row in sample if row.get(column))
    }
    if words:
        roles[max(words, key=words.__getitem__)] = TEXT


def likely_separator(
    sample: list[Row], roles: Mapping[str, str], *, typed: bool
) -> str:
    """What stands between labels in one cell: none in JSON, which has lists."""
    if typed:
        return "none"
    columns = [column for column, role in roles.items() if role in (LABEL, PRIMARY)]
    cells = [str(row[column]) for row in sample for column in columns if column in row]
    return next((s for s in SEPARATORS if any(s in cell for cell in cells)), "|")
