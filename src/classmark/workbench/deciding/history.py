"""What people decided, line by line: the log as it is shown, and corrected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from classmark.problems import Mistake
from classmark.workbench.deciding.decide import Decision, SavedDecision, decide_on
from classmark.workbench.results import Column, Logged, Table
from classmark.workbench.store.log import ASSIGN, LABELS, PRIMARY, REJECT, UNDO, UNSURE
from classmark.workbench.store.store import titles
from classmark.workbench.store.undo import chain_of, holds_by, is_undone, undo

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store
    from classmark.workbench.team.desk import Desk


ACTS = ("who", "document", "act", "category", "other", "state", "note")
DETAILS = ("at", "undoes", "within", "grade", "model", "rank", "score")
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
class HistoryFilter:
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
class HistoryLine:
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
    def state(self) -> str:
        """Whether it holds, and to which act it belongs, in words."""
        if self.undone:
            return "undone"
        if self.undoes is not None:
            return f"undoes {self.undoes}"
        return "" if self.within is None else f"within {self.within}"

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
class HistoryPage:
    """Some lines, newest first; older : ask for those before this number, if any."""

    lines: tuple[HistoryLine, ...]
    older: int | None


def history(project: Project, document: str | None = None, top: int = 20) -> Table:
    """The newest lines of the judgment log, newest first; of one document or all."""
    if top < 1:
        raise Mistake(f"n is {top}: ask for at least one line")
    if document is not None:
        project.store.document(document)
    lines, _ = _lines(project.store, HistoryFilter(document=document or ""), None, top)
    names = ("number", "at", *ACTS[:-1], *DETAILS[1:], "note")
    rows = [{name: getattr(line, name) for name in names} for line in lines]
    columns = [Column("number", format="d"), *map(Column, ACTS)]
    columns += [Column(name, brief=False) for name in DETAILS]
    note = "newest first; undo any with classmark undo NUMBER"
    return Table("History", rows, note, columns)


def past(
    project: Project,
    filters: HistoryFilter | None = None,
    before: int | None = None,
    top: int = 50,
) -> HistoryPage:
    """The newest lines of the log that are asked for, those before a number."""
    if not 1 <= top <= MOST:
        raise Mistake(f"top is {top}: ask for 1 to {MOST} lines")
    store = project.store
    lines, more = _lines(store, filters or HistoryFilter(), before, top)
    named = titles(store, {line.document for line in lines if line.document})
    titled = (replace(line, title=named.get(line.document or "", "")) for line in lines)
    return HistoryPage(tuple(titled), lines[-1].number if more else None)


def _lines(
    store: Store, filters: HistoryFilter, before: int | None, top: int
) -> tuple[list[HistoryLine], bool]:
    """The newest lines that are asked for, and whether there are older ones."""
    where, values = conditions(filters)
    if before is not None:
        where, values = [*where, "j.seq < ?"], [*values, before]
    sql = LINES.format(" AND ".join(where) or "1 = 1")
    rows = store.run(sql, (*values, top + 1)).fetchall()
    return [_line(store, row) for row in rows[:top]], len(rows) > top


def people(project: Project) -> list[str]:
    """Everybody who has said something."""
    rows = project.store.run("SELECT DISTINCT who FROM judgments ORDER BY who")
    return [who for (who,) in rows]


def acts(project: Project) -> list[str]:
    """Every kind of act that is in the log."""
    rows = project.store.run("SELECT DISTINCT act FROM judgments ORDER BY act")
    return [act for (act,) in rows]


def conditions(filters: HistoryFilter) -> tuple[list[str], list[Any]]:
    """What is asked for as conditions of SQL on a line ``j``, and their values."""
    if filters.state not in ("", *STATES):
        raise Mistake(f"state is {filters.state!r}: use {' or '.join(STATES)}")
    tests = {
        "j.who = ?": [filters.who],
        "j.act = ?": [filters.act],
        "j.document = ?": [filters.document],
        f"(j.category IN ({MENTIONS}) OR j.other IN ({MENTIONS}))": [filters.category]
        * 4,
        "j.at >= ?": [_day("since", filters.since)],
        "j.at < ?": [_day("until", filters.until, after=1)],
    }
    used = {sql: values for sql, values in tests.items() if values[0]}
    where = list(used)
    if filters.state:
        where.append(GONE if filters.state == "undone" else f"NOT {GONE}")
    return where, [value for values in used.values() for value in values]


def correct(
    desk: Desk, number: int, category: str, who: str, note: str = ""
) -> SavedDecision:
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
    parts: dict[str, Any] = {line.act: (new,), "remove": (line.category,)}
    return decide_on(desk, line.document, Decision(**parts, note=note), {}, who)


def line_of(project: Project, number: int) -> HistoryLine:
    """One line of the log."""
    store = project.store
    row = store.run(LINES.format("j.seq = ?"), (number, 1)).fetchone()
    if row is None:
        raise Mistake(f"there is no act {number}: see the numbers in the history")
    return _line(store, row)


def named(project: Project, words: str) -> str:
    """The category of this id, or else the one category with this label."""
    if words in project.categories:
        return words
    label = words.strip().casefold()
    ids = [
        id_
        for id_, category in project.categories.items()
        if label and category.name.casefold() == label
    ]
    if len(ids) == 1:
        return ids[0]
    many = f"{len(ids)} categories are called so" if ids else "there is none"
    raise Mistake(f"category {words!r}: {many}: give its id (see the taxonomy)")


def _line(store: Store, row: Any) -> HistoryLine:
    seq, at, who, document, act, category, other, undone, *rest = row
    again = None if undone is None or act == UNDO else max(chain_of(store, seq))
    parts: list[Any] = [act, category, other, undone is not None, *rest, again]
    return HistoryLine(seq, at, who, document, document or "", *parts)


def _day(name: str, text: str, after: int = 0) -> str:
    if not text:
        return ""
    try:
        return (date.fromisoformat(text) + timedelta(days=after)).isoformat()
    except (ValueError, OverflowError):
        raise Mistake(f"{name} is {text!r}: give a day as YYYY-MM-DD") from None


LARGEST_RANGE = 2000  # acts
Labels = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class LabelChange:
    """What would be different of a document: labels that go, and that come back."""

    document: str
    goes: tuple[str, ...]
    comes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What taking back a range does, or would do.

    acts : those that hold no more;  again : those that hold again;  written : how many
    lines the log gets;  problem : why it cannot be done, else "";  documents : all
    that the acts are about.
    """

    first: int
    last: int
    acts: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    changes: tuple[LabelChange, ...] = ()
    on_categories: int = 0
    written: int = 0
    problem: str = ""
    documents: tuple[str, ...] = ()


