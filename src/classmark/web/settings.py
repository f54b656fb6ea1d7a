"""The project as a whole: settings, model and jobs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Form, Path
from fastapi.concurrency import run_in_threadpool
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BeforeValidator, Field

from classmark import __version__
from classmark.language import N_, _
from classmark.problems import refusal
from classmark.web import fields
from classmark.web.guard.auth import Admin, Classifier, Reader
from classmark.web.guard.errors import or_missing
from classmark.web.render import fragment, page, redirect
from classmark.workbench.project import info
from classmark.workbench.settings_form import (
    FormField,
    advanced_fields,
    everyday_fields,
    form_fields,
)
from classmark.workbench.settings_words import LABELS, SECTIONS, info_in_words
from classmark.workbench.team.jobs import WORKS, Job, start_work

pages = APIRouter(prefix="/settings")
api = fields.calls("project")
work_api = fields.calls("work")

FACTS = (  # names of facts that the page Model and jobs shows
    N_("name"), N_("directory"), N_("store"), N_("documents"), N_("categories"),
    N_("labelled documents"), N_("labels"), N_("preferences"),
    N_("judgments in the log"), N_("analyzer"), N_("weighting"), N_("learner"),
    N_("strategy"), N_("meaning"), N_("model in service"), N_("its learner"),
    N_("its strategy"), N_("its vectors"), N_("its base"),
)  # fmt: skip
IN_FOLDER = N_("store.sqlite, in the project's folder")


@pages.get("")
def settings_page(me: Reader) -> HTMLResponse:
    """Show the project's settings, explained."""
    settings = me.desk.settings
    groups = advanced_fields(settings)
    del groups["meaning"]  # which has a page of its own
    return page(
        me, "Settings", "settings.html", part="project", groups=groups, says=SECTIONS,
        everyday=everyday_fields(settings),
        store=settings.store.url or _(IN_FOLDER),
    )  # fmt: skip


@pages.post("")
async def change_form(me: Admin) -> Response:
    """Change the settings that differ."""
    values = {name: str(value) for name, value in (await me.request.form()).items()}
    names = await run_in_threadpool(me.desk.change_settings, values, me.name)
    changed = ", ".join(_(LABELS.get(name, name)) for name in names)
    changed = _("saved: %(names)s", names=changed) if names else _("no changes")
    return redirect("/settings", saved=changed)


@pages.get("/model")
def model_page(me: Reader) -> HTMLResponse:
    """Show the model in service, and the jobs."""
    return page(
        me, "Settings", "settings_model.html", part="model", works=WORKS,
        rows=me.desk.once(info).rows, in_words=info_in_words,
        jobs=list(me.desk.jobs)[::-1],
    )  # fmt: skip


@pages.post("/jobs")
def start_form(me: Admin, work: Annotated[str, Form()]) -> Response:
    """Begin some long work."""
    job = start_work(me.desk, work, me.name)
    return redirect("/settings/model", saved=_("%(job)s: started", job=job.words))


@pages.get("/jobs")
def jobs_part(me: Reader) -> HTMLResponse:
    """The jobs, as a piece of the page."""
    return fragment("settings_jobs.html", jobs=list(me.desk.jobs)[::-1])


SettingText = Annotated[str, Field(max_length=500, pattern=fields.NO_NUL)]


class SettingsBody(fields.Body):
    """Name → the new value, as text."""

    settings: dict[SettingText, SettingText] = Field(
        min_length=1, max_length=100, examples=[{"search.log": "anonymous"}]
    )


fields.answer(
    FormField,
    name=Annotated[str, Field(examples=["learning.learner"])],
    value=Annotated[str, Field(examples=["plm"])],
)
SettingsAnswer = fields.listing(
    "SettingsAnswer", "All settings that may be changed.", settings=FormField
)
ChangedSettings = fields.listing(
    "ChangedSettings", "The settings that are different now.", changed=str
)


@api.get("/settings", response_model=SettingsAnswer)
def read_settings(me: Reader) -> Any:
    """The settings of the project, each with what it means."""
    groups = form_fields(me.desk.settings).values()
    return {"settings": [setting for group in groups for setting in group]}


@api.patch("/settings", response_model=ChangedSettings)
def change_settings(me: Admin, body: SettingsBody) -> Any:
    """Change settings: all that are given, or none."""
    names = sorted(each.name for each in read_settings(me)["settings"])
    if unknown := sorted(body.settings.keys() - set(names)):
        raise refusal(
            "%(unknown)r is no setting: use %(names)s",
            unknown=unknown[0],
            names=", ".join(names),
        )
    return {"changed": me.desk.change_settings(body.settings, me.name)}


ABOUT = """Everything that the pages of a Classmark project do.

A program shows its token with every call: `Authorization: Bearer TOKEN`. What is
refused is answered with `{"error": {"message": …, "remedy": …}}`, and nothing of it was
written. The calls below `/v1` are Annif's, for programs that speak with it."""


