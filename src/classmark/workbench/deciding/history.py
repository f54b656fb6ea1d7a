"""What people decided, line by line: the log as it is shown, and corrected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from classmark.problems import Mistake
from classmark.workbench.deciding.decide import Decision, Saved, decide_on
from classmark.workbench.results import Cell, Column, Table
from classmark.workbench.store.log import ASSIGN, PRIMARY, REJECT, UNDO, UNSURE
from classmark.workbench.store.store import titles

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store
    from classmark.workbench.team.desk import Desk


HISTORY = """
SELECT j.seq AS number, at, who, document, act, c.id AS category, o.id AS other,
  CASE WHEN u.seq IS NOT NULL THEN 'undone'
    WHEN undoes IS NOT NULL THEN 'undoes ' || undoes
    WHEN within IS NOT NULL THEN 'within ' || within ELSE '' END AS state,
  undoes, within, grade, model, rank, score, j.note AS note
FROM judgments AS j LEFT JOIN undone AS u USING (seq)
LEFT JOIN categories AS c ON c.number = j.category
LEFT JOIN categories AS o ON o.number = j.other
WHERE document = ?1 OR ?1 IS NULL
ORDER BY j.seq DESC LIMIT ?2
"""
ACTS = ("who", "document", "act", "category", "other", "state", "note")
DETAILS = ("at", "undoes", "within", "grade", "model", "rank", "score")


def history(project: Project, document: str | None = None, top: int = 20) -> Table:
    """The newest lines of the judgment log, newest first; of one document or all."""
    if top < 1:
        raise Mistake(f"n is {top}: ask for at least one line")
    if document is not None:
        project.store.document(document)
    found = project.store.run(HISTORY, (document, top))
    columns = [name for name, *_ in found.description]
    rows: list[dict[str, Cell]] = [
        dict(zip(columns, row, strict=True)) for row in found
    ]
    shown = [Column("number", format="d"), *map(Column, ACTS)]
    shown += [Column(name, brief=False) for name in DETAILS]
    note = "newest first; undo any with classmark undo NUMBER"
    return Table("History", rows, note, shown)


STATES = ("holds", "undone")
MOST = 200  # lines of a page
CORRECTED = (ASSIGN, PRIMARY, REJECT, UNSURE)
LINES = """
SELECT j.seq, j.at, j.who, j.document, j.act, c.id, o.id, u.seq, j.undoes, j.within,
  j.grade, j.model, j.rank, j.score, j.note
