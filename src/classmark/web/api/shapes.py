"""The parts that calls are made of: ids, texts, numbers with their limits."""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from classmark.workbench.results import Logged

NO_NUL = r"^[^\x00]*$"
LONG = 1_000_000  # characters of one text
MANY = 1_000  # rows of one answer
LARGEST = 2**53  # numbers that JSON keeps exactly

Id = Annotated[str, Field(min_length=1, max_length=1000, pattern=NO_NUL)]
Text = Annotated[str, Field(max_length=LONG, pattern=NO_NUL)]
Note = Annotated[str, Field(max_length=10_000, pattern=NO_NUL)]
Number = Annotated[int, Field(ge=0, le=LARGEST)]
InPath = Annotated[str, Path(min_length=1, max_length=1000, pattern=NO_NUL)]
After = Annotated[
    str | None,
    Query(max_length=1000, pattern=NO_NUL, description="the one before; null: none"),
]
Top = Annotated[int, Query(ge=1, le=MANY, description="how many at most")]


def _or_null(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value


Value = Annotated[float | None, BeforeValidator(_or_null)]  # null: not defined


class Body(BaseModel):
    """What a call takes; a name it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class Answer(BaseModel):
    """What a call gives; made from what the workbench shows."""

    model_config = ConfigDict(from_attributes=True)


class InOrder(Answer):
    """An answer that the workbench has as a tuple, its parts in this order."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        plain = isinstance(value, tuple) and not hasattr(value, "_fields")
        return dict(zip(cls.model_fields, value, strict=True)) if plain else value


class Weighed(InOrder):
    """A word, and its part of a score."""

    word: str
    weight: float


class Titled(InOrder):
    """A document and its title."""

    id: str
    title: str


class Counted(InOrder):
    """How many of something."""

    name: str
    count: int


class Preferred(InOrder):
    """One category above another."""

    winner: str
    loser: str


class Written(Answer):
    """What was written to the log: the numbers given, and in words."""

    numbers: list[int] = Field(examples=[[231]])
    said: str = Field(examples=["b7: assign bees"])


def written(*logged: Logged) -> Written:
    """What was logged, as it is answered."""
    numbers = [number for each in logged for number in each.numbers]
    return Written(numbers=numbers, said="; ".join(each.said for each in logged))
