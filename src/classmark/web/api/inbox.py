"""The inbox: which documents wait, in which order, and what is thought of them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from classmark.web.api.calls import calls
from classmark.web.api.shapes import NO_NUL, Answer, Body
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.workbench.deciding import inbox as desk_inbox
from classmark.workbench.deciding.inbox import Filters

router = calls("decide")
Order = Literal["uncertain", "likely", "random", "similar"]
Show = Literal["undecided", "decided", "aside", "disagreed", "all"]
Words = Annotated[str, Field(max_length=1000, pattern=NO_NUL)]


class Chosen(Body):
    """An order, and which documents.

    branch : in this category or below;  words : in the text;  who : has said something.
    """

    order: Order = "uncertain"
    show: Show = "undecided"
    branch: Words = ""
    words: Words = ""
    who: Words = ""


class Paged(Chosen):
    """One page of them."""

    page: Annotated[int, Field(ge=1, le=10**9)] = 1


class Row(Answer):
    """A document in the inbox; guess : its best category, as a path."""

    id: str
    title: str
    first_line: str
    state: str
    guess: list[str]
    category: str
    likely: str = Field(examples=["87 % likely"])
    probability: float | None
    labels: list[str]
    holder: str = Field(description="who has it open")


class Inbox(Answer):
    """A page of documents; looked_at : so many are in order, the others at random."""

    rows: list[Row]
    order: str
    page: int
    pages: int
    total: int
    looked_at: int


@router.get("/inbox")
def inbox(desk: OpenDesk, _: Reader, asked: Annotated[Paged, Query()]) -> Inbox:
    """The documents that wait, or others, 25 a page."""
    found = desk_inbox.inbox(desk, asked.order, filters_of(asked), asked.page)
    return Inbox.model_validate(found)


@router.put("/inbox")
def choose(desk: OpenDesk, who: Classifier, chosen: Chosen) -> Chosen:
    """Be given the documents that wait in this order from now on, by ``/next``."""
    desk_inbox.start_in(desk, who.name, chosen.order, filters_of(chosen))
    return chosen


def filters_of(chosen: Chosen) -> Filters:
    """What an address asks for, as the inbox takes it."""
    return Filters(chosen.show, chosen.branch, chosen.words, chosen.who)
