"""Search the documents by words, and say which was opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Response
from pydantic import Field

from classmark.web.api.calls import calls
from classmark.web.api.shapes import NO_NUL, Answer, Body, Id, Number, Weighed
from classmark.web.people import OpenDesk, Reader
from classmark.workbench.search import search_box
from classmark.workbench.search.search_box import Wish

router = calls("search")
Short = Annotated[str, Field(max_length=100, pattern=NO_NUL)]


class Query(Body):
    """What to look for, and how; see the manual's page on searching."""

    query: Annotated[str, Field(min_length=1, max_length=2000, pattern=NO_NUL)] = Field(
        examples=["salt road"]
    )
    top: Annotated[int, Field(ge=1, le=search_box.MOST)] = 10
    model: Short | None = Field(None, examples=["bm25"])
    parameters: dict[Short, float | Short] = Field(
        {}, max_length=20, examples=[{"k1": 0.9}]
    )
    weights: dict[Short, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        {}, max_length=20, description="what a field counts"
    )
    feedback: Short | None = Field(None, examples=["rm3"])
    prior: Short | None = Field(None, examples=["pagerank"])
    ranker: Short | None = Field(None, description="a learned one, or none")


class Piece(Answer):
    """Some text; hit : whether it was asked for."""

    text: str
    hit: bool


class Hit(Answer):
    """A document that was found; parts : what each term adds to its score."""

    rank: int
    id: str
    score: float
    title: list[Piece]
    text: list[Piece]
    parts: list[Weighed]
    rest: float


class Hits(Answer):
    """What was found; impression : its number in the log, null: nothing is kept."""

    hits: list[Hit]
    note: str
    impression: int | None
    ranker: int | None


class Opened(Body):
    """A document that was opened from a list."""

    impression: Number
    document: Id


class Standing(Answer):
    """How searching stands: what is indexed, what is in service, what is kept."""

    ready: bool
    stale: bool
    documents: int
    fields: list[str]
    positions: bool
    ranker: int | None
    rankers: list[int]
    log: str


@router.post("/search")
def search(desk: OpenDesk, who: Reader, asked: Query) -> Hits:
    """Search the documents, best first."""
    wish = Wish(
        asked.model, _typed(asked.parameters), asked.top, asked.feedback, asked.prior,
        weights=_typed(asked.weights), ranker=asked.ranker,
    )  # fmt: skip
    return Hits.model_validate(search_box.find(desk, asked.query, wish, who.name))


@router.post("/click", status_code=204)
def click(desk: OpenDesk, _: Reader, opened: Opened) -> Response:
    """Keep that a document was opened from a list that was kept."""
    search_box.click(desk, opened.impression, opened.document)
    return Response(status_code=204)


@router.get("/search")
def standing(desk: OpenDesk, _: Reader) -> Standing:
    """How searching stands."""
    return Standing.model_validate(search_box.standing(desk))


def _typed(values: Mapping[str, float | str]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]
