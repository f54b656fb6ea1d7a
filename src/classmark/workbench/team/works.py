"""Long work that people start on the desk: train, evaluate, index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk
    from classmark.workbench.team.jobs import Job


CHANGES = ("added", "replaced", "deleted")
SHOWN = ("average_precision", "one_error")


@dataclass(frozen=True, slots=True)
class Work:
    """Something that takes its time.

    does : the work; it returns what came of it, in words.
    """

    name: str
    label: str
    says: str
    does: Callable[[Project], str]


def start_work(desk: Desk, name: str, who: str) -> Job:
    """Begin some work by its name."""
    found = next((work for work in WORKS if work.name == name), None)
    if found is None:
        known = ", ".join(work.name for work in WORKS)
        raise Mistake(f"the work {name!r} is unknown: use {known}")
    return desk.jobs.start(found.name, found.does, who)


def _train(project: Project) -> str:
    from classmark.workbench.learning.train import train

    trained = train(project)
    return f"{trained.learner} learned from {trained.documents:,} documents"


def _evaluate(project: Project) -> str:
    from classmark.workbench.learning.evaluate import evaluate_project

    table = evaluate_project(project).table
    best = max(table.rows, key=lambda row: float(row["average_precision"] or 0.0))
    figures = [f"{name.replace('_', ' ')} {best[name]:.3f}" for name in SHOWN]
    return f"{table.title}: {best['learner']} is best, {', '.join(figures)}"


def _index(project: Project) -> str:
    from classmark.workbench.search.index import index_project

    row = index_project(project).rows[0]
    changes = ", ".join(f"{row[name]:,} {name}" for name in CHANGES)
    return f"{row['documents']:,} documents are indexed ({changes})"


WORKS = (
    Work(
        "train",
        "Train anew",
        "Learn from every decision from the beginning, with the settings as they are "
        "now, and put the new model in service.",
        _train,
    ),
    Work(
        "evaluate",
        "Evaluate",
        "Measure the learners on documents they have not seen. Takes minutes; changes "
        "nothing.",
        _evaluate,
    ),
    Work(
        "index",
        "Index",
        "Bring the index of the search page up to date.",
        _index,
    ),
)
