"""An expert decides on a document, at the command line or at the desk; it is logged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from classmark.arrays import Floats
from classmark.formats.records import PRIMARY as PRIMARY_GRADE
from classmark.formats.records import SECONDARY, Record
from classmark.problems import Mistake
from classmark.workbench.categories.edit import require_open
from classmark.workbench.results import Logged
from classmark.workbench.store.log import (
    ASSIGN,
    LABELS,
    NOTE,
    PREFER,
    PRIMARY,
    REJECT,
    REMOVE,
    SETTLE,
    SKIP,
    UNSURE,
    Act,
    whoami,
)
from classmark.workbench.store.undo import undo

if TYPE_CHECKING:
    from classmark.corpus.documents import Document
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store
    from classmark.workbench.team.desk import Desk


UNTRAINED = "live"  # the model, where it has only learned decision by decision


@dataclass(frozen=True, slots=True)
class Decision:
    """What an expert says of one document at once.

    primary : labels that stand above its other ones;  reject : not these;  unsure :
    neither nor;  remove : take back what was said of these;  over : (winner, loser)
    pairs;  aside : leave the document for later.
    """

    assign: tuple[str, ...] = ()
    primary: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    over: tuple[tuple[str, str], ...] = ()
    aside: bool = False
    note: str = ""


class Seen(NamedTuple):
    """The model, and where it had put a category, when the expert decided."""

    model: str = ""
    rank: int | None = None
    score: float | None = None


def decide(
    project: Project,
    document: str,
    decision: Decision,
    seen: Mapping[str, Seen] | None = None,
    who: str = "",
    *,
    together: bool = False,
) -> Logged:
    """Log a decision, all of it or nothing.

    seen : category → what the expert saw; None asks the model in service. together :
    its other acts are within its first, and so undone with it.
    """
    store = project.store
    text = store.document(document)
    _require_clear(decision)
    if seen is None:
        seen = what_the_model_says(project, text, named(decision))
    acts = list(_acts(document, decision, seen))
    with store.transaction():
        new = {*decision.assign, *decision.primary, *decision.unsure}
        require_open(store, sorted(new | {n for pair in decision.over for n in pair}))
        for name in (*decision.reject, *decision.remove):
            store.number_of(name)
        numbers = store.judge(acts[:1] if together else acts, who or whoami())
        rest = [act._replace(within=numbers[0]) for act in acts[len(numbers) :]]
        numbers += store.judge(rest, who or whoami())
    return Logged(tuple(numbers), f"{document}: {_words(acts)}")


def what_the_model_says(
    project: Project, document: Document, names: Iterable[str]
) -> dict[str, Seen]:
    """Rank and score of categories for a document, by the model in service, if any.

    A category that the model does not know, or does not rank, has neither.
    """
    model = project.model()
    if model is None:
        return {}
    folder = project.models.current()
    name = UNTRAINED if folder is None else folder.name
    scores = model.scores([project.text_of(Record(document))])[0]
    ids = set(names)
    column = {id_: at for at, id_ in enumerate(model.categories) if id_ in ids}
    return {
        id_: Seen(name, rank_of(scores, column[id_]), float(scores[column[id_]]))
        if id_ in column and scores[column[id_]] > -inf
        else Seen(name)
        for id_ in ids
    }


def rank_of(scores: Floats, column: int) -> int:
    """The place of a column, best first; ties by column, as everywhere.

    >>> import numpy as np
    >>> rank_of(np.array([2.0, 5.0, 2.0]), 2)
    3
    """
    score = scores[column]
    return 1 + int((scores > score).sum() + (scores[:column] == score).sum())


def pairs_of(project: Project, texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Read each «winner:loser»."""
    pairs = list(texts)
    ids = {c.id for c in project.store.categories()} if pairs else set()
    return tuple(pair_of(text, ids) for text in pairs)


def pair_of(text: str, ids: set[str]) -> tuple[str, str]:
    """Read «winner:loser»; ids may hold colons themselves.

    >>> pair_of("a:b:c", {"a:b", "c"})
    ('a:b', 'c')
    """
    parts = text.split(":")
    cuts = [(":".join(parts[:at]), ":".join(parts[at:])) for at in range(1, len(parts))]
    matches = [cut for cut in cuts if cut[0] in ids and cut[1] in ids]
    if len(matches) == 1:
        return matches[0]
    if len(cuts) == 1:
        return cuts[0]
    raise Mistake(
        f"--over {text}: give two categories of the project as winner:loser"
        + (f"; this reads as {len(matches)} pairs" if matches else "")
    )


