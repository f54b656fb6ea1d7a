"""Find by example: searches that learn from documents marked yes and no."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from pydantic import BaseModel, BeforeValidator, Field
from starlette.background import BackgroundTask

from classmark.examples.screening import StoppingRule
from classmark.language import N_, _, general, ngettext
from classmark.problems import Mistake, refusal
from classmark.web import fields
from classmark.web.decide import words_of
from classmark.web.guard.auth import Caller, Classifier, Reader
from classmark.web.guard.errors import or_missing, warm
from classmark.web.render import page, redirect
from classmark.web.wording import labelling_notice
from classmark.workbench.deciding.decide import undo_for
from classmark.workbench.deciding.together import category_named, label_all
from classmark.workbench.examples import open_searches, searches
from classmark.workbench.examples.example_search import ScoreReasons, SearchView
from classmark.workbench.examples.like import SearchStart, ids_of
from classmark.workbench.examples.open_searches import BeingRead
from classmark.workbench.examples.searches import (
    MarkAct,
    MarkedMeanwhile,
    SearchSummary,
)
from classmark.workbench.files.exporting import kept_until_sent
from classmark.workbench.team import plots
from classmark.workbench.team.desk import Desk

pages = APIRouter(prefix="/like")
api = fields.calls("like")

HERE = "Find by example"
FEW_DOCUMENTS, FIRST_TARGET = 1000, 80.0  # where proof costs most of the reading
MANAGED = {
    "rename": N_("renamed: %(name)s"),
    "delete": N_("deleted: %(name)s"),
    "restore": N_("restored: %(name)s"),
}
METHODS = (
    "auto", "rocchio", "centroid", "one-class", "two-class", "balanced",
    "precision-recall", "precision@k", "recall@k", "biased",
)  # fmt: skip
ENDINGS = (".csv", ".jsonl", ".run", ".ris", ".bib", ".tsv")


def _blank(value: Any) -> Any:
    return None if value == "" else value


T = TypeVar("T")
Chosen = Annotated[T | None, BeforeValidator(_blank)]
Positive = Annotated[int, Field(ge=1, le=fields.LARGEST)]


class QueryParams(BaseModel):
    """Parameters of the learned query besides its method, those that are chosen."""

    k: Chosen[Positive] = Field(
        default=None,
        description="of precision@k and recall@k; else the number of examples",
    )
    sample: Chosen[Positive] = Field(
        default=None,
        description="how many of the other documents to learn from; else all",
    )
    kernel: Chosen[Literal["linear", "polynomial", "rbf"]] = None
    gamma: Chosen[Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default=None, description="of rbf and polynomial; else 1"
    )
    degree: Chosen[Annotated[int, Field(ge=1, le=100)]] = Field(
        default=None, description="of polynomial; else 2"
    )
    coef0: Chosen[Annotated[float, Field(allow_inf_nan=False)]] = Field(
        default=None, description="of polynomial; else 1"
    )

    def chosen(self) -> dict[str, Any]:
        """Those that are not left out."""
        values = {name: getattr(self, name) for name in QueryParams.model_fields}
        return {name: value for name, value in values.items() if value is not None}


def offered_target(desk: Desk) -> float:
    """The recall to go for first, in percent: a lower one in a small collection."""
    return FIRST_TARGET if len(desk.state.ids) < FEW_DOCUMENTS else 95.0


class SearchForm(QueryParams):
    """What a search is to begin with, as the form has it."""

    name: str = ""
    examples: str = ""
    ticked: list[str] = Field(default_factory=list)
    text: str = ""
    category: str = ""
    goal: str = "some"
    method: str = "auto"
    target: float = 95.0
    error: float = 5.0

    def as_start(self, desk: Desk) -> SearchStart:
        """The same, as the workbench takes it."""
        ids = _ids_in(desk, self.examples.strip() and self.examples)
        rule = StoppingRule(self.target / 100, self.error / 100)
        return SearchStart(
            tuple(dict.fromkeys([*ids, *self.ticked])), (),
            {"text 1": self.text} if self.text.strip() else {},
            self.category.strip() or None, self.name, self.method,
            rule=rule if self.goal == "all" else None, params=self.chosen(),
        )  # fmt: skip


class ActForm(BaseModel):
    """What the forms of a search send: marks of documents, or a text of one's own.

    version : of the list that was answered;  k : how many documents it showed.
    """

    yes: list[str] = Field(default_factory=list)
    no: list[str] = Field(default_factory=list)
    skip: list[str] = Field(default_factory=list)
    examples: str = ""
    text: str = ""
    name: str = ""
    version: fields.Number | None = None
    k: fields.Number = open_searches.SHOWN

    def marks(self, desk: Desk) -> dict[str, MarkAct]:
        """Document → its mark; the last of two counts."""
        examples = _ids_in(desk, self.examples)
        marks: dict[str, MarkAct] = dict.fromkeys(examples, "example")
        marks |= dict.fromkeys(self.yes, "yes")
        marks |= dict.fromkeys(self.no, "no")
        marks |= dict.fromkeys(self.skip, "skip")
        return marks


@pages.get("")
def searches_page(me: Reader, example: str = "", category: str = "") -> HTMLResponse:
    """The searches there are, and a form that begins one."""
    target = offered_target(me.desk)
    form = SearchForm(examples=example, category=category, target=target)
    ahead = BackgroundTask(warm, partial(open_searches.warm_vectors, me.desk))
    return _form(me, form, background=ahead)


@pages.post("")
def begin_form(me: Classifier, form: Annotated[SearchForm, Form()]) -> Response:
    """Begin a search; where that cannot be, the form comes back as it was filled."""
    try:
        number = open_searches.begin_for(me.desk, me.name, form.as_start(me.desk))
    except Mistake as mistake:
        return _form(me, form, str(mistake), status_code=400)
    return redirect(f"/like/{number}", saved=_("started"))


@pages.get("/{number}")
def search_page(me: Reader, number: int, k: int = open_searches.SHOWN) -> HTMLResponse:
    """A search: its basket, what it learned, what it finds."""
    try:
        return _shown(me, number, k)
    except BeingRead:
        return page(me, HERE, "like_reading.html", desk=me.desk)


@pages.post("/{number}/target")
def target_form(
    me: Classifier, number: int, target: Annotated[float, Form()]
) -> Response:
    """Aim a screening at another share, in percent."""
    open_searches.set_target(me.desk, number, target / 100)
    return redirect(
        f"/like/{number}", saved=_("target: %(share)s %%", share=general(target))
    )


@pages.post("/{number}/manage")
def manage_form(
    me: Classifier,
    number: int,
    act: Annotated[open_searches.ManageAct, Form()],
    name: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Rename, delete or restore a saved search."""
    name = open_searches.manage(me.desk, number, act, name)
    back = f"/like/{number}" if act == "rename" else "/like"
    return redirect(back, saved=_(MANAGED[act], name=name))


