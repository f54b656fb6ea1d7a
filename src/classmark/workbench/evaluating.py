"""How good are learners and strategies on documents they have not seen?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classmark.corpus.splits import folds
from classmark.experiments.evaluate import Evaluation, Split, evaluate_by
from classmark.experiments.in_tree import in_tree
from classmark.measures import micro_sign_test
from classmark.problems import Mistake
from classmark.rankers.text import LEARNERS
from classmark.workbench.collecting import TEST, collected, labelled, part_of
from classmark.workbench.fitting import Task, fit, new_ranker, new_vectorizer, task_of
from classmark.workbench.held_out import voting
from classmark.workbench.strategies import LEARNER, PLAIN, has_tree, require
from classmark.workbench.views import Cell, Evaluated, Table

if TYPE_CHECKING:
    from classmark.formats.record import Record
    from classmark.rankers.text import TextRanker
    from classmark.workbench.project import Project
    from classmark.workbench.settings import LearningSettings

SHOWN = (
    "one_error", "average_precision", "coverage", "max_f1", "loss1", "loss2", "loss3",
    "calibration_error",
)  # fmt: skip
COMPARED = ("one_error", "average_precision", "coverage", "max_f1")
RARE = " + rare"


def evaluate_project(
    project: Project, learners: Sequence[str] = (), n_folds: int | None = None
) -> Evaluated:
    """Measure learners on the documents set apart, or by cross-validation."""
    said = {name: _learner(project, name) for name in learners or tuple(LEARNERS)}
    return _measured(project, "learner", said, n_folds)


def evaluate_strategies(
    project: Project,
    strategies: Sequence[str],
    learning: LearningSettings | None = None,
    n_folds: int | None = None,
) -> Evaluated:
    """Compare strategies, each with the first: who is right where they differ?

    learning : with ``rare``, each is measured without and with the votes on rare
    categories.
    """
    learning = learning or project.settings.learning
    said: dict[str, LearningSettings] = {}
    for name in dict.fromkeys(strategies):
        said[name] = replace(learning, strategy=name, rare=False)
        if learning.rare:
            said[name + RARE] = replace(learning, strategy=name, rare=True)
    return _measured(project, "strategy", said, n_folds)


def _learner(project: Project, name: str) -> LearningSettings:
    """The project's settings with another learner; only plm looks at the tree."""
    settings = replace(project.settings.learning, learner=name)
    return settings if name == LEARNER else replace(settings, strategy=PLAIN)


def _measured(
    project: Project, what: str, said: dict[str, LearningSettings], n_folds: int | None
) -> Evaluated:
    from classmark.experiments.figures import rank_curves

    for settings in said.values():
        require(settings)
        new_ranker(settings)
    records = labelled(project)
    categories = project.store.categories()
    grades = project.settings.learning.grades
    collection = collected(project, records, grades, categories)
    task = task_of(collection, categories)
    splits, how = _splits(records, n_folds)
    found = {
        name: evaluate_by(collection, splits, _Learning(project, task, settings))
        for name, settings in said.items()
    }
    plot = project.folder / "reports" / "evaluation.svg"
    curves = {name: result.precision for name, result in found.items()}
    rank_curves(curves, plot, f"{project.settings.name}: precision along the ranking")
    rows = _rows(what, found, task)
    return Evaluated(Table("Evaluation", rows, _note(how, what, task)), plot)


class _Learning:
    """Learns from some of a task's texts, as the settings say."""

    def __init__(
        self, project: Project, task: Task, settings: LearningSettings
    ) -> None:
        self.project, self.task, self.settings = project, task, settings

    def __call__(self, train: NDArray[np.int64]) -> TextRanker:
        vectorizer = new_vectorizer(self.project, self.settings)
        which = train.tolist()
        fitted = fit(self.task, vectorizer, self.settings, which)
        return voting(fitted, self.task, which) if self.settings.rare else fitted.model


def _rows(what: str, found: dict[str, Evaluation], task: Task) -> list[dict[str, Cell]]:
    names = task.collection.categories
    first = next(iter(found.values()))
    rows: list[dict[str, Cell]] = []
    for name, result in found.items():
        shown = SHOWN if what == "learner" else COMPARED
        row: dict[str, Cell] = {what: name}
        row |= {measure: result.measures.get(measure) for measure in shown}
        if has_tree(task.tree):
            row |= in_tree(result, task.tree, names)
        if what == "strategy":
            test = micro_sign_test(result.wanted, result.assigned, first.assigned)
            row |= {"sign_p": None if result is first else test.p_value}
            row |= {"seconds": result.seconds}
        rows.append(row | {"tested": result.tested})
    return rows


def _note(how: str, what: str, task: Task) -> str:
    if has_tree(task.tree):
        how += (
            "; tree_error: edges from the best category to the nearest right one; "
            "hierarchical_f1, detected: of the best categories, as many as are right"
        )
    if what == "strategy":
        how += "; sign_p: micro sign test against the first"
    return how


def _splits(records: Sequence[Record], n_folds: int | None) -> tuple[list[Split], str]:
    parts = np.array([part_of(record) for record in records])
    if n_folds is None and (parts == TEST).any():
        test: NDArray[np.int64] = np.flatnonzero(parts == TEST)
        rest: NDArray[np.int64] = np.flatnonzero(parts != TEST)
        return [(rest, test)], (
            f"trained on {len(rest)} documents, tested on the {len(test)} set apart"
        )
    count = 5 if n_folds is None else n_folds
    if not 2 <= count <= len(records):
        raise Mistake(
            f"folds is {count} with {len(records)} labelled documents: "
            "use 2 or more, and at most one per document"
        )
    return list(
        folds(len(records), count, random_state=0)
    ), f"{count}-fold cross-validation"