def _require_clear(decision: Decision) -> None:
    """Refuse a decision that says nothing, or too much."""
    is_something = any([_require_one_each(decision), _require_order(decision)])
    if decision.aside and is_something:
        raise Mistake("a document set aside takes no other decision: say one of them")
    if not (decision.aside or is_something):
        raise Mistake(
            "nothing was decided: say --assign, --primary, --reject, --unsure, "
            "--remove, --over or --aside"
        )


def _require_one_each(decision: Decision) -> bool:
    """Refuse two acts on one category; return whether there is any."""
    where: dict[str, str] = {}
    for act, names in _grouped(decision):
        for name in names:
            if where.setdefault(name, act) != act:
                raise Mistake(
                    f"category {name!r}: {where[name]} and {act} contradict each "
                    "other: say one of them"
                )
    return bool(where)


def _require_order(decision: Decision) -> bool:
    """Refuse preferences that contradict each other; return whether there are any."""
    for winner, loser in decision.over:
        if winner == loser:
            raise Mistake(f"{winner!r} cannot be above itself: drop this preference")
        if (loser, winner) in decision.over:
            raise Mistake(
                f"{winner!r} over {loser!r} and the contrary contradict each other: "
                "say one of them"
            )
    return bool(decision.over)


def _grouped(decision: Decision) -> tuple[tuple[str, tuple[str, ...]], ...]:
    assigned = tuple(n for n in decision.assign if n not in decision.primary)
    return (
        (REMOVE, decision.remove),
        (ASSIGN, assigned),
        (PRIMARY, decision.primary),
        (REJECT, decision.reject),
        (UNSURE, decision.unsure),
    )


def named(decision: Decision) -> set[str]:
    """The categories that a decision is about."""
    return {
        *decision.assign, *decision.primary, *decision.reject, *decision.unsure,
        *decision.remove, *(winner for winner, _ in decision.over),
    }  # fmt: skip


def _acts(document: str, decision: Decision, seen: Mapping[str, Seen]) -> Iterator[Act]:
    grades = {ASSIGN: SECONDARY, PRIMARY: PRIMARY_GRADE}
    for act, names in _grouped(decision):
        for name in dict.fromkeys(names):
            view = seen.get(name, Seen())
            yield Act(document, act, name, grades.get(act), *view, decision.note)
    for winner, loser in dict.fromkeys(decision.over):
        view = seen.get(winner, Seen())
        yield Act(document, PREFER, winner, 1.0, *view, decision.note, loser)
    if decision.aside:
        yield Act(document, UNSURE, note=decision.note)


def _words(acts: list[Act]) -> str:
    return ", ".join(
        f"{act.act} {act.category} over {act.other}"
        if act.other
        else f"{act.act} {act.category}"
        if act.category
        else "set aside"
        for act in acts
    )


SINCE = """
SELECT j.seq, j.who, j.at, j.act, coalesce(c.id, ''), coalesce(o.id, ''), j.note
FROM judgments AS j LEFT JOIN categories AS c ON c.number = j.category
LEFT JOIN categories AS o ON o.number = j.other
WHERE j.document = ? AND j.seq > ? AND j.act NOT IN ('skip', 'note', 'settle')
ORDER BY j.seq
"""
BRING_BACK = """
SELECT max(u.seq) FROM judgments AS u JOIN judgments AS t ON t.seq = u.undoes
WHERE u.who = ?1 AND u.act = 'undo' AND t.act <> 'undo' AND u.within IS NULL
AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = u.seq)
AND u.seq > coalesce((SELECT max(seq) FROM judgments
  WHERE who = ?1 AND act <> 'undo' AND within IS NULL), 0)
"""


class LoggedAct(NamedTuple):
    """An act on a document, as it is shown: who said what, and when."""

    number: int
    who: str
    at: str
    act: str
    category: str = ""
    other: str = ""
    note: str = ""


