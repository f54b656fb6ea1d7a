"""The judgment log: acts on documents and categories, append-only.

So every such act can be taken back: it is enough that nothing it changed was changed
again since.
"""

from __future__ import annotations

import getpass
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.store.database import Database, damaged

ASSIGN, REMOVE, PRIMARY, REJECT, UNSURE = (
    "assign", "remove", "primary", "reject", "unsure",
)  # fmt: skip
PREFER, RETRACT, UNDO = "prefer", "retract", "undo"
SKIP, NOTE, SETTLE = "skip", "note", "settle"
TELLING = (SKIP, NOTE, SETTLE)  # acts that leave what holds as it is
STATEMENTS = (ASSIGN, REMOVE, PRIMARY, REJECT, UNSURE)
LABELS = (ASSIGN, PRIMARY)


@dataclass(frozen=True, slots=True)
class Judged(Record):
    """What the log says of one document.

    primary : those of its labels that an expert called primary;  rejected : «not this
    one»;  unsure : neither this nor not this;  aside : the document as a whole is left
    for later. A category is in one of labels, rejected and unsure at most.
    """

    primary: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    aside: bool = False


def sorted_out(said: Mapping[str, tuple[str, float | None]]) -> dict[str, Any]:
    """Category → (act, grade) as the fields of a ``Judged``.

    >>> sorted_out({"a": ("primary", 2.0), "b": ("reject", None)})["labels"]
    {'a': 2.0}
    """
    by: dict[str, list[str]] = {act: [] for act in STATEMENTS}
    for name, (act, _) in said.items():
        by[act].append(name)
    return {
        "labels": {name: g for name, (act, g) in said.items() if act in LABELS},
        "primary": frozenset(by[PRIMARY]),
        "rejected": frozenset(by[REJECT]),
        "unsure": frozenset(by[UNSURE]),
    }


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


class Act(NamedTuple):
    """One line of the judgment log, before it has a number.

    act : ``assign`` (with a grade), ``primary`` (the same, and above the document's
    other labels), ``reject`` (not this one), ``unsure`` (neither; without a category
    the document as a whole) or ``remove``, which takes back any of them; ``prefer``
    (category over other, the grade being the weight) or ``retract``, which takes back
    what was preferred between the two; ``skip``, ``note`` and ``settle``, without a
    category, leave what holds as it is; without a document, an act on categories;
    model, rank, score : what the expert saw when deciding;  undoes : the number of the
    act taken back;  within : the number of the act this one is part of;  changes :
    what it does to categories.
    """

    document: str | None
    act: str
    category: str | None = None
    grade: float | None = None
    model: str = ""
    rank: int | None = None
    score: float | None = None
    note: str = ""
    other: str | None = None
    undoes: int | None = None
    within: int | None = None
    changes: Changes | None = None


class Entry(NamedTuple):
    """One line of the judgment log as it is read again.

    category, other : ids as they were right after this act;  numbers : the same two
    by the numbers that never change;  revisits : how many the learner made on it.
    """

    seq: int
    document: str | None
    act: str
    category: str | None
    other: str | None
    grade: float | None
    undoes: int | None
    within: int | None
    revisits: int | None
    changes: Changes
    numbers: tuple[int | None, int | None]


class Log(Database):
    """The judgment log of an open database, and the names in it."""

    def number_of(self, category: str) -> int:
        """The number of a category that stands, by its id."""
        found = self.run(
            "SELECT number FROM categories WHERE id = ? AND stands = 1", (category,)
        ).fetchone()
        if found is None:
            remedy = self._remedy(category)
            raise Mistake(f"there is no category {category!r}: {remedy}")
        return int(found[0])

    def _remedy(self, category: str) -> str:
        gone = self.run(
            "SELECT b.id FROM categories AS a JOIN categories AS b "
            "ON b.number = a.joined WHERE a.id = ? AND b.stands = 1", (category,)
        ).fetchone()  # fmt: skip
        if gone:
            return f"it was merged into {gone[0]!r}: use that"
        return f"correct its id, or run classmark taxonomy add {category}"

    def judge(self, acts: Iterable[Act], who: str) -> list[int]:
        """Append to the judgment log, all or nothing; return the numbers given."""
        numbers, known = [], dict[str | None, int | None]({None: None})
        with self.transaction():
            for act in acts:
                for name in (act.category, act.other):
                    if name is not None and name not in known:
                        known[name] = self.number_of(name)
                pair = (known[act.category], known[act.other])
                numbers.append(self.append(act, who, pair))
        return numbers

    def append(
        self, act: Act, who: str, pair: tuple[int | None, int | None] = (None, None)
    ) -> int:
        """Append one act whose category and other are given by their numbers."""
        ((number,),) = self.run(
            "INSERT INTO judgments (at, who, document, act, category, grade, model, "
            "rank, score, note, other, undoes, within, changes) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
            (
                now(), who, act.document, act.act, pair[0], act.grade, act.model,
                act.rank, act.score, act.note, pair[1], act.undoes, act.within,
                packed(act.changes) if act.changes else None,
            ),
        )  # fmt: skip
        return int(number)

    def note_revisits(self, seq: int, revisits: int) -> None:
        """Remember how many re-visits the learner made on an act; once per act."""
        self.run("INSERT INTO lessons (seq, revisits) VALUES (?, ?)", (seq, revisits))

    def log(self, after: int = -1) -> Iterator[Entry]:
        """Every act with a greater number than ``after``, in order."""
        called = self._renamed_since(after)
        for *columns, text, category, other, first, second in self.run(
            "SELECT seq, document, act, j.grade, undoes, within, revisits, changes, "
            "j.category, j.other, c.id, o.id FROM judgments AS j "
            "LEFT JOIN lessons USING (seq) "
            "LEFT JOIN categories AS c ON c.number = j.category "
            "LEFT JOIN categories AS o ON o.number = j.other "
            "WHERE seq > ? ORDER BY seq", (after,)
        ):  # fmt: skip
            changes = unpacked(text) if text else {}
            for number, fields in changes.items():
                if "id" in fields:
                    called[number] = str(fields["id"][1])
            seq, document, act, grade, undoes, within, revisits = columns
            yield Entry(
                seq, document, act, called.get(category, first),
                called.get(other, second), grade, undoes, within, revisits, changes,
                (category, other),
            )  # fmt: skip

    def _renamed_since(self, seq: int) -> dict[int, str]:
        """Number → id as it was after act ``seq``, where it has changed since."""
        names: dict[int, str] = {}
        for (text,) in self.run(
            "SELECT changes FROM judgments WHERE changes IS NOT NULL AND seq > ? "
            "ORDER BY seq DESC", (seq,)
        ):  # fmt: skip
            for number, fields in unpacked(text).items():
                if "id" in fields:
                    names[number] = str(fields["id"][0])
        return names


def now() -> str:
    """The time, as it is logged."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def whoami() -> str:
    """The name that acts are logged under: CLASSMARK_USER, or the login name."""
    return os.environ.get("CLASSMARK_USER") or getpass.getuser()
