"""Comments that name people: @ada in a note reaches Ada."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.workbench.store.store import title_of

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk


SEEN = "mentions seen"  # the event
SHOWN = 50
NOTES = """
SELECT seq, document, who, at, note FROM judgments
WHERE seq > ? AND seq <= ? AND act = 'note' AND document IS NOT NULL
  AND note LIKE '%@%' ORDER BY seq
"""
UNDONE = "SELECT seq FROM undone WHERE seq IN ({})"
NoteRow = tuple[int, str, str, str, str]
_BEFORE = r"(?<![\w@])@"
_AFTER = r"(?![\w-])"


@dataclass(frozen=True, slots=True)
class Mention:
    """A comment that names somebody; is_new : they have not looked since."""

    number: int
    document: str
    title: str
    who: str
    at: str
    text: str
    is_new: bool


def names(text: str, name: str) -> bool:
    """Whether a comment names somebody, in letters of any size.

    >>> names("ask @Ada, please", "ada"), names("ada@example.org", "example")
    (True, False)
    """
    pattern = f"{_BEFORE}{re.escape(name)}{_AFTER}"
    return re.search(pattern, text, re.IGNORECASE) is not None


def mentions(desk: Desk, name: str) -> list[Mention]:
    """The comments that name somebody, the newest first."""
    rows = [r for r in _notes(desk) if r[2] != name and names(r[4], name)][-SHOWN:]
    if not rows:
        return []
    seen = int(desk.store.last_event(SEEN, name=name).get("number", 0))
    numbers = tuple(row[0] for row in rows)
    gone = desk.store.run(UNDONE.format(", ".join("?" * len(rows))), numbers)
    undone = {number for (number,) in gone}
    return [
        Mention(seq, id_, title_of(desk.store.document(id_)), who, at, text, seq > seen)
        for seq, id_, who, at, text in reversed(rows)
        if seq not in undone
    ]


def unseen(desk: Desk, name: str) -> int:
    """How many comments name somebody who has not looked at them."""
    return sum(mention.is_new for mention in mentions(desk, name))


def _notes(desk: Desk) -> tuple[NoteRow, ...]:
    """The comments that name anybody; only those written since are looked for."""
    state = desk.state
    rows: tuple[NoteRow, ...]
    upto, rows = state.derived.get(Mention, (-1, ()))
    if upto < state.upto:
        more = desk.store.run(NOTES, (upto, state.upto)).fetchall()
        upto, rows = state.upto, (*rows, *map(tuple, more))
        state.derived[Mention] = upto, rows
    return rows


def mark_seen(desk: Desk, name: str) -> None:
    """Somebody has looked at the comments that name them."""
    new = [mention.number for mention in mentions(desk, name) if mention.is_new]
    if new:
        with desk.writing() as project:
            project.store.note_event(SEEN, name, name=name, number=max(new))
