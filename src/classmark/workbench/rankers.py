"""The learned rankers of a project: stored as generations, one or none in service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from classmark.ltr.reranker import Reranker, open_reranker, save_reranker
from classmark.problems import Mistake
from classmark.storage import Generations
from classmark.workbench.project import whoami
from classmark.workbench.ranker_pages import LEARNED, SERVED, write_page
from classmark.workbench.views import Cell, Table

if TYPE_CHECKING:
    from classmark.workbench.project import Project

NONE = "none"


def shelf(project: Project) -> Generations:
    """Where the rankers of a project are."""
    return Generations(project.folder / "rankers")


def in_service(project: Project) -> tuple[int, Reranker] | None:
    """Open the ranker in service; None: the first stage answers alone."""
    current = shelf(project).current()
    return None if current is None else (int(current.name), open_reranker(current))


def open_ranker(project: Project, number: int) -> Reranker:
    """Open a ranker by its number."""
    return open_reranker(_place(project, number))


def keep_ranker(project: Project, ranker: Reranker) -> int:
    """Store a ranker as the next generation, and return its number."""
    place = shelf(project).next()
    save_reranker(ranker, place)
    return int(place.name)


def use_ranker(project: Project, name: str) -> str:
    """Put a ranker into service, or take it out (``none``); say what holds now."""
    rankers = shelf(project)
    if name == NONE:
        if (rankers.folder / "CURRENT").exists():
            rankers.take_out_of_service()
            project.store.note_event("ranker", whoami(), number=None)
        return "no ranker is in service: classmark search orders by the model alone"
    number = ranker_number(name)
    place = _place(project, number)
    open_reranker(place)
    rankers.put_in_service(place)
    project.store.note_event("ranker", whoami(), number=number)
    return f"ranker {number} is in service: classmark search orders by it"


def ranker_number(name: str) -> int:
    """Read a ranker's number."""
    if not name.isdecimal():
        raise Mistake(f"ranker {name!r}: give its number, or {NONE}")
    return int(name)


def list_rankers(project: Project) -> Table:
    """List all rankers, with what they reached on held-out queries."""
    from classmark.ltr.training import MEASURES

    current = shelf(project).current()
    rows: list[dict[str, Cell]] = []
    for number in shelf(project).numbers():
        place = _place(project, number)
        facts = open_reranker(place).facts
        means: dict[str, dict[str, float]] = facts["means"]
        row: dict[str, Cell] = {
            "ranker": number,
            "in service": "yes" if place == current else "",
            "learner": facts["learner"],
            "C": facts["C"],
            "trained on": facts["taught"],
            "held out": facts["held"],
        }
        rows.append(row | {name: means[LEARNED][name] for name in MEASURES})
    note = "" if rows else "none yet: classmark rank train"
    return Table(f"Rankers of {project.settings.name}", rows, note)


def report_ranker(project: Project, number: int) -> tuple[Table, Path]:
    """Show how a ranker did for every held-out query, and write its page."""
    facts = open_ranker(project, number).facts
    page = project.folder / "reports" / f"ranker-{number}.html"
    write_page({**facts, "number": number}, page)
    rows: list[dict[str, Cell]] = [
        {**row, "gain": row[LEARNED] - row[SERVED]} for row in facts["queries"]
    ]
    rows.sort(key=lambda row: -float(row["gain"] or 0.0))
    wins = sum(float(row["gain"] or 0.0) > 0 for row in rows)
    losses = sum(float(row["gain"] or 0.0) < 0 for row in rows)
    note = f"{wins} wins, {losses} losses, {len(rows) - wins - losses} equal"
    return Table(f"Ranker {number}, {facts['measure']} of each query", rows, note), page


def _place(project: Project, number: int) -> Path:
    rankers = shelf(project)
    if number not in rankers.numbers():
        known = ", ".join(map(str, rankers.numbers())) or "none yet"
        raise Mistake(f"there is no ranker {number}: there is {known}")
    return rankers.folder / f"{number:06d}"
