"""Accept many best guesses at once, after a look at them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from classmark.web.api.calls import calls
from classmark.web.api.inbox import Chosen, filters_of
from classmark.web.api.shapes import Answer, Body, Id, Number
from classmark.web.people import Classifier, OpenDesk
from classmark.workbench.deciding import inbox

router = calls("decide")
Least = Annotated[float, Field(gt=0, le=1)]


class Guess(Body):
    """A guess as it was offered; version : of the document then."""

    document: Id
    category: Id
    score: float = Field(allow_inf_nan=False)
    version: Number


class Offer(Answer):
    """Guesses that may be accepted together, the likeliest first.

    total : how many, shown or not;  wrong : how many of those shown are to be expected
    wrong, by probabilities calibrated on so many decisions.
    """

    guesses: list[Guess]
    least: float
    total: int
    wrong: float
    looked_at: int
    calibrated_on: int


class Taken(Body):
    """The guesses that are right."""

    guesses: list[Guess] = Field(min_length=1, max_length=inbox.ACCEPTED_AT_ONCE)
    least: Least


class Accepted(Answer):
    """What was written; left : documents that somebody decided meanwhile."""

    numbers: list[int]
    left: list[str]


class Wanted(Chosen):
    """Which documents; least : the least probability of their best guess."""

    least: Least


@router.get("/accept")
def offer(desk: OpenDesk, who: Classifier, wanted: Annotated[Wanted, Query()]) -> Offer:
    """The best guesses that may be accepted at once; nothing is written."""
    found = inbox.offer(desk, who.name, filters_of(wanted), wanted.least)
    guesses = [Guess(**guess._asdict()) for _, guess in found.rows]
    told = {n: getattr(found, n) for n in Offer.model_fields if n != "guesses"}
    return Offer(guesses=guesses, **told)


@router.post("/accept")
def accept(desk: OpenDesk, who: Classifier, taken: Taken) -> Accepted:
    """Assign each document the category guessed, where nobody decided it meanwhile."""
    guesses = [inbox.Guessed(**each.model_dump()) for each in taken.guesses]
    found = inbox.accept(desk, who.name, guesses, taken.least)
    return Accepted.model_validate(found)
