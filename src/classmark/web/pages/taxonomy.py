"""Taxonomy: find, open, read and change the categories."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from classmark.web.people import Admin, OpenDesk, Reader
from classmark.web.rendering import fragment, page
from classmark.workbench.categories.browse import level_of, node_of, overview, tree_to
from classmark.workbench.categories.edit import TaxonomyChange, carry_out, foresee
from classmark.workbench.categories.find import find_categories
from classmark.workbench.deciding.decide import undo_for

router = APIRouter()
Asked = Annotated[str, Query(max_length=1000)]
Sent = Annotated[str, Form(max_length=1000)]
Said = Annotated[str | None, Form(max_length=20_000)]
SAID = ("note", "guideline", "notation", "synonyms")


@router.get("/taxonomy/find")
def find(
    request: Request,
    desk: OpenDesk,
    _: Reader,
    q: Annotated[str, Query(max_length=200)] = "",
    top: Annotated[int, Query(ge=1, le=100)] = 12,
    retired: bool = False,
) -> Response:
    """The categories that some words mean: as list items, or as JSON where asked."""
    found = find_categories(desk, q, top, retired=retired)
    if "json" in request.headers.get("accept", ""):
        return JSONResponse([asdict(one) for one in found])
    return fragment("taxonomy_found.html", found=found, words=q.strip())


@router.get("/taxonomy/branch")
def branch(
    desk: OpenDesk,
    _: Reader,
    of: Asked = "",
    after: Annotated[int, Query(ge=0, le=10**9)] = 0,
    back: bool = False,
) -> HTMLResponse:
    """The next daughters of a category; ``back`` : those before are shown then."""
    level = level_of(desk, of or None, after)
    return fragment("taxonomy_level.html", level=level, back=back)


@router.get("/taxonomy")
def show(
    request: Request, desk: OpenDesk, _: Reader, at: Asked = "", undo: Asked = ""
) -> HTMLResponse:
    """The tree, and one category or the whole in figures."""
    node = node_of(desk, at) if at else None
    values = {
        "title": "Taxonomy" if node is None else node.twig.category.name,
        "level": tree_to(desk, at or None),
        "node": node,
        "whole": None if at else overview(desk),
        "at": at,
        "undo": undo if undo.isdecimal() else "",
    }
    return page(request, "Taxonomy", "taxonomy.html", **values)


def wanted(
    act: Asked,
    category: Asked = "",
    to: Asked = "",
    new: Asked = "",
    label: Asked = "",
    document: Annotated[list[str] | None, Query(max_length=5000)] = None,
) -> TaxonomyChange:
    """A change, as an address has it."""
    documents = tuple(document or ())
    return TaxonomyChange(act, category, to, new.strip(), label.strip(), documents)


def sent(
    act: Sent,
    category: Sent = "",
    to: Sent = "",
    new: Sent = "",
    label: Sent = "",
    document: Annotated[list[str] | None, Form(max_length=5000)] = None,
) -> TaxonomyChange:
    """A change, as a form has it."""
    documents = tuple(document or ())
    return TaxonomyChange(act, category, to, new.strip(), label.strip(), documents)


@router.get("/taxonomy/preview")
def preview(
    request: Request,
    desk: OpenDesk,
    _: Admin,
    change: Annotated[TaxonomyChange, Depends(wanted)],
) -> HTMLResponse:
    """What a change would do, and the button that does it."""
    said = foresee(desk, change)
    values = {"change": change, "said": said, "title": f"{change.act.title()}?"}
    return page(request, "Taxonomy", "taxonomy_preview.html", **values)


@router.post("/taxonomy/change")
def alter(
    desk: OpenDesk, who: Admin, change: Annotated[TaxonomyChange, Depends(sent)]
) -> RedirectResponse:
    """Change the taxonomy."""
    done = desk.write(lambda project: carry_out(project, change, who.name))
    then = {"add": change.id, "split": change.id, "merge": change.to}
    at = then.get(change.act) or change.category
    if change.act == "rename" and change.id:
        at = change.id
    return _onward(at, done.said, done.numbers[0])


@router.post("/taxonomy/describe")
def describe(
    desk: OpenDesk,
    who: Admin,
    category: Sent,
    note: Said = None,
    guideline: Said = None,
    notation: Said = None,
    synonyms: Said = None,
) -> RedirectResponse:
    """Say anew what belongs to a category, and how experts decide."""
    given = zip(SAID, (note, guideline, notation, synonyms), strict=True)
    said = {name: text.strip() for name, text in given if text is not None}
    change = TaxonomyChange("describe", category, description=said)
    done = desk.write(lambda project: carry_out(project, change, who.name))
    return _onward(category, done.said, done.numbers[0])


@router.post("/taxonomy/undo")
def take_back(
    desk: OpenDesk,
    who: Admin,
    number: Annotated[int, Form(ge=0, le=2**53)],
    at: Sent = "",
) -> RedirectResponse:
    """Take a change back."""
    done = undo_for(desk, who.name, number)
    return _onward(at if at in desk.categories else "", done.said, None)


@router.get("/taxonomy/{category:path}")
def named(_: Reader, category: str) -> RedirectResponse:
    """A category by its id in the path."""
    return _onward(category, "", None)


def _onward(at: str, said: str, number: int | None) -> RedirectResponse:
    told = {"at": at, "saved": said and f"saved: {said}", "undo": number or ""}
    query = urlencode({name: value for name, value in told.items() if value})
    return RedirectResponse("/taxonomy" + (f"?{query}" if query else ""), 303)
