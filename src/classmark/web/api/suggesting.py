"""Suggest categories for a text, a document of the project, or many at once."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response
from pydantic import Field, model_validator

from classmark.web.api.calls import MISSING, calls, told
from classmark.web.api.naming import text_named
from classmark.web.api.shapes import Answer, Body, Id, Text
from classmark.web.people import OpenDesk, Reader
from classmark.workbench.deciding.suggest import suggest_for
from classmark.workbench.results import Explained
from classmark.workbench.team.desk import Desk

router = calls("suggest")
BATCH = 256  # texts of one call
TOP = 100
Share = Annotated[float, Field(ge=0, le=1)]


class Wanted(Body):
    """How many suggestions, and how much of their reasons."""

    top: int = Field(5, ge=1, le=TOP, description="how many categories")
    why: int = Field(
        0, ge=0, le=50, description="so many words for and against each; 0: none"
    )
    min_probability: Share | None = Field(
        None, description="leave out what is less likely; needs a calibrated model"
    )


class Asked(Body):
    """A text, or the id of a document that the project has."""

    text: Text | None = Field(None, examples=["smoke calms the bees in a hive"])
    document: Id | None = Field(None, examples=["0231"])

    @model_validator(mode="after")
    def _one(self) -> Asked:
        if (self.text is None) == (self.document is None):
            raise ValueError("give a text or a document, one of them")
        return self


class One(Wanted, Asked):
    """One text to suggest categories for."""


class Many(Wanted):
    """Several texts to suggest categories for."""

    items: list[Asked] = Field(min_length=1, max_length=BATCH)


class Suggestion(Answer):
    """A category for a text; best first.

    probability : calibrated on so many decisions; null where the model is not;
    favour, against : word → its part of the score.
    """

    category: str = Field(examples=["local.coast"])
    path: list[str] = Field(examples=[["Local history", "Coast"]])
    rank: int
    score: float
    probability: float | None = None
    calibrated_on: int | None = None
    favour: dict[str, float]
    against: dict[str, float]


class Suggestions(Answer):
    """The categories of one text, best first."""

    suggestions: list[Suggestion]


class Batch(Answer):
    """The categories of each text, in the order in which the texts were given."""

    items: list[Suggestions]


@router.post("/suggest", responses=MISSING, response_model=Suggestions)
def suggest(desk: OpenDesk, _: Reader, asked: One) -> Response:
    """Suggest categories for a text."""
    return told(_answer(desk, asked, asked))


@router.post("/suggest/batch", responses=MISSING, response_model=Batch)
def suggest_batch(desk: OpenDesk, _: Reader, asked: Many) -> Response:
    """Suggest categories for up to 256 texts at once."""
    return told(Batch(items=[_answer(desk, item, asked) for item in asked.items]))


def _answer(desk: Desk, asked: Asked, wanted: Wanted) -> Suggestions:
    text = asked.text
    if asked.document is not None:
        text = text_named(desk, asked.document)
    found: list[Explained] = suggest_for(
        desk, text or "", wanted.top, wanted.why, wanted.min_probability
    )
    return Suggestions(suggestions=[Suggestion.model_validate(each) for each in found])
