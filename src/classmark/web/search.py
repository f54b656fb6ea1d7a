"""Search the documents by words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask

from classmark.problems import Mistake
from classmark.web import fields
from classmark.web.guard.auth import Classifier, Reader
from classmark.web.render import fragment, page, redirect
from classmark.workbench.search.clicks import log_click
from classmark.workbench.search.index import JOB, start_indexing
from classmark.workbench.search.search import (
    FEEDBACK,
    MODELS,
    MOST_HITS,
    QueryOptions,
    SearchResults,
    SearchState,
    search_desk,
    search_state,
    warm_index,
)
from classmark.workbench.team.jobs import DONE

pages = APIRouter(prefix="/search")
api = fields.calls("search")
HERE = "Search"
Short = Annotated[str, Field(max_length=100, pattern=fields.NO_NUL)]
FormText = Annotated[str, Form()]


class SearchAddress(BaseModel):
    """A search, as the address has it."""

    q: str = Field("", max_length=4000)
    model: str = ""
    set: str = ""
    weights: str = ""
    feedback: str = ""
    prior: str = ""
    ranker: str = ""
    hybrid: str = ""
    k: int = Field(10, ge=1, le=MOST_HITS)

    def as_options(self) -> QueryOptions:
        """The same, as the workbench takes it."""
        return QueryOptions(
            self.model or None, tuple(self.set.split()), self.k, self.feedback or None,
            self.prior or None, False, tuple(self.weights.split()), self.ranker or None,
            self.hybrid or None,
        )  # fmt: skip

    @property
    def has_options(self) -> bool:
        """Whether more than words are asked for."""
        return bool(self.model_dump(exclude={"q", "hybrid"}, exclude_defaults=True))


@pages.get("")
def search_page(me: Reader, query: Annotated[SearchAddress, Query()]) -> HTMLResponse:
    """Find documents, best first."""
    hits, wrong, job = None, "", me.desk.jobs.last(JOB)
    standing = search_state(me.desk)
    if query.q.strip() and standing.ready:
        try:
            hits = search_desk(me.desk, query.q, query.as_options(), me.name)
        except Mistake as mistake:
            wrong = str(mistake)
    return page(
        me, HERE, "search.html", title=query.q or HERE, query=query, hits=hits,
        wrong=wrong, standing=standing, models=MODELS,
        feedbacks=FEEDBACK,
        job=None if job is None or job.state == DONE else job,
        status_code=400 if wrong else 200,
        background=None if query.q else BackgroundTask(warm_index, me.desk),
    )  # fmt: skip


@pages.get("/jobs")
def job_part(me: Reader) -> HTMLResponse:
    """How far the indexing is: a piece of the page."""
    job = me.desk.jobs.last(JOB)
    if job is None:
        raise Mistake("nothing was indexed since the server began: load the page again")
    return fragment("search_job.html", job=job)


@pages.get("/open/{impression}/{document:path}")
def opened_page(me: Reader, impression: int, document: str) -> RedirectResponse:
    """Go to a document, and keep that it was opened from this list."""
    me.desk.write(lambda project: log_click(project.store, impression, document))
    return redirect(f"/decide/{quote(document, safe='')}")


@pages.post("/index")
def index_form(
    me: Classifier, q: FormText = "", positions: FormText = ""
) -> RedirectResponse:
    """Make the index, or bring it up to date."""
    start_indexing(me.desk, me.name, positions=True if positions else None)
    return redirect("/search", q=q)


class SearchBody(fields.Body):
    """What to look for, and how; see the manual's page on searching."""

    query: Annotated[
        str, Field(min_length=1, max_length=2000, pattern=fields.NO_NUL)
    ] = Field(examples=["salt road"])
    top: Annotated[int, Field(ge=1, le=MOST_HITS)] = 10
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
    hybrid: Short | None = Field(
        None,
        description="meaning beside words: no, auto, weight, ranks, or what it counts",
        examples=["2"],
    )


class Piece(fields.CallAnswer):
    """Some text; hit : whether it was asked for."""

    text: str
    hit: bool


class ClickBody(fields.Body):
    """A document that was opened from a list."""

    impression: fields.Number
    document: fields.Id


class Hit(fields.CallAnswer):
    """A document that was found; parts : what each term adds to its score.

    words, meaning : what each of the two adds to it; null where words alone rank.
    """

    rank: int
    id: str
    score: float
    title: list[Piece] = Field(validation_alias="heading")
    text: list[Piece]
    parts: list[fields.Weighed] = Field(validation_alias="largest_parts")
    rest: float
    words: float | None
    meaning: float | None


class Hits(fields.CallAnswer, of=SearchResults):
    """What was found; impression : its number in the log, null: nothing is kept.

    meaning : whether it counted beside words.
    """

    hits: list[Hit]
    note: str
    impression: int | None
    ranker: int | None
    meaning: bool


@api.post("/search")
def search(me: Reader, body: SearchBody) -> SearchResults:
    """Search the documents, best first."""
    options = QueryOptions(
        body.model, _typed(body.parameters), body.top, body.feedback, body.prior,
        weights=_typed(body.weights), ranker=body.ranker,
        hybrid=body.hybrid,
    )  # fmt: skip
    return search_desk(me.desk, body.query, options, me.name)


@api.post("/click", status_code=204)
def click(me: Reader, body: ClickBody) -> None:
    """Keep that a document was opened from a list that was kept."""
    me.desk.write(
        lambda project: log_click(project.store, body.impression, body.document)
    )


@api.get("/search")
def standing(me: Reader) -> SearchState:
    """How searching stands."""
    return search_state(me.desk)


def _typed(values: Mapping[str, float | str]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]