FROM judgments AS j LEFT JOIN undone AS u ON u.seq = j.seq
LEFT JOIN categories AS c ON c.number = j.category
LEFT JOIN categories AS o ON o.number = j.other
WHERE {} ORDER BY j.seq DESC LIMIT ?
"""
GONE = "EXISTS (SELECT 1 FROM undone AS g WHERE g.seq = j.seq)"
MENTIONS = "SELECT number FROM categories WHERE id = ? OR label = ?"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines of the log; what is "" is not asked for.

    category : its id, or its label;  since, until : days, YYYY-MM-DD, both included;
    state : "holds" or "undone".
    """

    who: str = ""
    act: str = ""
    document: str = ""
    category: str = ""
    since: str = ""
    until: str = ""
    state: str = ""

    @property
    def asked(self) -> dict[str, str]:
        """What is asked for, by name."""
        named = {each.name: str(getattr(self, each.name)) for each in fields(self)}
        return {name: value for name, value in named.items() if value}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log as it is shown.

    title : of the document;  again : the number that brings it back, where it is
    undone;  rank, score, model : what was seen when it was said.
    """

    number: int
    at: str
    who: str
    document: str | None
    title: str
    act: str
    category: str | None
    other: str | None
    undone: bool
    undoes: int | None
    within: int | None
    grade: float | None
    model: str
    rank: int | None
    score: float | None
    note: str
    again: int | None = None

    @property
    def holds(self) -> bool:
        """Whether it can be taken back by itself."""
        return not self.undone and self.within is None

    @property
    def corrigible(self) -> bool:
        """Whether another category may be put in the place of its own."""
        named = self.act in CORRECTED and self.category is not None
        return named and not self.undone


@dataclass(frozen=True, slots=True)
class Page:
    """Some lines, newest first; older : ask for those before this number, if any."""

    lines: tuple[Line, ...]
    older: int | None


def past(
    desk: Desk, wanted: Wanted | None = None, before: int | None = None, top: int = 50
) -> Page:
    """The newest lines of the log that are asked for, those before a number."""
    if not 1 <= top <= MOST:
        raise Mistake(f"top is {top}: ask for 1 to {MOST} lines")
    store = desk.store
    where, values = conditions(wanted or Wanted())
    if before is not None:
        where, values = [*where, "j.seq < ?"], [*values, before]
    sql = LINES.format(" AND ".join(where) or "1 = 1")
    rows = store.run(sql, (*values, top + 1)).fetchall()
    shown = rows[:top]
    named = titles(store, {row[3] for row in shown if row[3] is not None})
    lines = tuple(_line(store, row, named) for row in shown)
    return Page(lines, lines[-1].number if len(rows) > top else None)


def people(desk: Desk) -> list[str]:
    """Everybody who has said something."""
    found = desk.store.run("SELECT DISTINCT who FROM judgments ORDER BY who")
    return [who for (who,) in found]


def acts(desk: Desk) -> list[str]:
    """Every kind of act that is in the log."""
    found = desk.store.run("SELECT DISTINCT act FROM judgments ORDER BY act")
    return [act for (act,) in found]


def conditions(wanted: Wanted) -> tuple[list[str], list[Any]]:
    """What is asked for as conditions of SQL on a line ``j``, and their values."""
    if wanted.state not in ("", *STATES):
        raise Mistake(f"state is {wanted.state!r}: use {' or '.join(STATES)}")
    asked = {
        "j.who = ?": [wanted.who],
        "j.act = ?": [wanted.act],
        "j.document = ?": [wanted.document],
        f"(j.category IN ({MENTIONS}) OR j.other IN ({MENTIONS}))": [wanted.category]
        * 4,
        "j.at >= ?": [_day("since", wanted.since)],
        "j.at < ?": [_day("until", wanted.until, after=1)],
    }
    used = {sql: values for sql, values in asked.items() if values[0]}
    where = list(used)
    if wanted.state:
        where.append(GONE if wanted.state == "undone" else f"NOT {GONE}")
    return where, [value for values in used.values() for value in values]


def correct(desk: Desk, number: int, category: str, who: str, note: str = "") -> Saved:
    """Put another category in the place of the one that an act names.

    Two new acts: the old category is taken back, the new one gets what the old had.
    """
    line = line_of(desk, number)
    if not line.corrigible or line.document is None or line.category is None:
        raise Mistake(
            f"act {number} ({line.act}) cannot be corrected in place: it names no "
            "category of its own, or does not hold: decide on the document anew"
        )
    new = named(desk, category)
    if new == line.category:
        raise Mistake(f"act {number} says {new} already: name another category")
    said: dict[str, Any] = {line.act: (new,), "remove": (line.category,)}
    return decide_on(desk, line.document, Decision(**said, note=note), {}, who)


def line_of(desk: Desk, number: int) -> Line:
    """One line of the log."""
    store = desk.store
    found = store.run(LINES.format("j.seq = ?"), (number, 1)).fetchone()
    if found is None:
        raise Mistake(f"there is no act {number}: see the numbers in the history")
    return _line(store, found, {})


def named(desk: Desk, words: str) -> str:
    """The category of this id, or else the one category with this label."""
    if words in desk.categories:
        return words
    wanted = words.strip().casefold()
    found = [
        id_
        for id_, category in desk.categories.items()
        if wanted and category.name.casefold() == wanted
    ]
    if len(found) == 1:
        return found[0]
    many = f"{len(found)} categories are called so" if found else "there is none"
    raise Mistake(f"category {words!r}: {many}: give its id (see the taxonomy)")


def _line(store: Store, row: Any, named: Mapping[str, str]) -> Line:
    seq, at, who, document, act, category, other, gone, *rest = row
    again = _newest(store, seq) if gone is not None and act != UNDO else None
    title = named.get(document or "", document or "")
    what = [document, title, act, category, other, gone is not None]
    parts: list[Any] = [seq, at, who, *what, *rest, again]
    return Line(*parts)


def _newest(store: Store, seq: int) -> int:
    """The last word on whether an act holds: the newest undoing of its chain."""
    while True:
        (later,) = store.run(
            "SELECT max(seq) FROM judgments WHERE undoes = ?", (seq,)
        ).fetchone()
        if later is None:
            return seq
        seq = int(later)


def _day(name: str, text: str, after: int = 0) -> str:
    if not text:
        return ""
    try:
        return (date.fromisoformat(text) + timedelta(days=after)).isoformat()
    except (ValueError, OverflowError):
        raise Mistake(f"{name} is {text!r}: give a day as YYYY-MM-DD") from None