class Conflict(Mistake):
    """Somebody decided on the document meanwhile; nothing was written.

    theirs : what was said since, oldest first;  yours : what was to be written.
    """

    def __init__(
        self, document: str, theirs: tuple[LoggedAct, ...], yours: Decision
    ) -> None:
        who = ", ".join(dict.fromkeys(act.who for act in theirs))
        super().__init__(
            f"{document}: {who} decided on it meanwhile: look at both decisions, and "
            "say which holds"
        )
        self.document, self.theirs, self.yours = document, theirs, yours


@dataclass(frozen=True, slots=True)
class SavedDecision:
    """What was written, and which document is next; None: no more.

    number : of its first act, by which all of it is undone;  at : when, as logged.
    """

    number: int
    at: str
    said: str
    next: str | None
    document: str = ""
    numbers: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """As it is shown after a save."""
        return f"saved #{self.number} · {self.at[11:19]}"


def next_for(desk: Desk, who: str = "", after: str | None = None) -> str | None:
    """The next document for somebody to decide on, in the order they chose.

    Others are not given it meanwhile. None: nothing waits for them.
    """
    return desk.queues.next_for(who, after)


def decide_on(
    desk: Desk,
    document: str,
    decision: Decision,
    seen: Mapping[str, Seen] | None,
    who: str,
    version: int | None = None,
) -> SavedDecision:
    """Write a decision; it is on disk when this returns, and is learned soon.

    seen : category → what was shown of it; None: as the sheet laid out for ``who`` has
    it. version : of that sheet; where anybody has said something of the document
    since, a ``Conflict`` is raised and nothing is written; None: written anyhow.
    """
    if seen is None:
        seen = _as_seen(desk, document, decision, who)

    def write(project: Project) -> Logged:
        if version is not None:
            _require_same(project.store, document, version, decision)
        return decide(project, document, decision, seen, who, together=True)

    return _saved(desk, document, who, desk.write(write), named(decision))


def skip_for(desk: Desk, document: str, who: str) -> SavedDecision:
    """Leave a document for later: it goes to the end of this person's queue."""
    saved = _say(desk, Act(document, SKIP), who, "skipped")
    desk.queues.skip(document, who)
    return saved


def note_on(desk: Desk, document: str, text: str, who: str) -> SavedDecision:
    """Write a note on a document; it teaches nothing and moves nothing."""
    if not text.strip():
        raise Mistake("the note is empty: write some words")
    return _say(desk, Act(document, NOTE, note=text.strip()), who, "noted")


def undo_for(desk: Desk, who: str, number: int | None = None) -> SavedDecision:
    """Take back an act with all that was said with it; without a number, the last."""
    logged = desk.write(lambda project: undo(project, number, who))
    return _taken_back(desk, who, logged)


def redo_for(desk: Desk, who: str) -> SavedDecision:
    """Bring back what this person undid last, until they decide something else."""

    def write(project: Project) -> Logged:
        (last,) = project.store.run(BRING_BACK, (who,)).fetchone()
        if last is None:
            raise Mistake(f"{who} has undone nothing since: there is nothing to redo")
        return undo(project, int(last), who)

    return _taken_back(desk, who, desk.write(write))


def version_of(store: Store, document: str) -> int:
    """The number of the last act on a document; 0 where there is none."""
    (last,) = store.run(
        "SELECT coalesce(max(seq), 0) FROM judgments "
        "WHERE document = ? AND act NOT IN ('skip', 'note', 'settle')",
        (document,),
    ).fetchone()
    return int(last)


def acts_since(store: Store, document: str, version: int) -> tuple[LoggedAct, ...]:
    """What was said of a document after an act, oldest first."""
    return tuple(LoggedAct(*row) for row in store.run(SINCE, (document, version)))


def _require_same(
    store: Store, document: str, version: int, decision: Decision
) -> None:
    theirs = acts_since(store, document, version)
    if theirs:
        raise Conflict(document, theirs, decision)


def _as_seen(
    desk: Desk, document: str, decision: Decision, who: str
) -> dict[str, Seen]:
    """What was shown of the categories that a decision names."""
    ids = named(decision)
    views = desk.sheets.seen(document, who)
    rest = ids - views.keys()
    if rest:
        text = desk.store.document(document)
        views |= what_the_model_says(desk, text, rest)
    return {name: views[name] for name in ids if name in views}


