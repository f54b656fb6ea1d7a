"""A document as it lies on the desk: its suggestions, and what was said of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from classmark.web.api.calls import MISSING, calls
from classmark.web.api.naming import require_document
from classmark.web.api.shapes import Answer, InOrder, InPath, Preferred, Titled, Weighed
from classmark.web.people import OpenDesk, Reader
from classmark.workbench.deciding import sheet as sheets
from classmark.workbench.deciding.similar import alike

router = calls("decide")
Blind = Annotated[bool, Query(description="a second reading: hide what was said")]
Few = Annotated[int, Query(ge=1, le=100)]


class Choice(Answer):
    """A category that may be chosen.

    examples : two documents in it;  stands : what was said of it before.
    """

    category: str
    path: list[str]
    likely: str = Field(examples=["87 %"])
    rank: int | None
    score: float | None
    probability: float | None
    favour: list[Weighed]
    against: list[Weighed]
    note: str
    guideline: str
    examples: list[Titled]
    stands: str


class Said(Answer):
    """An act on the document."""

    number: int
    who: str
    at: str
    act: str
    category: str
    other: str
    note: str


class Short(InOrder):
    """A short field of the document."""

    name: str
    text: str


class Sheet(Answer):
    """A document, and what may be said of it.

    version : give it with the decision, so that none of two is lost;  calibrated : what
    the percentages rest on;  ranked : how many categories are ranked.
    """

    id: str
    title: str
    about: list[Short]
    choices: list[Choice]
    others: list[Choice]
    version: int
    calibrated: str
    ranked: int
    model: str
    aside: bool
    preferred: list[Preferred]
    notes: list[Said]
    past: list[Said]
    blind: bool


class Alike(Answer):
    """A document like another; cosine : how much, 0 to 1."""

    document: str
    title: str
    beginning: str
    cosine: float
    labels: list[str]


class Similar(Answer):
    """The documents most like one, the most like first."""

    similar: list[Alike]


@router.get("/sheet/{document:path}", responses=MISSING)
def sheet(
    desk: OpenDesk, who: Reader, document: InPath, *, blind: Blind = False
) -> Sheet:
    """Lay a document out: laid out again, it is the same until something is said."""
    require_document(desk, document)
    return Sheet.model_validate(sheets.lay_out(desk, document, who.name, blind=blind))


@router.get("/similar/{document:path}", responses=MISSING)
def similar(desk: OpenDesk, _: Reader, document: InPath, top: Few = 6) -> Similar:
    """The documents whose words are most like those of one."""
    require_document(desk, document)
    found = [Alike.model_validate(each) for each in alike(desk, document, top)]
    return Similar(similar=found)
