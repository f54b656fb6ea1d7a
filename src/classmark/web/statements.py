"""Statements: what the form of a document says, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from classmark.problems import Mistake
from classmark.web.clock import by_the_clock
from classmark.workbench.deciding.decide import (
    Decision,
    Saved,
    decide_on,
    next_for,
    note_on,
    redo_for,
    skip_for,
    undo_for,
)
from classmark.workbench.store.log import now
from classmark.workbench.team.agreement import disagreements, settle, to_read_again
from classmark.workbench.team.desk import Desk

Names = Annotated[list[str], Field(max_length=1000)]
Reading = Literal["", "second", "settle"]


class Statement(BaseModel):
    """What the form of a document says.

    stood : categories of which something was said before, as they were shown; those
    that are not named any more are taken back.  above, below : the winners and losers
    of preferences, in one order.  reading : a second one, or the one that settles.
    """

    act: Literal["accept", "skip", "unsure", "note", "undo", "redo"] = "accept"
    assign: Names = []
    primary: Names = []
    reject: Names = []
    stood: Names = []
    above: Names = []
    below: Names = []
    note: Annotated[str, Field(max_length=4000)] = ""
    version: int | None = None
    reading: Reading = ""

    def decision(self) -> Decision:
        """As it is logged.

        >>> Statement(assign=["bees"], stood=["bees", "wax"]).decision().remove
        ('wax',)
        """
        if len(self.above) != len(self.below):
            raise Mistake("a preference has two categories: choose it again")
        named = {*self.assign, *self.primary, *self.reject}
        return Decision(
            tuple(self.assign),
            tuple(self.primary),
            tuple(self.reject),
            remove=tuple(name for name in self.stood if name not in named),
            over=tuple(zip(self.above, self.below, strict=True)),
        )


def accept(desk: Desk, document: str, said: Statement, who: str) -> Saved:
    """Write what was chosen; of a reading that settles, which labels are to stand."""
    if said.reading != "settle":
        return decide_on(desk, document, said.decision(), None, who, said.version)
    labels = dict.fromkeys(said.assign, False) | dict.fromkeys(said.primary, True)
    logged = settle(desk, document, labels, who, said.note, said.version)
    return Saved(logged.numbers[0], now(), logged.said, None, document, logged.numbers)


def unsure(desk: Desk, document: str, said: Statement, who: str) -> Saved:
    """Set a document aside."""
    return decide_on(desk, document, Decision(aside=True), None, who, said.version)


ACTS: Mapping[str, Callable[[Desk, str, Statement, str], Saved]] = {
    "accept": accept,
    "unsure": unsure,
    "skip": lambda desk, document, _, who: skip_for(desk, document, who),
    "note": lambda desk, document, said, who: note_on(desk, document, said.note, who),
    "undo": lambda desk, _, __, who: undo_for(desk, who),
    "redo": lambda desk, _, __, who: redo_for(desk, who),
}


def words_of(act: str, saved: Saved) -> str:
    """What is told once it is on disk, by the clock of this machine."""
    verb = {"undo": "undone", "redo": "brought back"}.get(act, "saved")
    return f"{verb} #{saved.number} · {by_the_clock(saved.at)[11:]}"


def waiting(desk: Desk, who: str, reading: Reading, after: str = "") -> str | None:
    """The next document of a reading; None: there is none left."""
    match reading:
        case "second":
            found = to_read_again(desk, who, 2)
        case "settle":
            found = [each.document for each in disagreements(desk)]
        case _:
            return next_for(desk, who, after or None)
    return next((id_ for id_ in found if id_ != after), None)