@pages.get("/{number}/answered")
def answered_page(
    me: Reader,
    number: int,
    show: open_searches.AnswerFilter = "relevant",
    labelled: Annotated[int, Query(ge=0, le=fields.LARGEST)] = 0,
) -> HTMLResponse:
    """The documents that were answered so; labelled : the act that just did it."""
    ranking = open_searches.answered(me.desk, number, show)
    return page(
        me, HERE, "like_answered.html", title=ranking.search, ranking=ranking,
        number=number, show=show, shows=open_searches.SHOWS, labelled=labelled,
    )  # fmt: skip


@pages.get("/{number}/answered{ending}")
def answered_file(
    me: Reader, number: int, ending: str, show: open_searches.AnswerFilter = "relevant"
) -> FileResponse:
    """What a filter of the answers shows, as a file."""
    if ending not in ENDINGS[:-1]:
        raise refusal(
            "answered%(ending)s: use %(names)s",
            ending=ending,
            names=", ".join(ENDINGS[:-1]),
        )
    return _answered_file(me.desk, number, show, f"{show}{ending}")


@pages.post("/{number}/label")
def label_form(
    me: Classifier,
    number: int,
    label: Annotated[str, Form(max_length=1000)],
    show: Annotated[open_searches.AnswerFilter, Form()] = "relevant",
) -> Response:
    """Put the documents that were answered so into a category, as one group."""
    hits = open_searches.answered(me.desk, number, show).hits
    category = category_named(me.desk, label)
    done = label_all(me.desk, [hit.id for hit in hits], category, me.name)
    back, act = f"/like/{number}/answered", str(done.number)
    return redirect(back, show=show, labelled=act, saved=labelling_notice(done))