class _OnlyLooking(Exception):
    """Nothing is wrong, but nothing is to be kept: the transaction goes back."""


def look_at_range(
    desk: Desk, first: int, last: int, filters: HistoryFilter | None = None
) -> TakenBack:
    """What taking back the acts of a range would do; nothing is written."""
    outcome = TakenBack(first, last)
    with suppress(_OnlyLooking), desk.writing() as project:
        try:
            outcome = _take_back(project, first, last, filters, "preview")
        except Mistake as problem:
            outcome = TakenBack(first, last, problem=str(problem))
        raise _OnlyLooking
    return outcome


def first_not_own(
    desk: Desk, first: int, last: int, who: str, filters: HistoryFilter | None = None
) -> int | None:
    """The first act of a range that is another's, or is on categories; None: none.

    What somebody may take back without being asked is what they said themselves.
    """
    where, values = conditions(filters or HistoryFilter())
    where = ["j.seq BETWEEN ? AND ?", "(j.who <> ? OR j.document IS NULL)", *where]
    (first_act,) = desk.store.run(
        f"SELECT min(j.seq) FROM judgments AS j WHERE {' AND '.join(where)}",  # noqa: S608 (our own words; the values are bound)
        (first, last, who, *values),
    ).fetchone()
    return None if first_act is None else int(first_act)


