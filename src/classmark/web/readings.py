"""Readings: what stands on the page of a document, and two decisions side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from classmark.web.clock import by_the_clock
from classmark.web.evidence import evidence
from classmark.web.rendering import page
from classmark.workbench.deciding.opinions import differing, opinions
from classmark.workbench.deciding.sheet import lay_out, notes_on
from classmark.workbench.team.progress import pace

if TYPE_CHECKING:
    from fastapi.responses import HTMLResponse
    from starlette.requests import Request

    from classmark.web.people import Who
    from classmark.workbench.deciding.decide import Conflict, Decision
    from classmark.workbench.deciding.sheet import Sheet
    from classmark.workbench.team.desk import Desk

VERBS = {
    "assign": "label",
    "primary": "primary",
    "reject": "not",
    "remove": "taken back",
    "unsure": "unsure of",
    "prefer": "better",
    "undo": "undone",
}


def on_the_page(desk: Desk, sheet: Sheet, reading: str) -> dict[str, Any]:
    """What the page shows beside the sheet; of other people only where it settles."""
    said = opinions(desk, sheet.id) if reading == "settle" else []
    named = {id_ for each in said for id_ in each.labels | each.refused}
    named |= {id_ for act in sheet.past for id_ in (act.category, act.other)}
    return {
        "listed": sheet.choices + tuple(sorted(sheet.others, key=lambda c: c.path)),
        "words": evidence(sheet.texts),
        "notes": () if sheet.blind else notes_on(desk.project.store, sheet.id),
        "opinions": said,
        "differing": differing([each for each in said if not each.imported]),
        "names": _names(desk, named),
        "pace": pace(desk.project.store),
        "verbs": VERBS,
        "clock": by_the_clock,
    }


def both_decisions(
    request: Request, desk: Desk, who: Who, conflict: Conflict
) -> HTMLResponse:
    """Ask which of two decisions holds; nothing of yours is written yet."""
    sheet = lay_out(desk, conflict.document, who.name)
    yours = tuple(_said(conflict.yours))
    theirs = {said.category for said in conflict.theirs}
    named = theirs | {id_ for _, id_ in yours} | {s.other for s in conflict.theirs}
    named |= {id_ for pair in conflict.yours.over for id_ in pair}
    shown = page(
        request, "Decide", "decide_conflict.html",
        title=f"Two decisions on {sheet.title}", sheet=sheet, conflict=conflict,
        version=max(said.number for said in conflict.theirs),
        verbs=VERBS, clock=by_the_clock,
        stands=[c.category for c in sheet.choices + sheet.others if c.stands],
        yours_said=yours, yours_named={id_ for _, id_ in yours}, theirs_named=theirs,
        names=_names(desk, named),
    )  # fmt: skip
    shown.status_code = 409
    return shown


def _said(yours: Decision) -> list[tuple[str, str]]:
    groups = {
        "primary": yours.primary,
        "assign": tuple(id_ for id_ in yours.assign if id_ not in yours.primary),
        "reject": yours.reject,
        "remove": yours.remove,
    }
    return [(verb, id_) for verb, names in groups.items() for id_ in names]


def _names(desk: Desk, ids: Iterable[str]) -> dict[str, str]:
    known = desk.categories
    return {id_: known[id_].name for id_ in ids if id_ in known}
