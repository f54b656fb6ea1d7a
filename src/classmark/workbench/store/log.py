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
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from classmark.formats.records import Record
from classmark.problems import MissingExtra, Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.settings import StoreSettings
from classmark.workbench.store.database import Embedded, damaged, transaction

if TYPE_CHECKING:
    from classmark.workbench.store.postgres import Postgres

ASSIGN, REMOVE, PRIMARY, REJECT, UNSURE = STATEMENTS = (
    "assign", "remove", "primary", "reject", "unsure",
)  # fmt: skip
PREFER, RETRACT, UNDO = "prefer", "retract", "undo"
SKIP, NOTE, SETTLE = TELLING = "skip", "note", "settle"  # they change no label
LABELS = (ASSIGN, PRIMARY)

Row = dict[str, Any]  # of the table of categories, by column
Changes = dict[int, dict[str, tuple[Any, Any]]]  # number → column → before, after
PLAIN = ("id", "label", "note", "notation", "status", "guideline")
BLANK: Row = {
    "id": "", "label": "", "note": "", "synonyms": "[]", "parents": "[]",
    "notation": "", "status": "active", "stands": 0, "joined": None,
    "guideline": "",
}  # fmt: skip

CATEGORIES = f"SELECT number, {', '.join(BLANK)} FROM categories"  # noqa: S608 (our own names)
NEW_CATEGORY = """
INSERT INTO categories (number, id) VALUES (?, '') ON CONFLICT DO NOTHING
"""
CATEGORY_NUMBER = "SELECT number FROM categories WHERE id = ? AND stands = 1"
MERGED_INTO = """
SELECT b.id FROM categories AS a JOIN categories AS b ON b.number = a.joined
WHERE a.id = ? AND b.stands = 1
"""
APPEND = """
INSERT INTO judgments (at, who, document, act, category, grade, model, rank, score,
  note, other, undoes, within, changes)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq
"""
NOTE_REVISITS = "INSERT INTO lessons (seq, revisits) VALUES (?, ?)"
ENTRIES = """
SELECT seq, document, act, grade, undoes, within, revisits, changes, category, other
FROM judgments LEFT JOIN lessons USING (seq) WHERE seq > ? ORDER BY seq
"""


@dataclass(frozen=True, slots=True)
class JudgedRecord(Record):
    """A document with the statements of the log on it.

    primary : those of its labels that an expert called primary;  rejected : «not this
    one»;  unsure : neither this nor not this;  aside : the document as a whole is left
    for later. A category is in one of labels, rejected and unsure at most.
    """

    primary: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    aside: bool = False


def sorted_out(statements: Mapping[str, tuple[str, float | None]]) -> dict[str, Any]:
    """Category → (act, grade) as the fields of a ``JudgedRecord``.

    >>> sorted_out({"a": ("primary", 2.0), "b": ("reject", None)})["labels"]
    {'a': 2.0}
    """
    by: dict[str, list[str]] = {act: [] for act in STATEMENTS}
    for name, (act, _) in statements.items():
        by[act].append(name)
    return {
        "labels": {name: g for name, (act, g) in statements.items() if act in LABELS},
        "primary": frozenset(by[PRIMARY]),
        "rejected": frozenset(by[REJECT]),
        "unsure": frozenset(by[UNSURE]),
    }


def rows_of(log: Log, numbers: set[int] | None = None) -> dict[int, Row]:
    """Number → the row of a category, of all or some, by number."""
    if numbers is None:
        rows = log.run(f"{CATEGORIES} ORDER BY number").fetchall()
    else:
        each = (log.run(f"{CATEGORIES} WHERE number = ?", (n,)) for n in numbers)
        rows = [row for cursor in each for row in cursor]
    return {row[0]: dict(zip(BLANK, row[1:], strict=True)) for row in rows}


def as_row(category: Category, number: Mapping[str, int]) -> Row:
    """A category as a row that stands; ``number`` : id → number of its parents."""
    for parent in category.parents:
        if parent not in number:
            raise Mistake(
                f"category {category.id!r} names the parent {parent!r}, which is not "
                "among the categories: add it or leave the parent empty"
            )
    return BLANK | {
        **{column: getattr(category, column) for column in PLAIN},
        "synonyms": as_json(category.synonyms),
        "parents": as_json([number[parent] for parent in category.parents]),
        "stands": 1,
    }


def as_categories(rows: Mapping[int, Row]) -> list[Category]:
    """The categories that stand, in order of arrival."""
    listed = cache(lambda text: tuple(json.loads(text)))
    return [
        Category(
            synonyms=listed(row["synonyms"]),
            parents=tuple(rows[p]["id"] for p in listed(row["parents"])),
            **{column: row[column] for column in PLAIN},
        )
        for row in rows.values()
        if row["stands"]
    ]