@pages.post("/{number}/unlabel")
def unlabel_form(
    me: Classifier,
    number: int,
    act: Annotated[int, Form(alias="number", ge=1, le=fields.LARGEST)],
    show: Annotated[open_searches.AnswerFilter, Form()] = "relevant",
) -> Response:
    """Take back what labelled them."""
    undone = undo_for(me.desk, me.name, act)
    back = f"/like/{number}/answered"
    return redirect(back, show=show, saved=words_of("undo", undone))


@pages.post("/{number}/{act}")
def act_form(
    me: Classifier,
    number: int,
    act: Literal["say", "text", "drop", "undo", "redo", "screen"],
    form: Annotated[ActForm, Form()],
) -> Response:
    """Mark documents, add or drop a text, undo, redo, or begin a screening."""
    saved = _("saved")
    match act:
        case "say":
            marks = form.marks(me.desk)
            try:
                open_searches.mark(me.desk, me.name, number, marks, form.version)
            except MarkedMeanwhile as mistake:
                return _shown(me, number, form.k, str(mistake), status_code=409)
        case "text":
            open_searches.add_text(me.desk, number, form.text)
        case "drop":
            open_searches.drop_text(me.desk, number, form.name)
        case "undo":
            undone = open_searches.undo(me.desk, me.name, number)
            saved = ngettext("%(n)s undone", "%(n)s undone", len(undone))
        case "redo":
            again = open_searches.undo(me.desk, me.name, number, redo=True)
            saved = ngettext("%(n)s redone", "%(n)s redone", len(again))
        case "screen":
            rule = StoppingRule(offered_target(me.desk) / 100)
            number = open_searches.screen(me.desk, me.name, number, rule)
            saved = _("started")
    more = str(form.k) if form.k > open_searches.SHOWN else ""
    return redirect(f"/like/{number}", saved=saved, k=more)


@pages.get("/{number}/why/{document:path}")
def why_page(me: Reader, number: int, document: str) -> HTMLResponse:
    """Every word's part of a document's score."""
    reasons = open_searches.explain(me.desk, number, document)
    return page(
        me, HERE, "like_why.html", title=reasons.title, reasons=reasons, number=number
    )


@pages.get("/{number}/found{ending}")
def found_file(me: Reader, number: int, ending: str) -> FileResponse:
    """What was found, as a file."""
    if ending not in ENDINGS:
        raise refusal(
            "found%(ending)s: use %(endings)s",
            ending=ending,
            endings=", ".join(ENDINGS),
        )
    return _file(me.desk, number, f"found{ending}")


def _form(
    me: Caller, form: SearchForm, wrong: str = "", **options: Any
) -> HTMLResponse:
    return page(
        me, HERE, "like.html", methods=METHODS, form=form, wrong=wrong,
        few=len(me.desk.state.ids) < FEW_DOCUMENTS,
        searches=searches.summaries(me.desk.store),
        deleted=searches.deleted_searches(me.desk.store), **options,
    )  # fmt: skip


def _shown(
    me: Caller, number: int, k: int, wrong: str = "", **options: Any
) -> HTMLResponse:
    k = min(max(k, 1), 200)
    basket = open_searches.show(me.desk, number, k)
    plot = None
    if basket.curve:
        all_ = basket.curve[-1].read + basket.documents
        plot = plots.recall(basket.curve, basket.stops, all_)
    return page(
        me, HERE, "like_search.html", title=basket.name, basket=basket, k=k,
        wrong=wrong, plot=plot, **options,
    )  # fmt: skip


def _ids_in(desk: Desk, text: str) -> list[str]:
    return list(ids_of([text], "examples", desk.store)) if text else []


def _file(desk: Desk, number: int, name: str, kind: str | None = None) -> FileResponse:
    path, remove = kept_until_sent(
        desk, name, lambda path: open_searches.write_hits(desk, number, path)
    )
    return fields.sent_once(path, remove, kind)


