"""Progress of the work, calibration, and agreement between people."""

from __future__ import annotations

import math
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import Field

from classmark.language import N_, _, decimal, percent
from classmark.problems import refusal
from classmark.web import fields
from classmark.web.guard.auth import Classifier, Reader
from classmark.web.render import page, redirect
from classmark.workbench.deciding import decide, opinions
from classmark.workbench.deciding.opinions import Disagreement
from classmark.workbench.results import Logged
from classmark.workbench.store.store import titles
from classmark.workbench.team import agreement as agreements
from classmark.workbench.team import plots
from classmark.workbench.team import progress as progresses
from classmark.workbench.team.decisions import Step

pages = APIRouter()
api = fields.calls("progress")
agreement_api = fields.calls("agreement")

FormText = Annotated[str, Form(max_length=2000)]
SHOWN = 25  # disagreements of a page
ALL = "*"  # what a form says for "the labels of everybody"


@pages.get("/progress")
def progress_page(
    me: Reader, calibrate: Annotated[bool, Query()] = False
) -> HTMLResponse:
    """Everything at a glance, each plot with its numbers."""
    figures = me.desk.once(progresses.progress)
    calibration = progresses.promises(me.desk, ask=calibrate)
    names = {id_: me.desk.categories[id_].name for id_, _ in figures.tail[:100]}
    drawn = plots.panels(figures, names)
    if calibration.bins:
        drawn.insert(min(3, len(drawn)), plots.calibration(calibration))
    return page(
        me, "Progress", "progress.html", progress=figures, plots=drawn,
        calibration=calibration, allowed=progresses.ALLOWED,
        agreed=me.desk.once(agreements.agreement), **IN_WORDS,
    )  # fmt: skip


@pages.get("/progress/agreement")
def agreement_page(
    me: Reader, after: Annotated[int, Query(ge=0, le=fields.LARGEST)] = 0
) -> HTMLResponse:
    """How far people agree, and where they differ."""
    open_ones = [
        each for each in me.desk.once(opinions.disagreements) if each.number > after
    ]
    shown = open_ones[:SHOWN]
    return page(
        me, "Progress", "progress_agreement.html", title=_("Agreement"),
        agreed=me.desk.once(agreements.agreement), everybody=ALL, shown=shown,
        more=len(open_ones) > SHOWN,
        titles=titles(me.desk.store, [each.document for each in shown]),
        again=len(agreements.to_read_again(me.desk, me.name, 1000)),
        **IN_WORDS,
    )  # fmt: skip


@pages.post("/progress/settle")
def settle_form(
    me: Classifier,
    document: FormText,
    whose: FormText,
    seen: Annotated[int, Form(ge=0, le=fields.LARGEST)],
    note: FormText = "",
) -> RedirectResponse:
    """Let the labels of one person, or of everybody, stand."""
    by_people = (o for o in opinions.opinions(me.desk, document) if not o.imported)
    read = [o for o in by_people if whose in (ALL, o.who)]
    if not read:
        raise refusal(
            "nobody with that name has decided on the document: choose another"
        )
    primary = {name for opinion in read for name in opinion.primary}
    names = {name for opinion in read for name in opinion.labels}
    labels = {name: name in primary for name in sorted(names)}
    logged = decide.settle(me.desk, document, labels, me.name, note.strip(), seen)
    saved = _("settled #%(number)s: %(id)s", number=logged.numbers[0], id=document)
    return redirect("/progress/agreement", saved=saved)


def strength(value: float) -> str:
    """How an agreement beyond chance is called, in the words of the field.

    The bounds are Krippendorff's advice: rely on .8 or more, draw tentative
    conclusions from .667 on [Krippendorff04].

    >>> strength(0.7), strength(float("nan"))
    ('tentative', 'not defined')
    """
    if math.isnan(value):
        return N_("not defined")
    if value >= 0.8:
        return N_("reliable")
    return N_("tentative") if value >= 2 / 3 else N_("low")


def beyond_chance(value: float) -> str:
    """κ or α with two decimals.

    >>> beyond_chance(-0.051)
    '−0.05'
    """
    return "–" if math.isnan(value) else decimal(value)


IN_WORDS: dict[str, Any] = {
    "number": plots.number,
    "percent": percent,
    "strength": strength,
    "beyond_chance": beyond_chance,
}


fields.answer(Step, **fields.nullable(Step))
fields.answer(progresses.Hint, wrong_at_most=int, stop=bool)
fields.answer(
    progresses.Progress,
    **fields.nullable(progresses.Progress),
    waiting=int,
    saved=Annotated[
        fields.Value, Field(description="the share of looking that the ranking saves")
    ],
)
fields.answer(progresses.Promises, **fields.nullable(progresses.Promises))


@api.get("/progress")
def progress(me: Reader) -> progresses.Progress:
    """How far the work is, and how well the suggestions fit."""
    return me.desk.once(progresses.progress)


@api.get("/calibration")
def promises(me: Reader) -> progresses.Promises:
    """Whether what is called 80 % likely comes true eight times in ten."""
    return progresses.promises(me.desk)


class SettleBody(fields.Body):
    """The labels that are to stand; primary : those above the others.

    version : of the document, as its sheet has it: refused where somebody decided on
    it since.
    """

    document: fields.Id
    labels: fields.Ids = ()
    primary: fields.Ids = ()
    note: fields.Note = ""
    version: fields.Number | None = None


fields.answer(agreements.Pair, **fields.nullable(agreements.Pair))
fields.answer(agreements.Parted, share=fields.Value)
fields.answer(agreements.Agreed, **fields.nullable(agreements.Agreed))
Disagreements = fields.listing(
    "Disagreements", "What nobody has settled yet, newest last.",
    disagreements=Disagreement,
)  # fmt: skip
DocumentIds = fields.listing("DocumentIds", "Ids of documents.", documents=str)


@agreement_api.get("/agreement")
def agreement(me: Reader) -> agreements.Agreed:
    """How far people agree on the documents that two or more have decided."""
    return me.desk.once(agreements.agreement)


@agreement_api.get("/disagreements", response_model=Disagreements)
def disagreements(me: Reader) -> Any:
    """Documents of which people differ, and nobody has settled it since."""
    return {"disagreements": me.desk.once(opinions.disagreements)}


@agreement_api.get("/second-readings", response_model=DocumentIds)
def second_readings(me: Classifier, top: fields.Top = 20) -> Any:
    """Documents that others have decided and you have not, at random."""
    return {"documents": agreements.to_read_again(me.desk, me.name, top)}


@agreement_api.post("/settle", responses=fields.MISSING)
def settle(me: Classifier, body: SettleBody) -> Logged:
    """Say which labels are to stand, after people differed."""
    fields.require_document(me.desk, body.document)
    labels = dict.fromkeys(body.labels, False) | dict.fromkeys(body.primary, True)
    return decide.settle(
        me.desk, body.document, labels, me.name, body.note, body.version
    )
