"""Search: one box, snippets, what each word adds, and what was opened."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask

from classmark.problems import Mistake
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.web.rendering import page
from classmark.workbench.search import search_box

router = APIRouter(prefix="/search")
HERE = "Search"


class Asked(BaseModel):
    """A search, as the address has it."""

    q: str = Field("", max_length=4000)
    model: str = ""
    set: str = ""
    weights: str = ""
    feedback: str = ""
    prior: str = ""
    ranker: str = ""
    k: int = Field(10, ge=1, le=search_box.MOST)

    def as_wish(self) -> search_box.Wish:
        """The same, as the desk takes it."""
        return search_box.Wish(
            self.model or None, tuple(self.set.split()), self.k, self.feedback or None,
            self.prior or None, False, tuple(self.weights.split()), self.ranker or None,
        )  # fmt: skip

    @property
    def of_its_own(self) -> bool:
        """Whether more than words are asked for."""
        given = self.model, self.set, self.weights, self.feedback, self.prior
        return any(given) or bool(self.ranker) or self.k != 10


@router.get("")
def search(
    request: Request, desk: OpenDesk, who: Reader, asked: Annotated[Asked, Query()]
) -> HTMLResponse:
    """Find documents, best first."""
    found, wrong = None, ""
    standing = search_box.standing(desk)
    if asked.q.strip() and standing.ready:
        try:
            found = search_box.find(desk, asked.q, asked.as_wish(), who.name)
        except Mistake as mistake:
            wrong = str(mistake)
    shown = page(
        request, HERE, "search.html", title=asked.q or HERE, asked=asked, found=found,
        wrong=wrong, standing=standing, models=search_box.MODELS,
        feedbacks=search_box.FEEDBACK, job=_indexing(desk),
    )  # fmt: skip
    shown.status_code = 400 if wrong else 200
    shown.background = None if asked.q else BackgroundTask(search_box.warm, desk)
    return shown


@router.get("/open/{impression}/{document:path}")
def opened(
    desk: OpenDesk, _: Reader, impression: int, document: str
) -> RedirectResponse:
    """Go to a document, and keep that it was opened from this list."""
    search_box.click(desk, impression, document)
    return RedirectResponse(f"/decide/{quote(document, safe='')}", status_code=303)


@router.post("/index")
def index(
    desk: OpenDesk, who: Classifier, q: Annotated[str, Form()] = "",
    positions: Annotated[str, Form()] = "",
) -> RedirectResponse:  # fmt: skip
    """Make the index, or bring it up to date."""
    search_box.make_index(desk, who.name, positions=True if positions else None)
    return RedirectResponse(f"/search?q={quote(q)}", status_code=303)


def _indexing(desk: OpenDesk) -> object:
    return next(iter(desk.jobs.running(search_box.INDEXING)), None)
