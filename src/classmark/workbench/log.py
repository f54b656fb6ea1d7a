"""Log: what people said, line after line, never changed, read again in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from classmark.problems import Mistake
from classmark.workbench.changes import Changes, packed, unpacked
from classmark.workbench.database import Database


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
            "ON b.number = a.joined WHERE a.id = ? AND b.stands", (category,)
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
        cursor = self.run(
            "INSERT INTO judgments (at, who, document, act, category, grade, model, "
            "rank, score, note, other, undoes, within, changes) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                now(), who, act.document, act.act, pair[0], act.grade, act.model,
                act.rank, act.score, act.note, pair[1], act.undoes, act.within,
                packed(act.changes) if act.changes else None,
            ),
        )  # fmt: skip
        return int(cursor.lastrowid or 0)

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
