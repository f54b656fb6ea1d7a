"""Search the documents by words."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Form, Query
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field, ValidationError
from starlette.background import BackgroundTask

from classmark.language import N_, _
from classmark.problems import Mistake, refusal
from classmark.web import fields
from classmark.web.decide import words_of
from classmark.web.guard.auth import Classifier, Reader
from classmark.web.guard.errors import warm
from classmark.web.render import address, fragment, page, redirect
from classmark.web.wording import labelling_notice
from classmark.workbench.categories.find import path_of
from classmark.workbench.deciding.decide import undo_for
from classmark.workbench.deciding.together import (
    AT_ONCE,
    GroupLabelled,
    category_named,
    label_all,
)
from classmark.workbench.files.exporting import CHOSEN, download_chosen
from classmark.workbench.search.clicks import log_click
from classmark.workbench.search.desk_search import (
    DEEPEST,
    MOST_HITS,
    SearchState,
    all_answers,
    search_desk,
    search_state,
    warm_index,
)
from classmark.workbench.search.filters import Facet, SearchFilters, Shows
from classmark.workbench.search.index import JOB, start_indexing
from classmark.workbench.search.search import (
    FEEDBACK,
    MODELS,
    QueryOptions,
    SearchResults,
)
from classmark.workbench.team.jobs import DONE

pages = APIRouter(prefix="/search")
api = fields.calls("search")
HERE = "Search"
Short = Annotated[str, Field(max_length=100, pattern=fields.NO_NUL)]
FormText = Annotated[str, Form()]
FILTERS = ("category", "show", "since", "until", "field")
SHOW_WORDS: dict[Shows, str] = {
    "all": N_("all"), "decided": N_("decided"), "undecided": N_("undecided"),
    "aside": N_("postponed"),
}  # fmt: skip


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
    category: str = Field("", max_length=1000)
    show: Shows = "all"
    since: str = Field("", max_length=10)
    until: str = Field("", max_length=10)
    field: str = Field("", max_length=200)
    k: int = Field(10, ge=1, le=MOST_HITS)
    page: int = Field(1, ge=1, le=DEEPEST)

    def filters(self) -> SearchFilters:
        """Which documents may be answers."""
        return SearchFilters(
            self.category, self.show, self.since, self.until, self.field
        )

    def as_options(self) -> QueryOptions:
        """The same, as the workbench takes it."""
        return QueryOptions(
            self.model or None, tuple(self.set.split()), self.k, self.feedback or None,
            self.prior or None, False, tuple(self.weights.split()), self.ranker or None,
            self.hybrid or None, self.filters(), self.page,
        )  # fmt: skip

    @property
    def has_options(self) -> bool:
        """Whether more than words and filters are asked for."""
        plain = {"q", "hybrid", "page", *FILTERS}
        return bool(self.model_dump(exclude=plain, exclude_defaults=True))

    @property
    def has_filters(self) -> bool:
        """Whether some documents may not be answers."""
        return bool(self.model_dump(include=set(FILTERS), exclude_defaults=True))

    @property
    def chosen(self) -> dict[str, str]:
        """What is not as it begins, as an address has it."""
        values = self.model_dump(exclude_defaults=True)
        return {name: str(value) for name, value in values.items()}

    def at(self, path: str = "/search", **changes: object) -> str:
        """The address of this search with some of it changed, on its first page."""
        changed = self.model_copy(update={"page": 1, **changes})
        return address(path, **changed.chosen)


@pages.get("")
def search_page(
    me: Reader,
    query: Annotated[SearchAddress, Query()],
    labelled: Annotated[int, Query(ge=0, le=fields.LARGEST)] = 0,
) -> HTMLResponse:
    """Find documents, best first; labelled : the act that has just labelled some."""
    hits, wrong, job = None, "", me.desk.jobs.last(JOB)
    standing = search_state(me.desk)
    if query.q.strip() and standing.ready:
        try:
            if query.category:
                category = category_named(me.desk, query.category)
                query = query.model_copy(update={"category": category})
            hits = search_desk(me.desk, query.q, query.as_options(), me.name)
        except Mistake as mistake:
            wrong = str(mistake)
    named = me.desk.categories.get(query.category)
    opening = partial(warm_index, me.desk)
    return page(
        me, HERE, "search.html", title=query.q or _(HERE), query=query, hits=hits,
        wrong=wrong, standing=standing, models=MODELS, deepest=DEEPEST,
        feedbacks=FEEDBACK, shows=SHOW_WORDS, labelled=labelled, endings=CHOSEN,
        category_name=query.category if named is None else named.name,
        category_path=path_of(me.desk, query.category),
        job=None if job is None or job.state == DONE else job,
        status_code=400 if wrong else 200,
        background=None if query.q else BackgroundTask(warm, opening),
    )  # fmt: skip


@pages.get("/documents{ending}")
def chosen_file(
    me: Reader, ending: str, query: Annotated[SearchAddress, Query()]
) -> FileResponse:
    """All documents that the query describes and the filters leave, as a file."""
    ids = all_answers(me.desk, query.q, query.filters())
    return fields.sent_once(*download_chosen(me.desk, ids, ending))


class LabelForm(BaseModel):
    """Documents of a list, the category that they get, and the list's address."""

    ticked: list[str] = Field(default_factory=list)
    label: str = ""
    everything: bool = False
    back: str = Field("", max_length=10_000)


