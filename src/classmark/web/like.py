"""Find by example: searches that learn from documents marked yes and no."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask

from classmark.problems import Mistake
from classmark.web.fields import (
    BYTES,
    FILE,
    LARGEST,
    MISSING,
    Body,
    Documented,
    Id,
    Ids,
    InPath,
    Text,
    Top,
    answer,
    calls,
    listing,
    refusal,
    require_document,
    sent_once,
)
from classmark.web.guard.auth import Classifier, OpenDesk, Reader
from classmark.web.guard.errors import or_missing
from classmark.web.render import page, redirect
from classmark.workbench.examples import team_search
from classmark.workbench.examples.example_search import Reasons
from classmark.workbench.examples.like import ids_of
from classmark.workbench.examples.open_searches import (
    Basket,
    BeingRead,
    Candidate,
    Saved,
    search_of,
)
from classmark.workbench.examples.screening import StoppingRule
from classmark.workbench.examples.searches import Said
from classmark.workbench.files.exporting import kept_until_sent
from classmark.workbench.team.desk import Desk

pages = APIRouter(prefix="/like")
api = calls("like")

HERE = "Find by example"
METHODS = (
    "auto", "rocchio", "centroid", "one-class", "two-class", "balanced",
    "precision-recall", "precision@k", "recall@k", "biased",
)  # fmt: skip
ENDINGS = (".csv", ".jsonl", ".run", ".ris", ".bib", ".tsv")
Several = Annotated[list[str], Form(default_factory=list)]
FormText = Annotated[str, Form()]


class SearchForm(BaseModel):
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

    def as_wanted(self, desk: Desk) -> team_search.Wanted:
        """The same, as the workbench takes it."""
        ids = _ids_in(desk, self.examples.strip() and self.examples)
        return team_search.Wanted(
            self.name, tuple(dict.fromkeys([*ids, *self.ticked])), (),
            {"text 1": self.text} if self.text.strip() else {}, self.category.strip(),
            self.goal == "all", StoppingRule(self.target / 100, self.error / 100),
            self.method,
        )  # fmt: skip


@pages.get("")
def searches_page(
    request: Request, desk: OpenDesk, _: Reader, example: str = "", category: str = ""
) -> HTMLResponse:
    """The searches there are, and a form that begins one."""
    shown = _form(request, desk, SearchForm(examples=example, category=category))
    shown.background = BackgroundTask(team_search.warm, desk)
    return shown


@pages.post("", response_model=None)
def begin_form(
    request: Request,
    desk: OpenDesk,
    who: Classifier,
    form: Annotated[SearchForm, Form()],
) -> RedirectResponse | HTMLResponse:
    """Begin a search; where that cannot be, the form comes back as it was filled."""
    try:
        number = team_search.begin(desk, who.name, form.as_wanted(desk))
    except Mistake as mistake:
        return _form(request, desk, form, str(mistake))
    return _back(number, "begun")


@pages.get("/{number}")
def search_page(
    request: Request, desk: OpenDesk, _: Reader, number: int, k: int = team_search.SHOWN
) -> HTMLResponse:
    """A search: its basket, what it learned, what it finds."""
    k = min(max(k, 1), 200)
    try:
        basket = team_search.show(desk, number, k)
    except BeingRead as reading:
        return page(request, HERE, "like_reading.html", said=str(reading), desk=desk)
    return page(
        request, HERE, "like_search.html", title=basket.name, basket=basket, k=k
    )


@pages.post("/{number}/say")
def mark_form(
    desk: OpenDesk, who: Classifier, number: int,
    yes: Several, no: Several, skip: Several, examples: FormText = "",
) -> RedirectResponse:  # fmt: skip
    """Say yes or no to documents."""
    marks: dict[str, Said] = dict.fromkeys(_ids_in(desk, examples), "example")
    marks |= dict.fromkeys(yes, "yes")
    marks |= dict.fromkeys(no, "no")
    marks |= dict.fromkeys(skip, "skip")
    team_search.say(desk, who.name, number, marks)
    return _back(number, "saved")


@pages.post("/{number}/text")
def add_text_form(
    desk: OpenDesk, _: Classifier, number: int, text: FormText
) -> RedirectResponse:
    """Put a text of one's own into the basket."""
    team_search.add_text(desk, number, text)
    return _back(number, "saved")


