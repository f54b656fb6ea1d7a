"""What is said of a document on the desk, what is taken back, and which is next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from classmark.problems import Mistake
from classmark.workbench.deciding import (
    Decision,
    Seen,
    decide,
    named,
    what_the_model_says,
)
from classmark.workbench.log import NOTE, SKIP, Act
from classmark.workbench.undoing import undo

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk
    from classmark.workbench.project import Project
    from classmark.workbench.store import Store
    from classmark.workbench.views import Logged

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


class Said(NamedTuple):
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
        self, document: str, theirs: tuple[Said, ...], yours: Decision
    ) -> None:
        who = ", ".join(dict.fromkeys(said.who for said in theirs))
        super().__init__(
            f"{document}: {who} decided on it meanwhile: look at both decisions, and "
            "say which holds"
        )
        self.document, self.theirs, self.yours = document, theirs, yours


@dataclass(frozen=True, slots=True)
class Saved:
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
) -> Saved:
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


def skip_for(desk: Desk, document: str, who: str) -> Saved:
    """Leave a document for later: it goes to the end of this person's queue."""
    saved = _say(desk, Act(document, SKIP), who, "skipped")
    desk.queues.skip(document, who)
    return saved


def note_on(desk: Desk, document: str, text: str, who: str) -> Saved:
    """Write a note on a document; it teaches nothing and moves nothing."""
    if not text.strip():
        raise Mistake("the note is empty: write some words")
    return _say(desk, Act(document, NOTE, note=text.strip()), who, "noted")


def undo_for(desk: Desk, who: str, number: int | None = None) -> Saved:
    """Take back an act with all that was said with it; without a number, the last."""
    logged = desk.write(lambda project: undo(project, number, who))
    return _taken_back(desk, who, logged)


def redo_for(desk: Desk, who: str) -> Saved:
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


def acts_since(store: Store, document: str, version: int) -> tuple[Said, ...]:
    """What was said of a document after an act, oldest first."""
    return tuple(Said(*row) for row in store.run(SINCE, (document, version)))


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
    wanted = named(decision)
    found = desk.sheets.seen(document, who)
    rest = wanted - found.keys()
    if rest:
        text = desk.project.store.document(document)
        found |= what_the_model_says(desk.project, text, rest)
    return {name: found[name] for name in wanted if name in found}


def _say(desk: Desk, act: Act, who: str, said: str) -> Saved:
    from classmark.workbench.views import Logged

    def write(project: Project) -> Logged:
        project.store.document(str(act.document))
        numbers = project.store.judge([act], who)
        return Logged(tuple(numbers), f"{act.document}: {said}")

    return _saved(desk, str(act.document), who, desk.write(write), ())


def _saved(
    desk: Desk, document: str, who: str, logged: Logged, categories: Iterable[str]
) -> Saved:
    """Tell everybody, and find what is next."""
    store, number = desk.project.store, logged.numbers[0]
    desk.after_write([document], who, logged, categories)
    (at,) = store.run("SELECT at FROM judgments WHERE seq = ?", (number,)).fetchone()
    onward = desk.queues.next_for(who, document)
    return Saved(number, at, logged.said, onward, document, logged.numbers)


def _taken_back(desk: Desk, who: str, logged: Logged) -> Saved:
    """As ``_saved``; the document that was taken back is the next one."""
    store, number = desk.project.store, logged.numbers[0]
    rows = store.run(
        "SELECT at, document FROM judgments WHERE seq BETWEEN ? AND ? ORDER BY seq",
        (number, logged.numbers[-1]),
    ).fetchall()
    documents = list(dict.fromkeys(str(id_) for _, id_ in rows if id_ is not None))
    desk.after_write(documents, who, logged)
    document = documents[0] if documents else ""
    return Saved(
        number, rows[0][0], logged.said, document or None, document, logged.numbers
    )
