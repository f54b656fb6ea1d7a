"""Progress: how far the work is, whether it gets better, and whether people agree."""

from __future__ import annotations

import math
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from classmark.problems import Mistake
from classmark.web.clock import by_the_clock
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.web.rendering import page
from classmark.workbench.store.store import titles
from classmark.workbench.team.agreement import (
    Opinion,
    agreement,
    disagreements,
    opinions,
    settle,
    to_read_again,
)
from classmark.workbench.team.plots import calibration, number, panels, percent
from classmark.workbench.team.progress import ALLOWED, progress, promises

router = APIRouter()
Said = Annotated[str, Form(max_length=2000)]
SHOWN = 25  # disagreements of a page
ALL = "*"  # what a form says for "the labels of everybody"


@router.get("/progress")
def show(
    request: Request,
    desk: OpenDesk,
    _: Reader,
    calibrate: Annotated[bool, Query()] = False,
) -> HTMLResponse:
    """Everything at a glance, each plot with its numbers."""
    found, kept = progress(desk), promises(desk, ask=calibrate)
    names = {id_: desk.categories[id_].name for id_, _ in found.tail[:100]}
    drawn = panels(found, names)
    if kept.bins:
        drawn.insert(min(3, len(drawn)), calibration(kept))
    values = {"found": found, "plots": drawn, "kept": kept, "allowed": ALLOWED}
    agreed = agreement(desk)
    return page(request, "Progress", "progress.html", agreed=agreed, **values, **SAYING)


@router.get("/progress/agreement")
def show_agreement(
    request: Request,
    desk: OpenDesk,
    me: Reader,
    after: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
) -> HTMLResponse:
    """How far people agree, and where they differ."""
    found = [each for each in disagreements(desk) if each.number > after]
    shown, names = found[:SHOWN], desk.categories
    named = titles(desk.project.store, [each.document for each in shown])
    return page(
        request, "Progress", "progress_agreement.html", title="Agreement",
        agreed=agreement(desk), shown=shown, more=len(found) > SHOWN, titles=named,
        again=len(to_read_again(desk, me.name, 1000)), everybody=ALL,
        names=names, **SAYING,
    )  # fmt: skip


@router.post("/progress/settle")
def settle_it(
    desk: OpenDesk,
    me: Classifier,
    document: Said,
    whose: Said,
    seen: Annotated[int, Form()],
    note: Said = "",
) -> RedirectResponse:
    """Let the labels of one person, or of everybody, stand."""
    said = [each for each in opinions(desk, document) if not each.imported]
    labels = _labels_of([each for each in said if whose in (ALL, each.who)])
    logged = settle(desk, document, labels, me.name, note.strip(), seen)
    told = urlencode({"saved": f"settled #{logged.numbers[0]}: {document}"})
    return RedirectResponse(f"/progress/agreement?{told}", 303)


def _labels_of(said: list[Opinion]) -> dict[str, bool]:
    """Category → whether somebody calls it primary."""
    if not said:
        raise Mistake("nobody of that name has read the document: choose another")
    primary = frozenset[str]().union(*(each.primary for each in said))
    names = sorted(frozenset[str]().union(*(each.labels for each in said)))
    return {name: name in primary for name in names}


def strength(value: float) -> str:
    """How an agreement beyond chance is called, in the words of the field.

    The bounds are Krippendorff's advice: rely on .8 or more, draw tentative
    conclusions from .667 on [Krippendorff04].

    >>> strength(0.7), strength(float("nan"))
    ('tentative', 'not defined')
    """
    if math.isnan(value):
        return "not defined"
    return "reliable" if value >= 0.8 else "tentative" if value >= 2 / 3 else "low"


def beyond_chance(value: float) -> str:
    """κ or α with two decimals.

    >>> beyond_chance(-0.051)
    '−0.05'
    """
    return "–" if math.isnan(value) else f"{value:.2f}".replace("-", "−")


SAYING: dict[str, Any] = {
    "number": number,
    "percent": percent,
    "strength": strength,
    "beyond_chance": beyond_chance,
    "clock": by_the_clock,
}