class ProjectInfo(fields.CallAnswer):
    """What is in the project."""

    name: str = Field(examples=["Town library"])
    me: str = Field(description="under which name your acts are logged")
    role: str = Field(examples=["classifier"])
    counts: dict[str, int] = Field(examples=[{"documents": 3150, "categories": 1139}])
    about: dict[str, str | None] = Field(
        description="how it learns, and the model in service",
        examples=[{"learner": "plm"}],
    )


@api.get("/project")
def project(me: Reader) -> ProjectInfo:
    """What is in the project, and who you are in it."""
    state, settings = me.desk.state, me.desk.settings
    counts = {
        "documents": len(state.ids),
        "decided": len(state.labels),
        "aside": state.n_aside,
        "waiting": state.n_waiting,
        "categories": len(me.desk.categories),
    }
    model = me.desk.models.current()
    about = {
        "analyzer": settings.text.analyzer,
        "weighting": settings.learning.weighting,
        "learner": settings.learning.learner,
        "strategy": settings.learning.strategy,
        "model": None if model is None else model.name,
    }
    return ProjectInfo(
        name=settings.name, me=me.name, role=me.role, counts=counts, about=about
    )


@api.get("/openapi.json", include_in_schema=False)
def openapi(me: Reader) -> JSONResponse:
    """The description of all calls."""
    return JSONResponse(described(me.request.app))


def described(app: FastAPI) -> dict[str, Any]:
    """All calls in OpenAPI: ours and Annif's, with nothing but what is answered."""
    description: dict[str, Any] | None = getattr(app.state, "described", None)
    if description is not None:
        return description
    description = app.state.described = get_openapi(
        title="Classmark",
        version=__version__,
        description=ABOUT,
        routes=app.routes,
        tags=[{"name": "annif", "description": "Annif's calls, in its shapes"}],
    )
    if app.state.prefix:
        description["servers"] = [{"url": app.state.prefix}]
    for by_method in description["paths"].values():
        for call in by_method.values():
            call["responses"].pop("422", None)
            call["security"] = [{"token": []}]
    components = description["components"]
    refused = fields.RefusedCall.model_json_schema(
        mode="serialization", ref_template=fields.REFERENCE
    )
    schemas = components["schemas"] | refused.pop("$defs") | {"RefusedCall": refused}
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    components["schemas"] = dict(sorted(schemas.items()))
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return description


JOB: dict[str, Any] = {
    "name": Annotated[str, Field(examples=["train"])],
    "state": Annotated[str, Field(examples=["running"])],
}
JobResult = fields.answer(
    Job,
    "thread",
    model_name="JobResult",
    doc="""A job, and what came of it.

    result : figures by name, with a ``table``, where the job measured something;  said
    : in words.
    """,
    result=Annotated[
        dict[str, Any] | None,
        BeforeValidator(lambda value: value if isinstance(value, dict) else None),
    ],
    **JOB,
)
JobAnswer = fields.answer(Job, "result", "thread", **JOB)
JobsAnswer = fields.listing(
    "JobsAnswer", "The jobs since the server began, newest first.", jobs=Job
)


STARTED: dict[str, Any] = {"status_code": 202, "response_model": JobAnswer}


class LearnedAnswer(fields.CallAnswer):
    """Whether the ranker has learned all that was decided."""

    learned: bool = Field(description="false: it is still at it, or learns by training")


@work_api.post("/learn")
def learn(me: Classifier) -> LearnedAnswer:
    """Wait, ten seconds at most, until all that was decided is learned."""
    me.desk.background.wake()
    return LearnedAnswer(learned=me.desk.learned(10.0))


@work_api.post("/train", **STARTED)
def train(me: Admin) -> Job:
    """Train a model on all decisions, calibrate it and put it in service."""
    return start_work(me.desk, "train", me.name)


@work_api.post("/evaluate", **STARTED)
def evaluate(me: Admin) -> Job:
    """Measure the learner on documents that it has not seen."""
    return start_work(me.desk, "evaluate", me.name)


@work_api.post("/index", **STARTED)
def index(me: Admin) -> Job:
    """Bring the index for searching up to date."""
    return start_work(me.desk, "index", me.name)


@work_api.post("/rebuild", **STARTED)
def rebuild(me: Admin) -> Job:
    """Learn the whole log again, and compare."""
    return start_work(me.desk, "rebuild", me.name)


@work_api.get("/jobs", response_model=JobsAnswer)
def list_jobs(me: Reader) -> Any:
    """The jobs since the server began."""
    return {"jobs": list(me.desk.jobs)[::-1]}


@work_api.get("/jobs/{number}", responses=fields.MISSING, response_model=JobResult)
def read_job(me: Reader, number: Annotated[int, Path(ge=0, le=fields.LARGEST)]) -> Job:
    """How far a job is, and what came of it."""
    with or_missing():
        return me.desk.jobs.get(number)
