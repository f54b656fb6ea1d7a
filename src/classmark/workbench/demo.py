"""The main job, start to end, on the library that ships with Classmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from classmark.datasets.library import (
    library_arrivals,
    library_categories,
    library_records,
    unseen_note,
)
from classmark.problems import Mistake
from classmark.progress import working
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.files.importing import import_records, put_taxonomy
from classmark.workbench.learning.evaluate import evaluate_project
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project, create
from classmark.workbench.results import Evaluated, Explained, Table, Trained
from classmark.workbench.settings import FILE, Settings

NAME = "Eskerton town library"


@dataclass(frozen=True, slots=True)
class Unseen:
    """A document no model has seen, and the categories suggested for it."""

    text: str
    suggestions: list[Explained]


def demonstrate(folder: Path) -> Iterator[Table | Trained | Evaluated | Unseen]:
    """Import, evaluate, train and suggest; yield what each step gives.

    The new arrivals come in last: nobody has classified them, they wait. In a folder
    that holds the demo already, all of it is done again.
    """
    if not (folder / FILE).exists():
        _create(folder)
    with Project(folder) as project:
        _require_demo(project)
        yield put_taxonomy(project, library_categories(), "the embedded taxonomy")
        yield import_records(project, library_records(), "the embedded catalogue")
        with working("measuring learners"):
            evaluated = evaluate_project(project)
        yield evaluated
        with working("training"):
            trained = train(project)
        yield trained
        yield import_records(project, library_arrivals(), "the new arrivals")
        note = unseen_note()
        with working("suggesting"):
            suggestions = suggest(project, note)
        yield Unseen(note, suggestions)


def _create(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()):
        raise Mistake(
            f"{folder} has files of its own: name an empty or a new folder with --dir"
        )
    create(folder, Settings(NAME))


def _require_demo(project: Project) -> None:
    """Refuse a project of somebody's own: the demo would mix its catalogue in."""
    if project.settings.name != NAME:
        raise Mistake(
            f"{project.folder} holds the project {project.settings.name!r}: name "
            "another folder for the demo with --dir"
        )
