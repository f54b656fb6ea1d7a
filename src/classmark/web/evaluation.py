"""Which learner suits the project: measured on documents it has not seen."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, Field

from classmark.language import N_, _
from classmark.problems import refusal
from classmark.web import fields
from classmark.web.guard.auth import Admin, Reader
from classmark.web.guard.errors import or_missing
from classmark.web.render import fragment, page, redirect
from classmark.workbench.learning.evaluate import LEARNER_NAMES, last_evaluation
from classmark.workbench.project import Project
from classmark.workbench.results import WorkResult
from classmark.workbench.team import plots
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.jobs import start_work

HERE = "/progress/evaluation"
JOB = "evaluation"
COLUMNS = {
    "one_error": (N_("First suggestion wrong"), "percent"),
    "average_precision": (N_("Average precision"), "decimal"),
    "looked_at": (N_("Average rank of the last correct category"), "number"),
    "micro_f1": ("micro-F1", "decimal"),
    "macro_f1": ("macro-F1", "decimal"),
    "calibration_error": (N_("Calibration error"), "decimal"),
    "rare_calibration_error": (N_("Calibration error, rare categories"), "decimal"),
    "seconds": (N_("Seconds"), "number"),
}
pages = APIRouter(prefix=HERE)
api = fields.calls("work")


class EvaluationForm(BaseModel):
    """Which learners are measured, and by how many folds; 0: as the documents say."""

    learners: list[Annotated[str, Field(max_length=200)]] = Field(
        default_factory=list, max_length=20
    )
    folds: Annotated[int, Field(ge=0, le=50)] = 0


@pages.get("")
def evaluation_page(me: Reader) -> HTMLResponse:
    """The last evaluation: a table, a plot, by category; and a form for another."""
    last = last_evaluation(me.desk)
    drawn = None
    if last is not None and last["precision"]:
        drawn = plots.precision(last["precision"])
    names = {id_: category.name for id_, category in me.desk.categories.items()}
    return page(
        me, "Progress", "progress_evaluation.html", title=_("Evaluation"), last=last,
        plot=drawn, columns=COLUMNS, learners=LEARNER_NAMES, names=names,
        current=me.desk.settings.learning.learner, **_work(me.desk),
    )  # fmt: skip


@pages.get("/job")
def job_part(me: Reader) -> HTMLResponse:
    """How far the evaluation is: a piece of the page."""
    return fragment("work.html", **_work(me.desk))


@pages.post("")
def start_form(me: Admin, form: Annotated[EvaluationForm, Form()]) -> Response:
    """Measure learners."""

    def work(project: Project) -> WorkResult:
        from classmark.workbench.learning.evaluate import evaluate_project

        table = evaluate_project(project, form.learners, form.folds or None).table
        return WorkResult(table.note, {})

    me.desk.jobs.start(JOB, work, me.name)
    return redirect(HERE)


@pages.post("/use")
def use_form(me: Admin, learner: Annotated[str, Form(max_length=200)]) -> Response:
    """Let the project learn by this learner from now on, and train it."""
    if learner not in LEARNER_NAMES:
        raise refusal(
            "%(learner)r is no learner: use %(learner_names)s",
            learner=learner,
            learner_names=", ".join(LEARNER_NAMES),
        )
    me.desk.change_settings({"learning.learner": learner}, me.name)
    start_work(me.desk, "train", me.name)
    return redirect(HERE, saved=_("training %(learner)s", learner=learner))


class EvaluationAnswer(fields.CallAnswer):
    """What was measured last; categories : precision, recall and F1, by learner."""

    at: str
    compared: str
    note: str
    rows: list[dict[str, str | fields.Value]]
    precision: dict[str, list[fields.Value]] = Field(description="by rank")
    categories: dict[str, list[dict[str, str | fields.Value]]]


@api.get("/evaluation", responses=fields.MISSING, response_model=EvaluationAnswer)
def evaluation(me: Reader) -> Any:
    """What the last evaluation measured."""
    with or_missing():
        last = last_evaluation(me.desk)
        if last is None:
            raise refusal("nothing is evaluated yet: start an evaluation")
    return EvaluationAnswer.model_validate(last)


def _work(desk: Desk) -> dict[str, Any]:
    return {"job": desk.jobs.last(JOB), "poll": f"{HERE}/job", "back": HERE}
