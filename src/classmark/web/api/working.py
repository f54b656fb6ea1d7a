"""Long work: train, evaluate, index, rebuild; as jobs, and how far they are."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from classmark.problems import Mistake
from classmark.web.api.calls import MISSING, calls, or_missing
from classmark.web.api.shapes import LARGEST, Answer
from classmark.web.people import Admin, Classifier, OpenDesk, Reader
from classmark.workbench.team.jobs import Job as Work
from classmark.workbench.team.jobs import start_work

router = calls("work")
JobNumber = Annotated[int, Path(ge=0, le=LARGEST)]
ACCEPTED = 202


class Job(Answer):
    """Some long work.

    state : running, done or failed;  doing, done, total : what it is at, how far, of
    how many;  said : its result in words;  mistake : why it failed.
    """

    id: int
    name: str = Field(examples=["train"])
    who: str
    state: str = Field(examples=["running"])
    doing: str
    done: int
    total: int | None
    said: str
    mistake: str
    began: str
    ended: str


class Jobs(Answer):
    """The jobs since the server began, newest first."""

    jobs: list[Job]


class Caught(Answer):
    """Up to which act of the log the ranker has learned."""

    learned: bool = Field(description="false: it is still at it, or learns by training")


@router.post("/learn")
def learn(desk: OpenDesk, _: Classifier) -> Caught:
    """Wait, ten seconds at most, until all that was decided is learned."""
    desk.learn_soon()
    return Caught(learned=desk.learned(10.0))


@router.post("/train", status_code=ACCEPTED)
def train(desk: OpenDesk, who: Admin) -> Job:
    """Train a model on all decisions, calibrate it and put it in service."""
    return shown(start_work(desk, "train", who.name))


@router.post("/evaluate", status_code=ACCEPTED)
def evaluate(desk: OpenDesk, who: Admin) -> Job:
    """Measure the learner on documents that it has not seen."""
    return shown(start_work(desk, "evaluate", who.name))


@router.post("/index", status_code=ACCEPTED)
def index(desk: OpenDesk, who: Admin) -> Job:
    """Bring the index for searching up to date."""
    return shown(start_work(desk, "index", who.name))


@router.post("/rebuild", status_code=ACCEPTED)
def rebuild(desk: OpenDesk, who: Admin) -> Job:
    """Learn the whole log again, and compare."""
    return shown(desk.jobs.start("rebuild", _rebuilt, who.name))


@router.get("/jobs")
def list_jobs(desk: OpenDesk, _: Reader) -> Jobs:
    """The jobs since the server began."""
    return Jobs(jobs=[shown(job) for job in reversed(list(desk.jobs))])


@router.get("/jobs/{number}", responses=MISSING)
def read_job(desk: OpenDesk, _: Reader, number: JobNumber) -> Job:
    """How far a job is."""
    with or_missing():
        return shown(desk.jobs.get(number))


def require_well(job: Work) -> None:
    """Refuse a job that has failed, by what it says."""
    if job.mistake:
        raise Mistake(job.mistake)


def shown(job: Work) -> Job:
    """A job as it is answered."""
    return Job.model_validate(job)


def _rebuilt(project: Any) -> str:
    from classmark.workbench.learning.rebuild import rebuild as rebuild_model

    return told(rebuild_model(project))


def told(table: Any) -> str:
    """A table of one row, in words."""
    return ", ".join(f"{k} {v}" for row in table.rows for k, v in row.items())
