"""What people decided, line by line: the log as it is shown, and corrected."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal

from classmark.language import _, whole
from classmark.problems import Mistake, refusal
from classmark.workbench.categories.find import of_path
from classmark.workbench.deciding.decide import Decision, SavedDecision, decide_on
from classmark.workbench.deciding.opinions import IMPORTED
from classmark.workbench.results import Column, Logged, Table
from classmark.workbench.store.log import ASSIGN, PRIMARY, REJECT, UNDO, UNSURE
from classmark.workbench.store.store import Store, titles
from classmark.workbench.store.undo import chain_of, holds_by, is_undone, undo

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk


ACTS = ("who", "document", "act", "category", "other", "state", "note")
DETAILS = ("at", "undoes", "within", "grade", "model", "rank", "score")
MOST = 200  # lines of a page
CORRECTED = (ASSIGN, PRIMARY, REJECT, UNSURE)
LINES = """
SELECT j.seq, j.at, j.who, j.document, coalesce(j.document, ''), j.act,
  coalesce(c.id, CASE WHEN j.act IN ('prefer', 'retract') THEN 'threshold' END),
  coalesce(o.id, CASE WHEN j.act IN ('prefer', 'retract') THEN 'threshold' END),
  u.seq IS NOT NULL, j.undoes, j.within, j.grade, j.model, j.rank, j.score, j.note
FROM judgments AS j LEFT JOIN undone AS u ON u.seq = j.seq
LEFT JOIN categories AS c ON c.number = j.category
LEFT JOIN categories AS o ON o.number = j.other
WHERE {} ORDER BY j.seq DESC LIMIT ?
"""
UNFOLDED = """NOT EXISTS (
  SELECT 1 FROM judgments AS p WHERE p.seq = j.within AND p.document IS NULL)"""
AFTER = """
SELECT seq FROM judgments WHERE seq > ? AND (within IS NULL OR within <> ?)
ORDER BY seq LIMIT 1
"""
GONE = "EXISTS (SELECT 1 FROM undone AS g WHERE g.seq = j.seq)"
FILE = "import"  # who has put what a file said, where nobody is named
STATES = {"": "1 = 1", "holds": f"NOT {GONE}", "undone": GONE}
MENTIONS = "SELECT number FROM categories WHERE id = ? OR label = ?"


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which lines of the log; what is "" is not asked for.

    category : its id, or its label;  since, until : days, YYYY-MM-DD, both included;
    state : "holds" or "undone";  within : the number of the act that they belong to.
    """

    who: str = ""
    act: str = ""
    document: str = ""
    category: str = ""
    since: str = ""
    until: str = ""
    state: str = ""
    within: str = ""

    @property
    def asked(self) -> dict[str, str]:
        """What is asked for, by name."""
        return {name: value for name, value in asdict(self).items() if value}


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One line of the log as it is shown.

    title : of the document;  again : the number that brings it back, where it is
    undone;  rank, score, model : what was seen when it was said;  folded : how many
    acts on documents belong to it, which are not listed.
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
    folded: int = 0

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
        raise refusal("the number of lines is %(top)s: enter at least 1", top=top)
    if document is not None:
        project.store.document(document)
    where, values = _conditions(HistoryFilter(document=document or ""))
    lines = _lines(project.store, where, (*values, top))
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
    *,
    fold: bool = False,
) -> HistoryPage:
    """The newest lines of the log that are asked for, those before a number.

    fold : what a change of the taxonomy did to documents is counted, not listed, unless
    it is asked for.
    """
    if not 1 <= top <= MOST:
        raise refusal(
            "the number of lines is %(top)s: enter 1 to %(most)s", top=top, most=MOST
        )
    store = project.store
    where, values = _conditions(filters, before)
    fold = fold and not (filters and (filters.document or filters.within))
    if fold:
        where = f"{where} AND {UNFOLDED}"
    lines = _lines(store, where, (*values, top + 1))
    shown, more = lines[:top], len(lines) > top
    if fold:
        shown = [_folded(store, line) for line in shown]
    named = titles(store, {line.document for line in shown if line.document})
    titled = (replace(line, title=named.get(line.document or "", "")) for line in shown)
    return HistoryPage(tuple(titled), shown[-1].number if more else None)