def undo_range(
    desk: Desk, first: int, last: int, who: str, filters: HistoryFilter | None = None
) -> TakenBack:
    """Take back the acts of a range that are asked for: all of them, or nothing."""
    done = desk.write(lambda open_: _take_back(open_, first, last, filters, who))
    logged = Logged((last,), f"{done.written} acts undone")
    desk.after_write(done.documents, who, logged)
    return done


def _take_back(
    project: Project, first: int, last: int, filters: HistoryFilter | None, who: str
) -> TakenBack:
    store = project.store
    flips = _to_flip(store, first, last, filters or HistoryFilter())
    documents = _documents(store, flips)
    before = _labels(store, documents)
    written, categories = 0, 0
    for root in sorted(flips, key=flips.__getitem__, reverse=True):
        numbers = undo(project, flips[root], who).numbers
        written += len(numbers)
        categories += _is_on_categories(store, root)
    documents |= _documents(store, flips)
    after = _labels(store, documents)
    holds = {root: not is_undone(store, root) for root in flips}
    return TakenBack(
        first,
        last,
        tuple(sorted(root for root in flips if not holds[root])),
        tuple(sorted(root for root in flips if holds[root])),
        tuple(_changes(before, after)),
        categories,
        written,
        documents=tuple(sorted(documents)),
    )


def _to_flip(
    store: Store, first: int, last: int, filters: HistoryFilter
) -> dict[int, int]:
    """Act → the last word on it, where taking back the range turns it round."""
    rows = _rows(store, first, last, filters)
    chosen = {seq for seq, _ in rows}
    flips = {}
    for seq in chosen:
        chain = chain_of(store, seq)
        root = min(chain)
        rest = {act: undoes for act, undoes in chain.items() if act not in chosen}
        stays = root in rest and holds_by(rest, root)
        if stays == is_undone(store, root):
            flips[root] = max(chain)
    if not flips:
        raise Mistake(
            f"acts {first} to {last}: none that is asked for holds: there is nothing "
            "to take back"
        )
    return flips


def _rows(store: Store, first: int, last: int, filters: HistoryFilter) -> list[Any]:
    if first > last:
        raise Mistake(f"from act {first} to act {last}: the first is to be the lower")
    where, values = conditions(filters)
    where = ["j.seq BETWEEN ? AND ?", "j.within IS NULL", "j.act <> 'import'", *where]
    rows = store.run(
        f"SELECT j.seq, j.undoes FROM judgments AS j WHERE {' AND '.join(where)} "  # noqa: S608 (our own words; the values are bound)
        "ORDER BY j.seq LIMIT ?",
        (first, last, *values, LARGEST_RANGE + 1),
    ).fetchall()
    if len(rows) > LARGEST_RANGE:
        raise Mistake(
            f"acts {first} to {last}: more than {LARGEST_RANGE:,} acts at once: take "
            "back a part of them first"
        )
    return rows


def _is_on_categories(store: Store, seq: int) -> bool:
    sql = "SELECT document FROM judgments WHERE seq = ?"
    return bool(store.run(sql, (seq,)).fetchone()[0] is None)


def _documents(store: Store, roots: Iterable[int]) -> set[str]:
    """The documents that acts, and what is within them, are about."""
    sql = (
        "SELECT document FROM judgments WHERE document IS NOT NULL "
        "AND (seq = ? OR within = ?)"
    )
    return {
        str(id_) for root in roots for (id_,) in store.run(sql, (root, root)).fetchall()
    }


def _labels(store: Store, documents: Iterable[str]) -> dict[str, frozenset[str]]:
    return {
        id_: frozenset(
            name
            for name, (act, _) in store.standing(id_).get(id_, {}).items()
            if act in LABELS
        )
        for id_ in documents
    }


def _changes(before: Labels, after: Labels) -> Iterable[LabelChange]:
    for document in sorted(after):
        old, new = before.get(document, frozenset()), after[document]
        if old != new:
            yield LabelChange(
                document, tuple(sorted(old - new)), tuple(sorted(new - old))
            )