def _answered_file(
    desk: Desk,
    number: int,
    show: open_searches.AnswerFilter,
    name: str,
    kind: str | None = None,
) -> FileResponse:
    path, remove = kept_until_sent(
        desk, name, lambda path: open_searches.write_answered(desk, number, show, path)
    )
    return fields.sent_once(path, remove, kind)


READING: fields.Documented = {
    409: fields.error_answer("the documents are still being read")
}
THERE: fields.Documented = fields.MISSING | READING
Ending = Annotated[
    Literal["csv", "jsonl", "run", "ris", "bib", "tsv"], Query(alias="format")
]


def search_named(
    request: Request, number: Annotated[int, Path(ge=0, le=fields.LARGEST)]
) -> int:
    """The number of a search that there is, or 404."""
    with or_missing():
        searches.listed_search(request.app.state.desk.store, number)
    return number


SearchNumber = Annotated[int, Depends(search_named)]


class NewSearchBody(QueryParams, fields.Body):
    """What a search begins with: documents, texts of your own, or a category."""

    name: Annotated[str, Field(max_length=200)] = ""
    examples: fields.Ids = Field((), examples=[["a1", "a7"]])
    no: fields.Ids = ()
    texts: dict[fields.Id, fields.Text] = Field(
        {}, max_length=20, description="your own, by name"
    )
    category: Annotated[str, Field(max_length=1000)] = ""
    screening: bool = Field(False, description="go for nearly all of them")
    target: Annotated[float, Field(ge=0.01, lt=1)] = Field(
        0.95, description="of a screening: the share that is to be found"
    )
    error: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.05, description="of a screening: how often fewer may be found"
    )
    method: Annotated[str, Field(max_length=50)] = "auto"


class MarksBody(fields.Body):
    """Document → what it is."""

    marks: dict[fields.Id, MarkAct] = Field(
        min_length=1, max_length=1000, examples=[{"a1": "yes", "b2": "no"}]
    )


class OwnTextBody(fields.Body):
    """A text that is no document of the project."""

    text: fields.Text = Field(min_length=1)


fields.answer(SearchSummary, "method")
Searches = fields.listing(
    "Searches",
    "All searches by example, the one used last first.",
    searches=SearchSummary,
)


class Candidate(fields.CallAnswer):
    """A document that may be wanted; why : word, its part of the score."""

    rank: int
    id: str
    title: str
    why: list[fields.Weighed] = Field(validation_alias="largest_parts")
    score: float | None
    origin: str
    mark: str


fields.answer(
    SearchView,
    model_name="Basket",
    doc="""A search as it stands.

    words : the learned query, its heaviest words;  meaning : the share of the query
    that vectors of meaning have, 0 for words alone;  told : how far it is;  advice :
    whether to go on;  stop : it may stop;  stops : of a screening, about how many more
    are to be read to prove each share;  curve : its recall so far.
    """,
    found=Annotated[list[Candidate], Field(validation_alias="hits")],
    told=Annotated[list[str], Field(validation_alias="status")],
)


@api.get("/like", response_model=Searches)
def list_searches(me: Reader) -> Any:
    """All searches by example."""
    return {"searches": searches.summaries(me.desk.store)}


@api.post("/like", status_code=201, responses=READING)
def begin(me: Classifier, body: NewSearchBody, top: fields.Top = 20) -> SearchView:
    """Begin a search by examples, and rank the documents."""
    rule = StoppingRule(body.target, body.error)
    start = SearchStart(
        body.examples, body.no, body.texts, body.category or None, body.name,
        body.method, rule=rule if body.screening else None, params=body.chosen(),
    )  # fmt: skip
    number = open_searches.begin_for(me.desk, me.name, start)
    return open_searches.show(me.desk, number, top)


@api.get("/like/{number}", responses=THERE)
def read(me: Reader, number: SearchNumber, top: fields.Top = 20) -> SearchView:
    """A search as it stands, with what it finds next and the query it learned."""
    return open_searches.show(me.desk, number, top)


@api.post("/like/{number}/mark", responses=THERE)
def mark(
    me: Classifier, number: SearchNumber, body: MarksBody, top: fields.Top = 20
) -> SearchView:
    """Say which documents are wanted and which are not; the rest is ranked anew."""
    open_searches.mark(me.desk, me.name, number, body.marks)
    return open_searches.show(me.desk, number, top)