def _lines(store: Store, where: str, values: tuple[Any, ...]) -> list[HistoryLine]:
    """The newest lines that meet a condition; values : of it, and how many lines."""
    lines = []
    for row in store.run(LINES.format(where), values).fetchall():
        line = HistoryLine(*row)
        if line.undone and line.act != UNDO:
            line = replace(line, again=max(chain_of(store, line.number)))
        lines.append(line)
    return lines


def _folded(store: Store, line: HistoryLine) -> HistoryLine:
    """A line with how many acts belong to it: in the log they follow it at once."""
    if line.document is not None:
        return line
    number = line.number
    after = store.run(AFTER, (number, number)).fetchone()
    if after is None:
        (last,) = store.run("SELECT max(seq) FROM judgments").fetchone()
        after = (last + 1,)
    return replace(line, folded=after[0] - number - 1)


def values_of(project: Project, column: Literal["who", "act"]) -> list[str]:
    """Everybody who has said something, or every kind of act, that is in the log."""
    sql = f"SELECT DISTINCT {column} FROM judgments ORDER BY {column}"  # noqa: S608 (one of two names)
    return [value for (value,) in project.store.run(sql)]


def deciders(project: Project) -> list[str]:
    """Everybody who has decided; what files said is nobody's decision."""
    names = values_of(project, "who")
    return [name for name in names if not name.endswith(IMPORTED) and name != FILE]


def _conditions(
    filters: HistoryFilter | None, before: int | None = None
) -> tuple[str, list[Any]]:
    """What is asked for as a condition of SQL on a line ``j``, and its values."""
    filters = filters or HistoryFilter()
    if filters.state not in STATES:
        raise refusal("state is %(state)r: use holds or undone", state=filters.state)
    tests = {
        "j.who = ?": filters.who,
        "j.act = ?": filters.act,
        "j.document = ?": filters.document,
        f"(j.category IN ({MENTIONS}) OR j.other IN ({MENTIONS}))": filters.category,
        "j.at >= ?": _day("since", filters.since),
        "j.at < ?": _day("until", filters.until, after=1),
        "j.seq < ?": before,
        "j.within = ?": _number("within", filters.within),
    }
    used = {sql: value for sql, value in tests.items() if value not in ("", None)}
    values = [value for sql, value in used.items() for _ in range(sql.count("?"))]
    return " AND ".join((*used, STATES[filters.state])), values


def _number(name: str, text: str) -> int | None:
    """A number of an act, or None where none is asked for."""
    if not text:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise refusal(
            "%(name)s is %(text)r: give the number of an act", name=name, text=text
        )
    return int(text)


def correct(
    desk: Desk, number: int, category: str, who: str, note: str = ""
) -> SavedDecision:
    """Put another category in the place of the one that an act names.

    Two new acts: the old category is taken back, the new one gets what the old had.
    """
    line = line_of(desk, number)
    if not line.corrigible or line.document is None or line.category is None:
        raise refusal(
            "act %(number)s (%(act)s) cannot be corrected: it has no "
            "category of its own, or was undone: decide on the document "
            "again",
            number=number,
            act=line.act,
        )
    new = named(desk, category)
    if new == line.category:
        raise refusal(
            "act %(number)s already has the category %(new)s: choose another",
            number=number,
            new=new,
        )
    parts: dict[str, Any] = {line.act: (new,), "remove": (line.category,)}
    return decide_on(desk, line.document, Decision(**parts, note=note), {}, who)


def line_of(project: Project, number: int) -> HistoryLine:
    """One line of the log."""
    lines = _lines(project.store, "j.seq = ?", (number, 1))
    if not lines:
        raise refusal(
            "there is no act %(number)s: see the numbers in the history",
            number=number,
        )
    return lines[0]


def named(project: Project, words: str) -> str:
    """The category of this id or path, or else the one category with this label."""
    if words in project.categories:
        return words
    if id_ := of_path(project, words):
        return id_
    label = words.strip().casefold()
    ids = [
        id_
        for id_, category in project.categories.items()
        if label and category.name.casefold() == label
    ]
    if len(ids) == 1:
        return ids[0]
    many = (
        _("%(n)s categories have this name", n=whole(len(ids)))
        if ids
        else _("there is none")
    )
    raise refusal(
        "category %(words)r: %(many)s: give its id (see the taxonomy)",
        words=words,
        many=many,
    )


