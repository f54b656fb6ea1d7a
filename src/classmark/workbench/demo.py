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
from classmark.workbench.evaluating import evaluate_project
from classmark.workbench.importing import import_records, put_taxonomy
from classmark.workbench.project import Project, create
from classmark.workbench.settings import FILE, Settings
from classmark.workbench.suggesting import suggest
from classmark.workbench.training import train
from classmark.workbench.views import Evaluated, Explained, Table, Trained

NAME = "Eskerton town library"


@dataclass(frozen=True, slots=True)
class Unseen:
    """A document no model has seen, and the categories suggested for it."""

    text: str
    suggestions: list[Explained]


def demonstrate(folder: Path) -> Iterator[Table | Trained | Evaluated | Unseen]:
    """Import, evaluate, train and suggest; yield what each step found.

    The new arrivals come in last: nobody has classified them, they wait.
    """
    if not (folder / FILE).exists():
        create(folder, Settings(NAME))
    with Project(folder) as project:
        yield put_taxonomy(project, library_categories(), "the embedded taxonomy")
        yield import_records(project, library_records(), "the embedded catalogue")
        yield evaluate_project(project)
        yield train(project)
        yield import_records(project, library_arrivals(), "the new arrivals")
        note = unseen_note()
        yield Unseen(note, suggest(project, note))
