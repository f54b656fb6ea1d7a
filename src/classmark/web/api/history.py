"""The log: what was said, by whom, what they saw; correct it, take a range back."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from classmark.web.api.calls import calls
from classmark.web.api.deciding import Saved
from classmark.web.api.shapes import (
    NO_NUL,
    Answer,
    Body,
    Id,
    Note,
    Number,
)
from classmark.web.owning import require_own
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.workbench.deciding import history as desk_past
from classmark.workbench.deciding import history as taking_back

router = calls("history")
Word = Annotated[str, Field(max_length=1000, pattern=NO_NUL)]
Day = Annotated[str, Field(max_length=10, examples=["2026-03-01"])]


class Asked(Body):
    """Which lines of the log; what is empty is not asked for."""

    who: Word = ""
    act: Word = ""
    document: Word = ""
    category: Word = ""
    since: Day = ""
    until: Day = ""
    state: Literal["", "holds", "undone"] = ""


class Paged(Asked):
    """A page of them; before : only lines with a lower number."""

    before: Number | None = None
    top: Annotated[int, Field(ge=1, le=desk_past.MOST)] = 50


class Line(Answer):
    """One line of the log.

    rank, score, model : what was seen when it was said;  again : the number whose
    undoing brings it back.
    """

    number: int
    at: str
    who: str
    document: str | None
    title: str
    act: str = Field(examples=["assign"])
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
    again: int | None


class History(Answer):
    """Lines of the log, newest first; older : give it as ``before`` for the next."""

    lines: list[Line]
    older: int | None


class Corrected(Body):
    """Another category in the place of the one that an act names."""

    number: Number
    category: Id
    note: Note = ""


class Range(Body):
    """The acts from one number to another, those that are asked for."""

    first: Number
    last: Number
    asked: Asked = Field(default_factory=Asked)


class Change(Answer):
    """What is different of a document: labels that go, and that come back."""

    document: str
    goes: list[str]
    comes: list[str]


class TakenBack(Answer):
    """What taking back a range does, or would do; problem : why it cannot be."""

    first: int
    last: int
    acts: list[int]
    again: list[int]
    changes: list[Change]
    on_categories: int
    written: int
    problem: str


@router.get("/history")
def history(desk: OpenDesk, _: Reader, asked: Annotated[Paged, Query()]) -> History:
    """The newest lines of the log that are asked for."""
    found = desk_past.past(desk, _wanted(asked), asked.before, asked.top)
    return History.model_validate(found)


@router.post("/correct")
def correct(desk: OpenDesk, who: Classifier, said: Corrected) -> Saved:
    """Put another category in the place of the one that an act names: two new acts."""
    found = desk_past.correct(desk, said.number, said.category, who.name, said.note)
    return Saved.model_validate(found)


@router.post("/undo/preview")
def preview(desk: OpenDesk, _: Classifier, said: Range) -> TakenBack:
    """What taking back a range would do; nothing is written."""
    wanted = _wanted(said.asked)
    found = taking_back.look_at_range(desk, said.first, said.last, wanted)
    return TakenBack.model_validate(found)


@router.post("/undo/range")
def undo_range(desk: OpenDesk, who: Classifier, said: Range) -> TakenBack:
    """Take back the acts of a range: all of them, or nothing.

    Acts of others, and acts on the taxonomy, are taken back by admins only.
    """
    wanted = _wanted(said.asked)
    require_own(desk, who, said.first, said.last, wanted)
    found = taking_back.undo_range(desk, said.first, said.last, who.name, wanted)
    return TakenBack.model_validate(found)


def _wanted(asked: Asked) -> desk_past.Wanted:
    return desk_past.Wanted(**asked.model_dump(include=set(Asked.model_fields)))