def _day(name: str, text: str, after: int = 0) -> str:
    if not text:
        return ""
    try:
        return (date.fromisoformat(text) + timedelta(days=after)).isoformat()
    except (ValueError, OverflowError):
        raise refusal(
            "%(name)s is %(text)r: give a day as YYYY-MM-DD", name=name, text=text
        ) from None


LARGEST_RANGE = 2000  # acts
IN_RANGE = """
SELECT j.seq FROM judgments AS j WHERE j.seq BETWEEN ? AND ? AND j.within IS NULL
AND j.act <> 'import' AND {} ORDER BY j.seq LIMIT ?
"""
FIRST_NOT_OWN = """
SELECT min(j.seq) FROM judgments AS j WHERE j.seq BETWEEN ? AND ?
AND (j.who <> ? OR j.document IS NULL) AND {}
"""
ABOUT = "SELECT document FROM judgments WHERE seq = ? OR within = ?"


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
            outcome = replace(outcome, problem=str(problem))
        raise _OnlyLooking
    return outcome


def first_not_own(
    desk: Desk, first: int, last: int, who: str, filters: HistoryFilter | None = None
) -> int | None:
    """The first act of a range that is another's, or is on categories; None: none.

    What somebody may take back without being asked is what they said themselves.
    """
    where, values = _conditions(filters)
    sql = FIRST_NOT_OWN.format(where)
    (number,) = desk.store.run(sql, (first, last, who, *values)).fetchone()
    return None if number is None else int(number)


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
    flips = _to_flip(store, first, last, filters)
    about = [id_ for root in flips for (id_,) in store.run(ABOUT, (root, root))]
    documents = sorted({str(id_) for id_ in about if id_ is not None})
    before = [_labels(store, id_) for id_ in documents]
    newest = sorted(flips.values(), reverse=True)
    written = sum(len(undo(project, number, who).numbers) for number in newest)
    after = [_labels(store, id_) for id_ in documents]
    gone = [root for root in sorted(flips) if is_undone(store, root)]
    return TakenBack(
        first,
        last,
        tuple(gone),
        tuple(sorted(flips.keys() - gone)),
        tuple(
            LabelChange(id_, tuple(sorted(old - new)), tuple(sorted(new - old)))
            for id_, old, new in zip(documents, before, after, strict=True)
            if old != new
        ),
        about.count(None),
        written,
        documents=tuple(documents),
    )


def _to_flip(
    store: Store, first: int, last: int, filters: HistoryFilter | None
) -> dict[int, int]:
    """Act → the last word on it, where taking back the range turns it round."""
    if first > last:
        raise refusal(
            "acts %(first)s to %(last)s: the first number must be the lower one",
            first=first,
            last=last,
        )
    where, values = _conditions(filters)
    rows = store.run(IN_RANGE.format(where), (first, last, *values, LARGEST_RANGE + 1))
    chosen = {seq for (seq,) in rows}
    if len(chosen) > LARGEST_RANGE:
        raise refusal(
            "acts %(first)s to %(last)s: these are more than "
            "%(largest_range)s: undo them in parts",
            first=first,
            last=last,
            largest_range=whole(LARGEST_RANGE),
        )
    flips = {}
    for seq in chosen:
        chain = chain_of(store, seq)
        root = min(chain)
        rest = {act: undoes for act, undoes in chain.items() if act not in chosen}
        ((within,),) = store.run("SELECT within FROM judgments WHERE seq = ?", (root,))
        stays = root in rest and holds_by(rest, root) and within not in chosen
        if stays == is_undone(store, root):
            flips[root] = max(chain)
    if not flips:
        raise refusal(
            "acts %(first)s to %(last)s: there is nothing to undo: choose "
            "another range",
            first=first,
            last=last,
        )
    return flips


def _labels(store: Store, document: str) -> set[str]:
    sql = "SELECT category FROM labels WHERE document = ?"
    return {category for (category,) in store.run(sql, (document,))}