def _say(desk: Desk, act: Act, who: str, words: str) -> SavedDecision:
    from classmark.workbench.results import Logged

    def write(project: Project) -> Logged:
        project.store.document(str(act.document))
        numbers = project.store.judge([act], who)
        return Logged(tuple(numbers), f"{act.document}: {words}")

    return _saved(desk, str(act.document), who, desk.write(write), ())


def _saved(
    desk: Desk, document: str, who: str, logged: Logged, categories: Iterable[str]
) -> SavedDecision:
    """Tell everybody, and find what is next."""
    store, number = desk.store, logged.numbers[0]
    desk.after_write([document], who, logged, categories)
    (at,) = store.run("SELECT at FROM judgments WHERE seq = ?", (number,)).fetchone()
    onward = desk.queues.next_for(who, document)
    return SavedDecision(number, at, logged.said, onward, document, logged.numbers)


def _taken_back(desk: Desk, who: str, logged: Logged) -> SavedDecision:
    """As ``_saved``; the document that was taken back is the next one."""
    store, number = desk.store, logged.numbers[0]
    rows = store.run(
        "SELECT at, document FROM judgments WHERE seq BETWEEN ? AND ? ORDER BY seq",
        (number, logged.numbers[-1]),
    ).fetchall()
    documents = list(dict.fromkeys(str(id_) for _, id_ in rows if id_ is not None))
    desk.after_write(documents, who, logged)
    document = documents[0] if documents else ""
    return SavedDecision(
        number, rows[0][0], logged.said, document or None, document, logged.numbers
    )


def settle(
    desk: Desk,
    document: str,
    labels: Mapping[str, bool],
    who: str,
    note: str = "",
    version: int | None = None,
) -> Logged:
    """Say which labels are to stand, after people differed; it is undone as one act.

    labels : category → whether it is primary;  version : as in ``decide_on``; refused
    where anybody has decided on the document since.
    """
    if not labels:
        raise Mistake(
            f"{document}: nothing was chosen: name the categories that are to stand"
        )

    def write(project: Project) -> Logged:
        store = project.store
        store.document(document)
        _require_unchanged(store, document, version)
        require_open(store, sorted(labels))
        stood = store.standing(document).get(document, {})
        first = store.append(Act(document, SETTLE, note=note), who)
        numbers = store.judge(_moves(document, labels, stood, first), who)
        for number in _set_aside(store, document):
            numbers += undo(project, number, who, first).numbers
        words = f"{document}: settled, {', '.join(labels)}"
        return Logged((first, *numbers), words)

    logged = desk.write(write)
    desk.after_write([document], who, logged)
    return logged


def _set_aside(store: Store, document: str) -> list[int]:
    """The acts that keep a document aside: once it is settled, they hold no more."""
    rows = store.run(
        "SELECT seq FROM judgments WHERE document = ? AND act = ? AND category IS NULL "
        "AND document IN (SELECT document FROM aside) "
        "AND seq NOT IN (SELECT seq FROM undone) ORDER BY seq",
        (document, UNSURE),
    )
    return [int(seq) for (seq,) in rows.fetchall()]


def _require_unchanged(store: Store, document: str, version: int | None) -> None:
    later = () if version is None else acts_since(store, document, version)
    if later:
        raise Mistake(
            f"{document}: {later[0].who} decided on it since ({later[0].act}): look at "
            "it again, and settle it then"
        )


def _moves(
    document: str,
    labels: Mapping[str, bool],
    stood: Mapping[str, tuple[str, float | None]],
    within: int,
) -> Iterator[Act]:
    """The acts that lead from what stands to what is to stand."""
    for name, is_primary in labels.items():
        act = PRIMARY if is_primary else ASSIGN
        if name not in stood or stood[name][0] != act:
            grade = PRIMARY_GRADE if is_primary else SECONDARY
            yield Act(document, act, name, grade, within=within)
    for name, (act, _) in stood.items():
        if act in LABELS and name not in labels:
            yield Act(document, REMOVE, name, within=within)
