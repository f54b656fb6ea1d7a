"""What did an act do to the categories? Field by field, before and after.

So every such act can be taken back: it is enough that nothing it changed was changed
again since.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.connecting import damaged

if TYPE_CHECKING:
    from classmark.workbench.database import Database

Value = str | int | None
Row = dict[str, Value]
Changes = dict[int, dict[str, tuple[Value, Value]]]
BLANK: Row = {
    "id": "", "label": "", "note": "", "synonyms": "[]", "parents": "[]",
    "notation": "", "status": "active", "stands": 0, "joined": None,
    "guideline": "",
}  # fmt: skip


def rows_of(database: Database, numbers: set[int] | None = None) -> dict[int, Row]:
    """Number → what the table of categories says, of all or some, by number."""
    chosen = f"SELECT number, {', '.join(BLANK)} FROM categories"  # noqa: S608 (our own names)
    if numbers is None:
        found = database.run(f"{chosen} ORDER BY number").fetchall()
    else:
        each = (database.run(f"{chosen} WHERE number = ?", (n,)) for n in numbers)
        found = [row for rows in each for row in rows]
    return {row[0]: dict(zip(BLANK, row[1:], strict=True)) for row in found}


def as_row(category: Category, number: Mapping[str, int]) -> Row:
    """A category as a row that stands; ``number`` : id → number of its parents."""
    for parent in category.parents:
        if parent not in number:
            raise Mistake(
                f"category {category.id!r} names the parent {parent!r}, which is not "
                "among the categories: add it or leave the parent empty"
            )
    return {
        "id": category.id,
        "label": category.label,
        "note": category.note,
        "synonyms": as_json(category.synonyms),
        "parents": as_json([number[parent] for parent in category.parents]),
        "notation": category.notation,
        "status": category.status,
        "stands": 1,
        "joined": None,
        "guideline": category.guideline,
    }


def as_categories(rows: Mapping[int, Row]) -> list[Category]:
    """The categories that stand, in order of arrival."""
    listed = cache(lambda text: tuple(json.loads(text)))
    return [
        Category(
            str(row["id"]),
            str(row["label"]),
            str(row["note"]),
            listed(row["synonyms"]),
            tuple(str(rows[p]["id"]) for p in listed(row["parents"])),
            str(row["notation"]),
            str(row["status"]),
            str(row["guideline"]),
        )
        for row in rows.values()
        if row["stands"]
    ]


def difference(before: Mapping[int, Row], after: Mapping[int, Row]) -> Changes:
    """What changes the rows before into those after; a new number was blank.

    >>> difference({1: BLANK}, {1: BLANK | {"label": "Bees"}})
    {1: {'label': ('', 'Bees')}}
    """
    found: Changes = {}
    for number, row in after.items():
        had = before.get(number, BLANK)
        fields = {f: (had[f], row[f]) for f in BLANK if had[f] != row[f]}
        if fields:
            found[number] = fields
    return found


def reversed_changes(changes: Changes) -> Changes:
    """What takes the changes back."""
    return {
        number: {field: (after, before) for field, (before, after) in fields.items()}
        for number, fields in changes.items()
    }


def write(database: Database, changes: Changes) -> None:
    """Make the changes, to rows that are as they should be before."""
    for number, fields in changes.items():
        if not fields.keys() <= BLANK.keys():
            raise damaged(
                database.engine.place, sqlite3.DatabaseError("an unknown field")
            )
        database.run(
            "INSERT INTO categories (number, id) VALUES (?, '') ON CONFLICT DO NOTHING",
            (number,),
        )
        values = tuple(after for _, after in fields.values())
        said = ", ".join(f"{field} = ?" for field in fields)
        database.run(
            f"UPDATE categories SET {said} WHERE number = ?",  # noqa: S608 (our own names)
            (*values, number),
        )


def packed(changes: Changes) -> str:
    """The changes as JSON."""
    return as_json(changes)


def unpacked(text: str) -> Changes:
    """The changes that JSON tells.

    >>> unpacked(packed({1: {"label": ("", "Bees")}}))
    {1: {'label': ('', 'Bees')}}
    """
    return {
        int(number): {field: (pair[0], pair[1]) for field, pair in fields.items()}
        for number, fields in json.loads(text).items()
    }


def as_json(value: Any) -> str:
    """Compact JSON; a number that JSON has no word for is refused, not written."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
