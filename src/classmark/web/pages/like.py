"""Find by example: a basket of examples, what it finds, yes and no."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask

from classmark.problems import Mistake
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.web.rendering import page
from classmark.workbench.examples import team_search
from classmark.workbench.examples.like import ids_of
from classmark.workbench.examples.open_searches import BeingRead
from classmark.workbench.examples.screening import StoppingRule
from classmark.workbench.examples.searches import Said
from classmark.workbench.files.exporting import kept_until_sent

router = APIRouter(prefix="/like")
HERE = "Find by example"
METHODS = (
    "auto", "rocchio", "centroid", "one-class", "two-class", "balanced",
    "precision-recall", "precision@k", "recall@k", "biased",
)  # fmt: skip
ENDINGS = (".csv", ".jsonl", ".run", ".ris", ".bib", ".tsv")
Several = Annotated[list[str], Form(default_factory=list)]
Text = Annotated[str, Form()]


class Asked(BaseModel):
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

    def as_wanted(self, desk: OpenDesk) -> team_search.Wanted:
        """The same, as the desk takes it."""
        store = desk.project.store
        ids = (
            ids_of([self.examples], store, "examples") if self.examples.strip() else ()
        )
        return team_search.Wanted(
            self.name, tuple(dict.fromkeys([*ids, *self.ticked])), (),
            {"text 1": self.text} if self.text.strip() else {}, self.category.strip(),
            self.goal == "all", StoppingRule(self.target / 100, self.error / 100),
            self.method,
        )  # fmt: skip


@router.get("")
def listed(
    request: Request, desk: OpenDesk, _: Reader, example: str = "", category: str = ""
) -> HTMLResponse:
    """The searches there are, and a form that begins one."""
    shown = _form(request, desk, Asked(examples=example, category=category))
    shown.background = BackgroundTask(team_search.warm, desk)
    return shown


@router.post("", response_model=None)
def begin(
    request: Request, desk: OpenDesk, who: Classifier, wanted: Annotated[Asked, Form()]
) -> RedirectResponse | HTMLResponse:
    """Begin a search; where that cannot be, the form comes back as it was filled."""
    try:
        number = team_search.begin(desk, who.name, wanted.as_wanted(desk))
    except Mistake as mistake:
        return _form(request, desk, wanted, str(mistake))
    return _back(number, "begun")


def _form(
    request: Request, desk: OpenDesk, asked: Asked, wrong: str = ""
) -> HTMLResponse:
    shown = page(
        request, HERE, "like.html", methods=METHODS, asked=asked, wrong=wrong,
        searches=team_search.searches(desk),
    )  # fmt: skip
    shown.status_code = 400 if wrong else 200
    return shown


@router.get("/{number}")
def show(
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


@router.post("/{number}/say")
def say(
    desk: OpenDesk, who: Classifier, number: int,
    yes: Several, no: Several, skip: Several, examples: Text = "",
) -> RedirectResponse:  # fmt: skip
    """Say yes or no to documents."""
    given = ids_of([examples], desk.project.store, "examples") if examples else ()
    said: dict[str, Said] = dict.fromkeys(given, "example")
    said |= dict.fromkeys(yes, "yes")
    said |= dict.fromkeys(no, "no")
    said |= dict.fromkeys(skip, "skip")
    team_search.say(desk, who.name, number, said)
    return _back(number, "saved")


@router.post("/{number}/text")
def add_text(
    desk: OpenDesk, _: Classifier, number: int, text: Text
) -> RedirectResponse:
    """Put a text of one's own into the basket."""
    team_search.add_text(desk, number, text)
    return _back(number, "saved")


@router.post("/{number}/drop")
def drop_text(
    desk: OpenDesk, _: Classifier, number: int, name: Text
) -> RedirectResponse:
    """Take a text out of the basket."""
    team_search.drop_text(desk, number, name)
    return _back(number, "saved")


@router.post("/{number}/undo")
def undo(desk: OpenDesk, who: Classifier, number: int) -> RedirectResponse:
    """Take back what was said last."""
    back = team_search.undo(desk, who.name, number)
    return _back(number, f"{len(back)} taken back")


@router.post("/{number}/redo")
def redo(desk: OpenDesk, who: Classifier, number: int) -> RedirectResponse:
    """Bring back what was taken back last."""
    again = team_search.redo(desk, who.name, number)
    return _back(number, f"{len(again)} brought back")


@router.post("/{number}/screen")
def screen(desk: OpenDesk, who: Classifier, number: int) -> RedirectResponse:
    """Begin a screening with what this search knows."""
    return _back(team_search.screen(desk, who.name, number), "begun")


@router.get("/{number}/why/{document:path}")
def why(
    request: Request, desk: OpenDesk, _: Reader, number: int, document: str
) -> HTMLResponse:
    """Every word's part of a document's score."""
    told = team_search.explain(desk, number, document)
    return page(
        request, HERE, "like_why.html", title=told.title, told=told, number=number
    )


@router.get("/{number}/found{ending}")
def found(desk: OpenDesk, _: Reader, number: int, ending: str) -> FileResponse:
    """What was found, as a file."""
    if ending not in ENDINGS:
        raise Mistake(f"found{ending}: use {', '.join(ENDINGS)}")
    name = f"found{ending}"
    path, remove = kept_until_sent(
        desk, name, lambda path: team_search.write_found(desk, number, path)
    )
    return FileResponse(path, filename=name, background=BackgroundTask(remove))


def _back(number: int, said: str) -> RedirectResponse:
    return RedirectResponse(f"/like/{number}?saved={said}", status_code=303)
