"""Paste a text, and see which categories are suggested for it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from classmark.language import _
from classmark.problems import Mistake
from classmark.web import fields
from classmark.web.guard.auth import Caller, Reader
from classmark.web.render import page
from classmark.workbench.deciding.suggest import suggest

pages = APIRouter(prefix="/suggest")
WHY = 6  # words for and against each category


class PasteForm(BaseModel):
    """A text, and how many categories to suggest for it."""

    text: fields.Text = ""
    top: Annotated[int, Field(ge=1, le=50)] = 5


@pages.get("")
def suggest_page(me: Reader) -> HTMLResponse:
    """An empty box for a text."""
    return _page(me, PasteForm())


@pages.post("")
def suggest_form(me: Reader, form: Annotated[PasteForm, Form()]) -> HTMLResponse:
    """The categories suggested for a text; nothing is written."""
    return _page(me, form, asked=True)


def _page(me: Caller, form: PasteForm, *, asked: bool = False) -> HTMLResponse:
    suggestions, wrong = [], ""
    if asked:
        try:
            suggestions = suggest(me.desk, form.text, form.top, WHY)
        except Mistake as mistake:
            wrong = str(mistake)
    return page(
        me, "Search", "suggest.html", title=_("Suggestions for a text"), form=form,
        suggestions=suggestions, wrong=wrong, asked=asked,
        status_code=400 if wrong else 200,
    )  # fmt: skip
