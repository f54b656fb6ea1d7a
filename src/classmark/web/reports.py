"""What the taxonomy is like, simpler trees, and daughters that documents suggest."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Form
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, BeforeValidator, Field

from classmark.language import ngettext
from classmark.web import fields
from classmark.web.guard.auth import Admin, Caller, Reader
from classmark.web.render import fragment, redirect
from classmark.web.settings import STARTED
from classmark.workbench.categories import propose
from classmark.workbench.project import Project
from classmark.workbench.results import WorkResult, as_result
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.jobs import Job

pages = APIRouter()
api = fields.calls("categories")

REPORT, PRUNE = "taxonomy report", "taxonomy prune"
PROPOSE = "taxonomy propose"
Method = Literal["kmeans", "mixture", "agglomerative"]
Policy = Annotated[  # a meta-classifier of one's own is a file, which calls do not name
    str,
    Field(
        pattern=r"^(bound|meta|random|flatten-(top|bottom|alternate)|flatten:[1-9]\d?)$",
        examples=["bound", "flatten-top", "flatten:2"],
    ),
]
Share = Annotated[float, Field(ge=0, le=1)]
Clusters = Annotated[
    Annotated[int, Field(ge=2, le=1000)] | None,
    BeforeValidator(lambda value: None if value == "" else value),  # of a form
]


class PruneFields(BaseModel):
    """A tree to try; policy : which inner categories go; see ``taxonomy prune``."""

    policy: Policy = "bound"
    share: Share | None = Field(None, description="of the inner nodes, at most")
    bold: bool = Field(False, description="also where the gain is not sure")
    base: Literal["svm", "logistic", "naive-bayes"] = "svm"


class ProposeFields(BaseModel):
    """A category whose documents are to be grouped; clusters : null: what suits."""

    category: fields.Id
    clusters: Clusters = None
    method: Method = "kmeans"


@pages.get("/taxonomy/jobs/{name}")
def job_part(
    me: Reader, name: Literal["taxonomy report", "taxonomy prune", "taxonomy propose"]
) -> HTMLResponse:
    """How far some long work is: a piece of the page."""
    return fragment("work.html", **work_of(me.desk, name))


@pages.post("/taxonomy/report")
def report_form(me: Admin) -> Response:
    """Have the taxonomy described."""
    _start_report(me)
    return redirect("/taxonomy")


@pages.post("/taxonomy/prune")
def prune_form(me: Admin, form: Annotated[PruneFields, Form()]) -> Response:
    """Have a tree without some inner categories tried."""
    _start_pruning(me, form)
    return redirect("/taxonomy")


@pages.post("/taxonomy/propose")
def propose_form(me: Admin, form: Annotated[ProposeFields, Form()]) -> Response:
    """Have daughters of a category proposed."""
    _start_proposing(me, form)
    return redirect("/taxonomy", at=form.category)


def proposed_below(desk: Desk, at: str) -> dict[str, Any]:
    """What was proposed below a category, and the work that is at it."""
    below = propose.proposals_below(desk.store, at) if at else []
    return {"proposals": below, "proposing": work_of(desk, PROPOSE)}


def work_of(desk: Desk, name: str) -> dict[str, Any]:
    """The last job of a name, as ``work.html`` shows it."""
    return {
        "job": desk.jobs.last(name),
        "poll": f"/taxonomy/jobs/{quote(name)}",
        "back": "/taxonomy",
    }


class PruneBody(fields.Body, PruneFields):
    """How a tree without some inner categories is tried."""


class ProposeBody(fields.Body, ProposeFields):
    """A category whose documents are to be grouped; clusters : null: what suits."""


fields.answer(propose.Proposal, "digest")
Proposals = fields.listing(
    "Proposals", "What was proposed last below a category.", proposals=propose.Proposal
)


@api.post("/categories/report", **STARTED)
def start_report(me: Admin) -> Job:
    """Say what the taxonomy is like, and whether flat or top-down suits it."""
    return _start_report(me)


@api.post("/categories/prune", **STARTED)
def start_pruning(me: Admin, body: PruneBody) -> Job:
    """Try a classifier without some inner categories; the taxonomy stays."""
    return _start_pruning(me, body)


@api.post("/categories/propose", responses=fields.MISSING, **STARTED)
def start_proposing(me: Admin, body: ProposeBody) -> Job:
    """Propose daughters of a category, from the documents in it."""
    fields.category_named(me.desk, body.category)
    return _start_proposing(me, body)


@api.get(
    "/categories/proposals/{category:path}",
    responses=fields.MISSING,
    response_model=Proposals,
)
def list_proposals(me: Reader, category: fields.InPath) -> Any:
    """What was proposed last below a category."""
    fields.category_named(me.desk, category)
    return {"proposals": propose.proposals_below(me.desk.store, category)}


def _start_report(me: Caller) -> Job:
    def work(project: Project) -> WorkResult:
        from classmark.workbench.categories.report import report_taxonomy

        described = report_taxonomy(project)
        return as_result(described.table, described.facts)

    return me.desk.jobs.start(REPORT, work, me.name)


def _start_pruning(me: Caller, wish: PruneFields) -> Job:
    def work(project: Project) -> WorkResult:
        from classmark.workbench.categories.report import try_pruning

        trial = try_pruning(project, **wish.model_dump())
        return as_result(trial.table, trial.facts)

    return me.desk.jobs.start(PRUNE, work, me.name)


def _start_proposing(me: Caller, wish: ProposeFields) -> Job:
    def work(project: Project) -> WorkResult:
        proposals = propose.propose(
            project, wish.category, k=wish.clusters, method=wish.method, who=me.name
        )
        said = ngettext(
            "%(n)s subcategory is proposed for %(name)s",
            "%(n)s subcategories are proposed for %(name)s",
            len(proposals),
            name=project.categories[wish.category].name,
        )
        return WorkResult(said, {"category": wish.category, "number": len(proposals)})

    return me.desk.jobs.start(PROPOSE, work, me.name)
