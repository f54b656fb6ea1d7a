"""Decide: a document, its suggestions, and what the expert says."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.background import BackgroundTask

from classmark.problems import Mistake
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.web.readings import both_decisions, on_the_page
from classmark.web.rendering import fragment, page
from classmark.web.statements import ACTS, Reading, Statement, waiting, words_of
from classmark.workbench.deciding.decide import Conflict
from classmark.workbench.deciding.sheet import choice_of, lay_out
from classmark.workbench.deciding.similar import alike, nearly_same
from classmark.workbench.team.desk import Desk

router = APIRouter()


@router.get("/decide")
def first(
    request: Request, desk: OpenDesk, who: Reader, reading: Reading = ""
) -> Response:
    """Go to the next document that waits."""
    document = waiting(desk, who.name, reading)
    if document is not None:
        return _to(document, reading)
    return page(
        request, "Decide", "decide_done.html", title="Nothing waits", reading=reading
    )


@router.get("/decide/{document:path}")
def show(
    request: Request,
    desk: OpenDesk,
    who: Reader,
    document: str,
    reading: Reading = "",
) -> HTMLResponse:
    """Lay a document on the desk."""
    sheet = lay_out(desk, document, who.name, blind=reading == "second")
    shown = page(
        request, "Decide", "decide.html", title=sheet.title, sheet=sheet,
        reading=reading, **on_the_page(desk, sheet, reading),
    )  # fmt: skip
    if not reading:
        shown.background = BackgroundTask(_lay_out_next, desk, who.name, document)
    return shown


@router.post("/decide/{document:path}")
def say(
    request: Request,
    desk: OpenDesk,
    who: Classifier,
    document: str,
    said: Annotated[Statement, Form()],
) -> Response:
    """Write what was said, then show the next document."""
    try:
        saved = ACTS[said.act](desk, document, said, who.name)
    except Conflict as conflict:
        return both_decisions(request, desk, who, conflict)
    onward = saved.next
    if said.act == "note":
        onward = document
    elif said.reading and said.act not in ("undo", "redo"):
        onward = waiting(desk, who.name, said.reading, document)
    return _to(onward, said.reading, words_of(said.act, saved))


@router.get("/choice")
def choice(desk: OpenDesk, _: Reader, document: str, category: str) -> HTMLResponse:
    """What there is to know of a category that was added to the list."""
    if category not in desk.categories:
        raise Mistake(f"there is no category {category!r}: search for another")
    found = choice_of(desk, document, category)
    return fragment("decide_part.html", choice=found)


@router.get("/alike")
def similar(desk: OpenDesk, _: Reader, document: str) -> HTMLResponse:
    """The documents most like one."""
    return fragment("decide_alike.html", found=alike(desk, document))


@router.get("/twins")
def twins(desk: OpenDesk, _: Reader, document: str) -> HTMLResponse:
    """The documents that are nearly the same as one; nothing where none is."""
    return fragment("decide_twins.html", found=nearly_same(desk, document))


def _lay_out_next(desk: Desk, who: str, document: str) -> None:
    after = waiting(desk, who, "", document)
    if after is not None:
        desk.prefetch(who, after)


def _to(document: str | None, reading: Reading, saved: str = "") -> RedirectResponse:
    where = "/decide" if document is None else f"/decide/{quote(document, safe='')}"
    told = urlencode({k: v for k, v in (("reading", reading), ("saved", saved)) if v})
    return RedirectResponse(f"{where}?{told}" if told else where, status_code=303)