@api.post("/like/{number}/undo", responses=THERE)
def undo(me: Classifier, number: SearchNumber, top: fields.Top = 20) -> SearchView:
    """Take back what you marked last."""
    open_searches.undo(me.desk, me.name, number)
    return open_searches.show(me.desk, number, top)


@api.post("/like/{number}/redo", responses=THERE)
def redo(me: Classifier, number: SearchNumber, top: fields.Top = 20) -> SearchView:
    """Bring back what you took back last."""
    open_searches.undo(me.desk, me.name, number, redo=True)
    return open_searches.show(me.desk, number, top)


@api.post("/like/{number}/texts", responses=THERE)
def add_text(
    me: Classifier, number: SearchNumber, body: OwnTextBody, top: fields.Top = 20
) -> SearchView:
    """Put a text of your own into the basket."""
    open_searches.add_text(me.desk, number, body.text)
    return open_searches.show(me.desk, number, top)


@api.delete("/like/{number}/texts/{name}", responses=THERE)
def drop_text(
    me: Classifier, number: SearchNumber, name: fields.InPath, top: fields.Top = 20
) -> SearchView:
    """Take a text of your own out of the basket."""
    open_searches.drop_text(me.desk, number, name)
    return open_searches.show(me.desk, number, top)


@api.post("/like/{number}/screen", status_code=201, responses=THERE)
def screen(me: Classifier, number: SearchNumber, top: fields.Top = 20) -> SearchView:
    """Begin a screening, for nearly all of them, with what a search knows."""
    return open_searches.show(
        me.desk, open_searches.screen(me.desk, me.name, number), top
    )


class TargetBody(fields.Body):
    """The share of the relevant documents that is wanted from now on."""

    target: Annotated[float, Field(ge=0.01, lt=1)]


@api.put("/like/{number}/target", responses=THERE)
def target(
    me: Classifier, number: SearchNumber, body: TargetBody, top: fields.Top = 20
) -> SearchView:
    """Aim a screening at another share; what was proved stays proved."""
    open_searches.set_target(me.desk, number, body.target)
    return open_searches.show(me.desk, number, top)


class RenameBody(fields.Body):
    """The name that a search is to have."""

    name: Annotated[str, Field(min_length=1, max_length=200)]


@api.patch("/like/{number}", responses=THERE)
def rename(me: Classifier, number: SearchNumber, body: RenameBody) -> SearchView:
    """Give a saved search another name."""
    open_searches.manage(me.desk, number, "rename", body.name)
    return open_searches.show(me.desk, number)


@api.delete("/like/{number}", status_code=204, responses=fields.MISSING)
def delete(me: Classifier, number: SearchNumber) -> None:
    """Delete a saved search; its answers stay, so that it can be restored."""
    open_searches.manage(me.desk, number, "delete")


@api.post("/like/{number}/restore", responses=THERE)
def restore(
    me: Classifier, number: Annotated[int, Path(ge=0, le=fields.LARGEST)]
) -> SearchView:
    """Restore a search that was deleted."""
    with or_missing():
        searches.search_by_number(me.desk.store, number)
    open_searches.manage(me.desk, number, "restore")
    return open_searches.show(me.desk, number)


@api.get(
    "/like/{number}/answered",
    response_class=FileResponse,
    responses=fields.FILE | READING,
)
def answered(
    me: Reader,
    number: SearchNumber,
    show: open_searches.AnswerFilter = "relevant",
    form: Ending = "csv",
) -> FileResponse:
    """The documents that were answered so, as a file."""
    return _answered_file(me.desk, number, show, f"{show}.{form}", fields.BYTES)


@api.get(
    "/like/{number}/found", response_class=FileResponse, responses=fields.FILE | READING
)
def found(me: Reader, number: SearchNumber, form: Ending = "csv") -> FileResponse:
    """What was found, as a file; tsv : the words of the learned query."""
    return _file(me.desk, number, f"found.{form}", fields.BYTES)


@api.get("/like/{number}/why/{document:path}", responses=THERE)
def why(me: Reader, number: SearchNumber, document: fields.InPath) -> ScoreReasons:
    """Why a document has its score."""
    fields.require_document(me.desk, document)
    return open_searches.explain(me.desk, number, document)
