"""The first steps in an empty project: documents, categories, the first decision."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field

from classmark.language import _, ngettext
from classmark.web.guard.auth import Admin, Caller, Reader
from classmark.web.render import page, redirect
from classmark.workbench.categories.outline import (
    add_outline,
    read_outline,
    with_ids,
)
from classmark.workbench.files.pasting import paste_documents

pages = APIRouter(prefix="/start")

Outline = Annotated[str, Field(max_length=500_000)]


class OutlineForm(BaseModel):
    """An indented list of categories; id : of each, in its order; none: derived."""

    outline: Outline = ""
    id: Annotated[tuple[str, ...], Field(max_length=5000)] = ()


@pages.get("")
def start_page(me: Reader) -> HTMLResponse:
    """The three steps, and how far they are."""
    return _shown(me)


@pages.post("/documents")
def paste_form(
    me: Admin,
    text: Annotated[str, Form(max_length=2_000_000)] = "",
    between: Annotated[Literal["blank", "line"], Form()] = "blank",
) -> RedirectResponse:
    """Make documents of pasted text."""
    count = paste_documents(me.desk, text, me.name, by_line=between == "line")
    return redirect(
        "/start", saved=ngettext("%(n)s document added", "%(n)s documents added", count)
    )


@pages.post("/categories")
def preview_form(me: Admin, form: Annotated[OutlineForm, Form()]) -> HTMLResponse:
    """The categories of a list with the ids they would get, which can be changed."""
    lines = read_outline(form.outline, me.desk.categories)
    return _shown(me, lines=lines, outline=form.outline)


@pages.post("/categories/add")
def add_form(me: Admin, form: Annotated[OutlineForm, Form()]) -> RedirectResponse:
    """Add the categories of a list."""
    lines = read_outline(form.outline, me.desk.categories)
    if form.id:
        lines = with_ids(lines, [id_.strip() for id_ in form.id])
    add_outline(me.desk, lines, me.name)
    saved = ngettext("%(n)s category added", "%(n)s categories added", len(lines))
    return redirect("/start", saved=saved)


def _shown(me: Caller, **values: object) -> HTMLResponse:
    desk = me.desk
    return page(
        me, "Decide", "start.html", title=_("Start"), documents=len(desk.state.ids),
        categories=len(desk.categories), decided=len(desk.state.labels),
        **{"lines": (), "outline": "", **values},
    )  # fmt: skip
