"""Vectors of meaning beside words: where they come from, and how many there are."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from classmark.language import _
from classmark.web import fields
from classmark.web.guard.auth import Admin, Reader
from classmark.web.render import fragment, page, redirect
from classmark.web.settings import STARTED, SettingText
from classmark.workbench import meaning
from classmark.workbench.meaning import MeaningStatus
from classmark.workbench.settings import MeaningSettings
from classmark.workbench.settings_form import form_fields
from classmark.workbench.settings_words import SECTIONS, info_in_words
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.jobs import Job

HERE = "/settings/meaning"
pages = APIRouter(prefix=HERE)
api = fields.calls("project")


@pages.get("")
def meaning_page(me: Reader) -> HTMLResponse:
    """Show the source, and how many documents have a vector."""
    settings = me.desk.settings
    standing = meaning.standing(me.desk)
    return page(
        me, "Settings", "settings_meaning.html", part="meaning", standing=standing,
        groups={"meaning": form_fields(settings)["meaning"]}, says=SECTIONS,
        in_words=info_in_words,
        **_work(me.desk),
    )  # fmt: skip


@pages.get("/job")
def job_part(me: Reader) -> HTMLResponse:
    """How far the vectors are: a piece of the page."""
    return fragment("work.html", **_work(me.desk))


@pages.post("")
async def source_form(me: Admin) -> Response:
    """Choose the source."""
    values = {name: str(value) for name, value in (await me.request.form()).items()}
    names = await run_in_threadpool(meaning.change_source, me.desk, values, me.name)
    changed = (
        _("saved: %(names)s", names=", ".join(names)) if names else _("no changes")
    )
    return redirect(HERE, saved=changed)


@pages.post("/compute")
def compute_form(me: Admin) -> Response:
    """Compute what is missing."""
    meaning.start_vectors(me.desk, me.name)
    return redirect(HERE)


@pages.post("/drop")
def drop_form(me: Admin) -> Response:
    """Remove all vectors."""
    meaning.drop(me.desk, me.name)
    return redirect(HERE, saved=_("all vectors removed"))


def _work(desk: Desk) -> dict[str, Any]:
    return {"job": desk.jobs.last(meaning.JOB), "poll": f"{HERE}/job", "back": HERE}


class MeaningBody(fields.Body):
    """What makes vectors of texts.

    model : the folder of the table or the sentence model, or what the server calls its
    model;  allow_remote : whether the server may be another machine, to which all texts
    are then sent;  weight : of that part beside words of length 1, 0 as suits the
    source.
    """

    source: Literal["none", "static", "sentences", "server", "own"]
    model: SettingText = ""
    url: SettingText = Field("", examples=["http://127.0.0.1:8080/v1/embeddings"])
    allow_remote: bool = False
    weight: Annotated[float, Field(ge=0, le=100)] = 0.0
    pooling: SettingText = ""
    prefix: SettingText = ""


@api.get("/meaning")
def read_meaning(me: Reader) -> MeaningStatus:
    """What makes vectors beside words, how many there are, and what uses them."""
    return meaning.standing(me.desk)


@api.put("/meaning")
def set_meaning(me: Admin, body: MeaningBody) -> MeaningStatus:
    """Choose where vectors come from; they count from the next training on."""
    meaning.set_meaning(me.desk, MeaningSettings(**body.model_dump()), me.name)
    return meaning.standing(me.desk)


@api.delete("/meaning")
def drop_meaning(me: Admin) -> MeaningStatus:
    """Remove all vectors; words alone count from the next training on."""
    meaning.drop(me.desk, me.name)
    return meaning.standing(me.desk)


@api.post("/meaning/compute", **STARTED)
def compute_vectors(me: Admin) -> Job:
    """Compute the vectors that are missing."""
    return meaning.start_vectors(me.desk, me.name)