@pages.post("/{number}/drop")
def drop_text_form(
    desk: OpenDesk, _: Classifier, number: int, name: FormText
) -> RedirectResponse:
    """Take a text out of the basket."""
    team_search.drop_text(desk, number, name)
    return _back(number, "saved")


@pages.post("/{number}/undo")
def undo_form(desk: OpenDesk, who: Classifier, number: int) -> RedirectResponse:
    """Take back what was said last."""
    marks = team_search.undo(desk, who.name, number)
    return _back(number, f"{len(marks)} taken back")


@pages.post("/{number}/redo")
def redo_form(desk: OpenDesk, who: Classifier, number: int) -> RedirectResponse:
    """Bring back what was taken back last."""
    marks = team_search.redo(desk, who.name, number)
    return _back(number, f"{len(marks)} brought back")


@pages.post("/{number}/screen")
def screen_form(desk: OpenDesk, who: Classifier, number: int) -> RedirectResponse:
    """Begin a screening with what this search knows."""
    return _back(team_search.screen(desk, who.name, number), "begun")


@pages.get("/{number}/why/{document:path}")
def why_page(
    request: Request, desk: OpenDesk, _: Reader, number: int, document: str
) -> HTMLResponse:
    """Every word's part of a document's score."""
    reasons = team_search.explain(desk, number, document)
    return page(
        request, HERE, "like_why.html", title=reasons.title, told=reasons, number=number
    )


@pages.get("/{number}/found{ending}")
def found_file(desk: OpenDesk, _: Reader, number: int, ending: str) -> FileResponse:
    """What was found, as a file."""
    if ending not in ENDINGS:
        raise Mistake(f"found{ending}: use {', '.join(ENDINGS)}")
    return _file(desk, number, f"found{ending}")


def _form(
    request: Request, desk: Desk, form: SearchForm, wrong: str = ""
) -> HTMLResponse:
    shown = page(
        request, HERE, "like.html", methods=METHODS, asked=form, wrong=wrong,
        searches=team_search.searches(desk),
    )  # fmt: skip
    shown.status_code = 400 if wrong else 200
    return shown


def _ids_in(desk: Desk, text: str) -> list[str]:
    return list(ids_of([text], desk.project.store, "examples")) if text else []


def _file(desk: Desk, number: int, name: str, kind: str | None = None) -> FileResponse:
    path, remove = kept_until_sent(
        desk, name, lambda path: team_search.write_found(desk, number, path)
    )
    return sent_once(path, remove, kind)


def _back(number: int, saved: str) -> RedirectResponse:
    return redirect(f"/like/{number}", saved=saved)


READING: Documented = {409: refusal("the documents are still being read")}
THERE: Documented = MISSING | READING
Mark = Literal["example", "yes", "no", "skip"]
Ending = Annotated[
    Literal["csv", "jsonl", "run", "ris", "bib", "tsv"], Query(alias="format")
]


def search_named(desk: OpenDesk, number: Annotated[int, Path(ge=0, le=LARGEST)]) -> int:
    """The number of a search that there is, or 404."""
    with or_missing():
        search_of(desk.project, number)
    return number


SearchNumber = Annotated[int, Depends(search_named)]


class NewSearchBody(Body):
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


class MarksBody(Body):
    """Document → what it is."""

    marks: dict[Id, Mark] = Field(
        min_length=1, max_length=1000, examples=[{"a1": "yes", "b2": "no"}]
    )


class OwnTextBody(Body):
    """A text that is no document of the project."""

    text: Text = Field(min_length=1)


Searches = listing(
    "Searches", "All searches by example, the one used last first.", searches=Saved
)
answer(Candidate, "text")
BasketAnswer = answer(Basket)
ReasonsAnswer = answer(Reasons)


