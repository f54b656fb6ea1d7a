"""History: every act, who and when and what they saw; correct it, take it back."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from classmark.web.clock import by_the_clock
from classmark.web.owning import require_own
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.web.rendering import page
from classmark.web.statements import words_of
from classmark.workbench.deciding.decide import undo_for
from classmark.workbench.deciding.history import (
    Wanted,
    acts,
    correct,
    look_at_range,
    past,
    people,
    undo_range,
)
from classmark.workbench.store.store import titles
from classmark.workbench.team.desk import Desk

router = APIRouter()
Text = Annotated[str, Query(max_length=400)]
Said = Annotated[str, Form(max_length=2000)]
Number = Annotated[int, Query(ge=0, le=1 << 53)]
Sent = Annotated[int, Form(ge=0, le=1 << 53)]
LISTED = 1500  # categories that a list to choose from may have
VERBS = {
    "assign": "label",
    "primary": "primary label",
    "reject": "not",
    "remove": "taken back",
    "unsure": "unsure of",
    "prefer": "better",
    "retract": "no longer better",
    "undo": "undone",
    "skip": "skipped",
    "note": "note",
    "settle": "settled",
    "import": "categories brought in",
    "add": "category added",
    "rename": "category renamed",
    "merge": "category merged",
    "split": "category split",
    "move": "category moved",
    "retire": "category retired",
}


def asked(
    who: Text = "",
    act: Text = "",
    document: Text = "",
    category: Text = "",
    since: Text = "",
    until: Text = "",
    state: Text = "",
) -> Wanted:
    """What the address asks for."""
    wanted = (who, act, document.strip(), category.strip(), since, until, state)
    return Wanted(*wanted)


Asked = Annotated[Wanted, Depends(asked)]


@router.get("/history")
def show(
    request: Request,
    desk: OpenDesk,
    _: Reader,
    wanted: Asked,
    before: Annotated[int | None, Query(ge=0, le=1 << 53)] = None,
) -> HTMLResponse:
    """A page of the log."""
    found = past(desk, wanted, before)
    values = {"found": found, "wanted": wanted, "before": before, **_known(desk)}
    query = urlencode(wanted.asked)
    return page(request, "History", "history.html", query=query, **values)


@router.post("/history/undo")
def take_back(
    desk: OpenDesk, me: Classifier, number: Sent, back: Said = ""
) -> RedirectResponse:
    """Take back one act, or bring it back."""
    require_own(desk, me, number, number)
    return _back(back, words_of("undo", undo_for(desk, me.name, number)))


@router.post("/history/correct")
def put_right(
    desk: OpenDesk,
    me: Classifier,
    number: Sent,
    category: Said,
    note: Said = "",
    back: Said = "",
) -> RedirectResponse:
    """Put another category in the place of the one that an act names."""
    saved = correct(desk, number, category, me.name, note.strip())
    return _back(back, words_of("accept", saved))


@router.get("/history/range")
def look(
    request: Request,
    desk: OpenDesk,
    me: Classifier,
    wanted: Asked,
    first: Number = 0,
    last: Number = 0,
) -> HTMLResponse:
    """What taking back a range would change."""
    require_own(desk, me, first, last, wanted)
    found = look_at_range(desk, first, last, wanted)
    named = titles(desk.project.store, [each.document for each in found.changes[:100]])
    query = urlencode(wanted.asked)
    return page(
        request, "History", "history_range.html", title="Take back a range",
        found=found, wanted=wanted, titles=named, query=query, **_known(desk),
    )  # fmt: skip


@router.post("/history/range")
def take_back_range(
    desk: OpenDesk, me: Classifier, first: Sent, last: Sent, back: Said = ""
) -> RedirectResponse:
    """Take back a range: all of it, or nothing."""
    told = {k: v for k, v in parse_qsl(back) if k in Wanted.__dataclass_fields__}
    wanted = Wanted(**told)
    require_own(desk, me, first, last, wanted)
    done = undo_range(desk, first, last, me.name, wanted)
    many = len(done.acts) + len(done.again)
    return _back(back, f"{many:,} acts of {first} to {last} taken back")


def _known(desk: Desk) -> dict[str, Any]:
    """What the templates need to name people, acts and categories."""
    many = len(desk.categories)
    return {
        "people": people(desk),
        "acts": acts(desk),
        "verbs": VERBS,
        "categories": desk.categories,
        "listed": desk.categories.values() if many <= LISTED else (),
        "clock": by_the_clock,
    }


def _back(query: str, saved: str) -> RedirectResponse:
    """To the page one came from, and what was done."""
    told = [(name, value) for name, value in parse_qsl(query) if name != "saved"]
    return RedirectResponse(f"/history?{urlencode([*told, ('saved', saved)])}", 303)
