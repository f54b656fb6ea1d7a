"""Find by example: begin a search, say yes and no, read on, see what it learned."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Query
from fastapi.responses import FileResponse
from pydantic import Field
from starlette.background import BackgroundTask

from classmark.web.api.calls import MISSING, Documented, calls, or_missing, refusal
from classmark.web.api.deciding import Ids
from classmark.web.api.exchange import BYTES, FILE
from classmark.web.api.naming import require_document
from classmark.web.api.shapes import (
    LARGEST,
    Answer,
    Body,
    Id,
    InPath,
    Text,
    Top,
    Weighed,
)
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.workbench.examples import team_search
from classmark.workbench.examples.open_searches import search_of
from classmark.workbench.examples.screening import StoppingRule
from classmark.workbench.files.exporting import kept_until_sent
from classmark.workbench.team.desk import Desk

router = calls("like")
SearchNumber = Annotated[int, Path(ge=0, le=LARGEST)]
READING: Documented = {409: refusal("the documents are still being read")}
THERE: Documented = MISSING | READING
Mark = Literal["example", "yes", "no", "skip"]
Ending = Annotated[
    Literal["csv", "jsonl", "run", "ris", "bib", "tsv"], Query(alias="format")
]


class Wanted(Body):
    """What a search begins with: documents, texts of your own, or a category."""

    name: Annotated[str, Field(max_length=200)] = ""
    examples: Ids = Field([], examples=[["a1", "a7"]])
    no: Ids = Field([])
    texts: dict[Id, Text] = Field({}, max_length=20, description="your own, by name")
    category: Annotated[str, Field(max_length=1000)] = ""
    screening: bool = Field(False, description="go for nearly all of them")
    target: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.95, description="of a screening: the share that is to be found"
    )
    error: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.05, description="of a screening: how often fewer may be found"
    )
    method: Annotated[str, Field(max_length=50)] = "auto"


class Marks(Body):
    """Document → what it is."""

    marks: dict[Id, Mark] = Field(
        min_length=1, max_length=1000, examples=[{"a1": "yes", "b2": "no"}]
    )


class Own(Body):
    """A text that is no document of the project."""

    text: Text = Field(min_length=1)


class Example(Answer):
    """Something that the search learned from."""

    id: str
    title: str
    act: str


class Candidate(Answer):
    """A document that may be wanted; why : word, its part of the score."""

    rank: int
    id: str
    title: str
    why: list[Weighed]
    score: float | None
    origin: str
    mark: str


class Basket(Answer):
    """A search as it stands.

    words : the learned query, its heaviest words;  told : how far it is;  advice :
    whether to go on;  stop : it may stop.
    """

    number: int
    name: str
    screening: bool
    learned: str
    examples: list[Example]
    against: list[Example]
    words: list[Weighed]
    terms: int
    documents: int
    found: list[Candidate]
    told: list[str]
    advice: str
    stop: bool
    notes: list[str]


class Search(Answer):
    """A search, as it is listed."""

    number: int
    name: str
    screening: bool
    examples: int
    yes: int
    no: int
    begun: str
    who: str


class Searches(Answer):
    """All searches by example, the one used last first."""

    searches: list[Search]


class Part(Answer):
    """A word's part of a score."""

    term: str
    word: str
    weight: float
    value: float
    part: float


class Reasons(Answer):
    """Every word's part of the score of a document; they add up."""

    id: str
    title: str
    score: float
    parts: list[Part]


@router.get("/like")
def list_searches(desk: OpenDesk, _: Reader) -> Searches:
    """All searches by example."""
    found = team_search.searches(desk)
    return Searches(searches=[Search.model_validate(each) for each in found])


@router.post("/like", status_code=201, responses=READING)
def begin(desk: OpenDesk, who: Classifier, wanted: Wanted, top: Top = 20) -> Basket:
    """Begin a search by examples, and rank the documents."""
    said = team_search.Wanted(
        wanted.name, tuple(wanted.examples), tuple(wanted.no), wanted.texts,
        wanted.category, wanted.screening, StoppingRule(wanted.target, wanted.error),
        wanted.method,
    )  # fmt: skip
    return _shown(desk, team_search.begin(desk, who.name, said), top)


@router.get("/like/{number}", responses=THERE)
def read(desk: OpenDesk, _: Reader, number: SearchNumber, top: Top = 20) -> Basket:
    """A search as it stands, with what it finds next and the query it learned."""
    _require(desk, number)
    return _shown(desk, number, top)


@router.post("/like/{number}/mark", responses=THERE)
def mark(
    desk: OpenDesk, who: Classifier, number: SearchNumber, said: Marks, top: Top = 20
) -> Basket:
    """Say which documents are wanted and which are not; the rest is ranked anew."""
    _require(desk, number)
    team_search.say(desk, who.name, number, said.marks)
    return _shown(desk, number, top)


@router.post("/like/{number}/undo", responses=THERE)
def undo(
    desk: OpenDesk, who: Classifier, number: SearchNumber, top: Top = 20
) -> Basket:
    """Take back what you marked last."""
    _require(desk, number)
    team_search.undo(desk, who.name, number)
    return _shown(desk, number, top)


@router.post("/like/{number}/redo", responses=THERE)
def redo(
    desk: OpenDesk, who: Classifier, number: SearchNumber, top: Top = 20
) -> Basket:
    """Bring back what you took back last."""
    _require(desk, number)
    team_search.redo(desk, who.name, number)
    return _shown(desk, number, top)


@router.post("/like/{number}/texts", responses=THERE)
def add_text(
    desk: OpenDesk, _: Classifier, number: SearchNumber, own: Own, top: Top = 20
) -> Basket:
    """Put a text of your own into the basket."""
    _require(desk, number)
    team_search.add_text(desk, number, own.text)
    return _shown(desk, number, top)


@router.delete("/like/{number}/texts/{name}", responses=THERE)
def drop_text(
    desk: OpenDesk, _: Classifier, number: SearchNumber, name: InPath, top: Top = 20
) -> Basket:
    """Take a text of your own out of the basket."""
    _require(desk, number)
    team_search.drop_text(desk, number, name)
    return _shown(desk, number, top)


@router.post("/like/{number}/screen", status_code=201, responses=THERE)
def screen(
    desk: OpenDesk, who: Classifier, number: SearchNumber, top: Top = 20
) -> Basket:
    """Begin a screening, for nearly all of them, with what a search knows."""
    _require(desk, number)
    return _shown(desk, team_search.screen(desk, who.name, number), top)


@router.get(
    "/like/{number}/found", response_class=FileResponse, responses=FILE | READING
)
def found(
    desk: OpenDesk, _: Reader, number: SearchNumber, form: Ending = "csv"
) -> FileResponse:
    """What was found, as a file; tsv : the words of the learned query."""
    _require(desk, number)
    name = f"found.{form}"
    path, remove = kept_until_sent(
        desk, name, lambda path: team_search.write_found(desk, number, path)
    )
    task = BackgroundTask(remove)
    return FileResponse(path, filename=name, media_type=BYTES, background=task)


@router.get("/like/{number}/why/{document:path}", responses=THERE)
def why(desk: OpenDesk, _: Reader, number: SearchNumber, document: InPath) -> Reasons:
    """Why a document has its score."""
    _require(desk, number)
    require_document(desk, document)
    return Reasons.model_validate(team_search.explain(desk, number, document))


def _shown(desk: Desk, number: int, top: int) -> Basket:
    return Basket.model_validate(team_search.show(desk, number, top))


def _require(desk: Desk, number: int) -> None:
    with or_missing():
        search_of(desk.project, number)
