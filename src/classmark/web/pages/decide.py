"""Decide: a document, its suggestions, and what the expert says."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from classmark.web.rendering import page
from classmark.workbench.deciding import Decision

router = APIRouter()
Several = Annotated[list[str], Form(default_factory=list)]


@router.get("/decide")
def first(request: Request) -> RedirectResponse:
    """Go to the next document that waits."""
    return _onward(request.app.state.desk.next(), "")


@router.get("/decide/{document:path}")
def show(request: Request, document: str) -> HTMLResponse:
    """Lay a document on the desk."""
    sheet = request.app.state.desk.open(document)
    return page(request, "Decide", "decide.html", title=sheet.title, sheet=sheet)


@router.post("/decide/{document:path}")
def say(
    request: Request,
    document: str,
    act: Annotated[str, Form()],
    assign: Several,
    primary: Several,
    reject: Several,
) -> RedirectResponse:
    """Write what was said, then show the next document."""
    desk = request.app.state.desk
    if act == "skip":
        return _onward(desk.next(document), "")
    decision = Decision(
        tuple(assign), tuple(primary), tuple(reject), aside=act == "unsure"
    )
    saved = desk.decide(document, decision, {}, "")
    return _onward(saved.next, f"saved {saved.number}")


def _onward(document: str | None, saved: str) -> RedirectResponse:
    where = "/inbox" if document is None else f"/decide/{quote(document, safe='')}"
    told = f"?saved={quote(saved)}" if saved else ""
    return RedirectResponse(where + told, status_code=303)