def difference(before: Mapping[int, Row], after: Mapping[int, Row]) -> Changes:
    """What changes the rows before into those after; a new number was blank.

    >>> difference({1: BLANK}, {1: BLANK | {"label": "Bees"}})
    {1: {'label': ('', 'Bees')}}
    """
    changes = {}
    for number, row in after.items():
        old = before.get(number, BLANK)
        fields = {f: (old[f], row[f]) for f in BLANK if old[f] != row[f]}
        if fields:
            changes[number] = fields
    return changes


def reversed_changes(changes: Changes) -> Changes:
    """What takes the changes back."""
    return {
        number: {field: (after, before) for field, (before, after) in fields.items()}
        for number, fields in changes.items()
    }


def write(log: Log, changes: Changes) -> None:
    """Make the changes, to rows that are as they should be before."""
    for number, fields in changes.items():
        if not fields.keys() <= BLANK.keys():
            problem = sqlite3.DatabaseError("an unknown field")
            raise damaged(log.engine.place, problem)
        log.run(NEW_CATEGORY, (number,))
        columns = ", ".join(f"{field} = ?" for field in fields)
        log.run(
            f"UPDATE categories SET {columns} WHERE number = ?",  # noqa: S608 (our own names)
            (*(after for _, after in fields.values()), number),
        )


def unpacked(text: str) -> Changes:
    """The changes of a text in JSON.

    >>> unpacked(as_json({1: {"label": ("", "Bees")}}))
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


class LogEntry(NamedTuple):
    """One line of the judgment log as it is read again.

    revisits : how many the learner made on it;  numbers : of its category and other.
    """

    seq: int
    document: str | None
    act: str
    grade: float | None
    undoes: int | None
    within: int | None
    revisits: int | None
    changes: Changes
    numbers: tuple[int | None, int | None]


class Log:
    """The open tables of a project with its judgment log; a context manager.

    path : the SQLite file;  server : where else they are, if its ``url`` says so; the
    path then only says which project they belong to;  run, state, check, close : of
    the engine that has the tables.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        shared: bool = False,
        server: StoreSettings | None = None,
    ) -> None:
        self.path = path
        self.engine: Embedded | Postgres
        if server is not None and server.url:
            self.engine = _postgres(server, create=create)
        else:
            self.engine = Embedded(path, create=create, shared=shared)
        self.server = server
        self.run, self.close = self.engine.run, self.engine.close
        self.state, self.check = self.engine.state, self.engine.check

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def transaction(self) -> AbstractContextManager[None]:
        """All that happens inside is committed together, or not at all.

        One inside another is part of it. One at a time writes, whoever it is.
        """
        return transaction(self.engine)

    def snapshot(self) -> AbstractContextManager[None]:
        """All that is read inside is of one moment, whatever others write."""
        return transaction(self.engine, write=False)

    def number_of(self, category: str) -> int:
        """The number of a category that stands, by its id."""
        row = self.run(CATEGORY_NUMBER, (category,)).fetchone()
        if row is not None:
            return int(row[0])
        merged = self.run(MERGED_INTO, (category,)).fetchone()
        if merged:
            remedy = f"it was merged into {merged[0]!r}: use that"
        else:
            remedy = f"correct its id, or run classmark taxonomy add {category}"
        raise Mistake(f"there is no category {category!r}: {remedy}")

    def judge(self, acts: Iterable[Act], who: str) -> list[int]:
        """Append to the judgment log, all or nothing; return the acts' numbers."""
        seqs, numbers = [], dict[str | None, int | None]({None: None})
        with self.transaction():
            for act in acts:
                for name in (act.category, act.other):
                    if name not in numbers:
                        numbers[name] = self.number_of(str(name))
                pair = (numbers[act.category], numbers[act.other])
                seqs.append(self.append(act, who, pair))
        return seqs

    def append(
        self, act: Act, who: str, pair: tuple[int | None, int | None] = (None, None)
    ) -> int:
        """Append one act; ``pair`` : the numbers of its category and other."""
        ((seq,),) = self.run(
            APPEND,
            (
                now(), who, act.document, act.act, pair[0], act.grade, act.model,
                act.rank, act.score, act.note, pair[1], act.undoes, act.within,
                as_json(act.changes) if act.changes else None,
            ),
        )  # fmt: skip
        return int(seq)

    def note_revisits(self, seq: int, revisits: int) -> None:
        """Remember how many re-visits the learner made on an act; once per act."""
        self.run(NOTE_REVISITS, (seq, revisits))

    def log(self, after: int = -1) -> Iterator[LogEntry]:
        """Every act with a greater number than ``after``, in order."""
        for *columns, text, category, other in self.run(ENTRIES, (after,)):
            changes = unpacked(text) if text else {}
            yield LogEntry._make((*columns, changes, (category, other)))


def now() -> str:
    """The time, as it is logged."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def whoami() -> str:
    """The name that acts are logged under: CLASSMARK_USER, or the login name."""
    return os.environ.get("CLASSMARK_USER") or getpass.getuser()


def _postgres(server: StoreSettings, *, create: bool) -> Postgres:
    try:
        from classmark.workbench.store.postgres import Postgres
    except ImportError:
        raise MissingExtra("Stores in PostgreSQL", "postgres") from None
    return Postgres(server, create=create)
