"""Decide: a document, its suggestions, and what the expert says."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.web.rendering import page
from classmark.workbench.deciding import Decision
from classmark.workbench.desk.deciding import decide_on, next_for
from classmark.workbench.desk.sheets import lay_out

router = APIRouter()
Several = Annotated[list[str], Form(default_factory=list)]


@router.get("/decide")
def first(desk: OpenDesk, _: Reader) -> RedirectResponse:
    """Go to the next document that waits."""
    return _onward(next_for(desk), "")


@router.get("/decide/{document:path}")
def show(request: Request, desk: OpenDesk, _: Reader, document: str) -> HTMLResponse:
    """Lay a document on the desk."""
    sheet = lay_out(desk, document)
    return page(request, "Decide", "decide.html", title=sheet.title, sheet=sheet)


@router.post("/decide/{document:path}")
def say(
    desk: OpenDesk,
    who: Classifier,
    document: str,
    act: Annotated[str, Form()],
    assign: Several,
    primary: Several,
    reject: Several,
) -> RedirectResponse:
    """Write what was said, then show the next document."""
    if act == "skip":
        return _onward(next_for(desk, document), "")
    decision = Decision(
        tuple(assign), tuple(primary), tuple(reject), aside=act == "unsure"
    )
    saved = decide_on(desk, document, decision, {}, who.name)
    return _onward(saved.next, f"saved {saved.number}")


def _onward(document: str | None, saved: str) -> RedirectResponse:
    where = "/inbox" if document is None else f"/decide/{quote(document, safe='')}"
    told = f"?saved={quote(saved)}" if saved else ""
    return RedirectResponse(where + told, status_code=303)