@pages.post("/label")
def label_form(me: Classifier, form: Annotated[LabelForm, Form()]) -> RedirectResponse:
    """Put the ticked documents, or all that were found, into a category."""
    query, ids = _search_at(form.back), form.ticked
    if form.everything:
        ids = all_answers(me.desk, query.q, query.filters(), AT_ONCE)
    done = label_all(me.desk, ids, category_named(me.desk, form.label), me.name)
    number, notice = str(done.number), labelling_notice(done)
    return redirect("/search", **query.chosen, labelled=number, saved=notice)


@pages.post("/undo")
def undo_form(
    me: Classifier,
    number: Annotated[int, Form(ge=1, le=fields.LARGEST)],
    back: FormText = "",
) -> RedirectResponse:
    """Take back what labelled many documents at once."""
    saved = undo_for(me.desk, me.name, number)
    query = _search_at(back)
    return redirect("/search", **query.chosen, saved=words_of("undo", saved))


def _search_at(back: str) -> SearchAddress:
    """The search of an address, as ``SearchAddress.at`` wrote it."""
    values = dict(parse_qsl(back.partition("?")[2]))
    try:
        return SearchAddress.model_validate(values)
    except ValidationError as error:
        raise refusal("the list's address cannot be read: search again") from error


@pages.get("/jobs")
def job_part(me: Reader, query: Annotated[SearchAddress, Query()]) -> HTMLResponse:
    """How far the indexing is: a piece of the page."""
    job = me.desk.jobs.last(JOB)
    return fragment(
        "search_job.html", job=job, standing=search_state(me.desk), query=query,
        csrf=me.request.state.csrf, may_decide=me.may("classifier"),
    )  # fmt: skip


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
    page: Annotated[int, Field(ge=1, le=DEEPEST)] = 1
    category: Annotated[str, Field(max_length=1000, pattern=fields.NO_NUL)] = Field(
        "", description="answers are in it or below"
    )
    show: Shows = "all"
    since: Short = Field("", description="the first date", examples=["2024-05-01"])
    until: Short = Field("", description="the last date", examples=["2024"])
    field: Short = Field("", description="where the words must stand")


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
    labels: list[tuple[str, str]] = Field(description="its categories, id and name")


fields.answer(Facet)


class Hits(fields.CallAnswer, of=SearchResults):
    """What was found; impression : its number in the log, null: nothing is kept.

    meaning : whether it counted beside words;  total : of all documents that the query
    describes and the filters leave;  facets : their categories;  meant : the query as
    it may be meant, empty where its words are there.
    """

    hits: list[Hit]
    note: str
    impression: int | None
    ranker: int | None
    meaning: bool
    total: int | None
    facets: list[Facet]
    meant: str


@api.post("/search")
def search(me: Reader, body: SearchBody) -> SearchResults:
    """Search the documents, best first."""
    options = QueryOptions(
        body.model, fields.typed(body.parameters), body.top, body.feedback, body.prior,
        weights=fields.typed(body.weights), ranker=body.ranker,
        hybrid=body.hybrid, page=body.page,
        filters=SearchFilters(
            body.category, body.show, body.since, body.until, body.field
        ),
    )  # fmt: skip
    return search_desk(me.desk, body.query, options, me.name)


class LabelBody(fields.Body):
    """Documents, and the category that they get together."""

    documents: fields.Ids
    category: fields.Id


fields.answer(GroupLabelled)


@api.post("/label", responses=fields.MISSING)
def label(me: Classifier, body: LabelBody) -> GroupLabelled:
    """Put documents into a category as one group, which one undo takes back."""
    for document in body.documents:
        fields.require_document(me.desk, document)
    category = category_named(me.desk, body.category)
    return label_all(me.desk, body.documents, category, me.name)


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