@api.get("/like", response_model=Searches)
def list_searches(desk: OpenDesk, _: Reader) -> Any:
    """All searches by example."""
    return {"searches": team_search.searches(desk)}


@api.post("/like", status_code=201, responses=READING, response_model=BasketAnswer)
def begin(
    desk: OpenDesk, who: Classifier, body: NewSearchBody, top: Top = 20
) -> Basket:
    """Begin a search by examples, and rank the documents."""
    wanted = team_search.Wanted(
        body.name, tuple(body.examples), tuple(body.no), body.texts, body.category,
        body.screening, StoppingRule(body.target, body.error), body.method,
    )  # fmt: skip
    return team_search.show(desk, team_search.begin(desk, who.name, wanted), top)


@api.get("/like/{number}", responses=THERE, response_model=BasketAnswer)
def read(desk: OpenDesk, _: Reader, number: SearchNumber, top: Top = 20) -> Basket:
    """A search as it stands, with what it finds next and the query it learned."""
    return team_search.show(desk, number, top)


@api.post("/like/{number}/mark", responses=THERE, response_model=BasketAnswer)
def mark(
    desk: OpenDesk,
    who: Classifier,
    number: SearchNumber,
    body: MarksBody,
    top: Top = 20,
) -> Basket:
    """Say which documents are wanted and which are not; the rest is ranked anew."""
    team_search.say(desk, who.name, number, body.marks)
    return team_search.show(desk, number, top)


@api.post("/like/{number}/undo", responses=THERE, response_model=BasketAnswer)
def undo(
    desk: OpenDesk, who: Classifier, number: SearchNumber, top: Top = 20
) -> Basket:
    """Take back what you marked last."""
    team_search.undo(desk, who.name, number)
    return team_search.show(desk, number, top)


@api.post("/like/{number}/redo", responses=THERE, response_model=BasketAnswer)
def redo(
    desk: OpenDesk, who: Classifier, number: SearchNumber, top: Top = 20
) -> Basket:
    """Bring back what you took back last."""
    team_search.redo(desk, who.name, number)
    return team_search.show(desk, number, top)


@api.post("/like/{number}/texts", responses=THERE, response_model=BasketAnswer)
def add_text(
    desk: OpenDesk,
    _: Classifier,
    number: SearchNumber,
    body: OwnTextBody,
    top: Top = 20,
) -> Basket:
    """Put a text of your own into the basket."""
    team_search.add_text(desk, number, body.text)
    return team_search.show(desk, number, top)


@api.delete("/like/{number}/texts/{name}", responses=THERE, response_model=BasketAnswer)
def drop_text(
    desk: OpenDesk, _: Classifier, number: SearchNumber, name: InPath, top: Top = 20
) -> Basket:
    """Take a text of your own out of the basket."""
    team_search.drop_text(desk, number, name)
    return team_search.show(desk, number, top)


@api.post(
    "/like/{number}/screen",
    status_code=201,
    responses=THERE,
    response_model=BasketAnswer,
)
def screen(
    desk: OpenDesk, who: Classifier, number: SearchNumber, top: Top = 20
) -> Basket:
    """Begin a screening, for nearly all of them, with what a search knows."""
    return team_search.show(desk, team_search.screen(desk, who.name, number), top)


@api.get("/like/{number}/found", response_class=FileResponse, responses=FILE | READING)
def found(
    desk: OpenDesk, _: Reader, number: SearchNumber, form: Ending = "csv"
) -> FileResponse:
    """What was found, as a file; tsv : the words of the learned query."""
    return _file(desk, number, f"found.{form}", BYTES)


@api.get(
    "/like/{number}/why/{document:path}", responses=THERE, response_model=ReasonsAnswer
)
def why(desk: OpenDesk, _: Reader, number: SearchNumber, document: InPath) -> Reasons:
    """Why a document has its score."""
    require_document(desk, document)
    return team_search.explain(desk, number, document)
