"""How good are learners and strategies on documents they have not seen?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classmark.corpus.splits import folds
from classmark.experiments.answers import FEW
from classmark.experiments.answers import RARE as RECALL
from classmark.experiments.evaluate import Evaluation, Split, evaluate_each
from classmark.experiments.in_tree import in_tree
from classmark.measures import macro_t_test, micro_sign_test
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
    from classmark.weighting.vectorizer import Vectorizer
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
    if not records:
        raise Mistake(
            f"{project.folder} has no labelled documents to measure on: import some "
            "with labels (classmark import FILE), or label them (classmark decide)"
        )
    categories = project.store.categories()
    grades = project.settings.learning.grades
    collection = collected(project, records, grades, categories)
    task = task_of(collection, categories)
    splits, how = _splits(records, n_folds)
    learners = {
        name: _Learning(new_vectorizer(project, settings), task, settings)
        for name, settings in said.items()
    }
    found = evaluate_each(collection, splits, learners)
    plot = project.folder / "reports" / "evaluation.svg"
    curves = {name: result.precision for name, result in found.items()}
    rank_curves(curves, plot, f"{project.settings.name}: precision along the ranking")
    rows = _rows(what, found, task)
    drawn = (
        _draw_induced(project, found) if any(s.rare for s in said.values()) else None
    )
    return Evaluated(Table("Evaluation", rows, _note(how, what, task)), plot, drawn)


def _draw_induced(project: Project, found: dict[str, Evaluation]) -> Path:
    """Draw how often categories are right and how often each strategy assigns them."""
    from classmark.experiments.rare_report import induced_curves

    first = next(iter(found.values()))
    lines = {"true": _often(first.wanted)}
    lines |= {name: _often(result.assigned) for name, result in found.items()}
    path = project.folder / "reports" / "rare.svg"
    title = "How often is a category right, and how often is it chosen?"
    induced_curves({project.settings.name: lines}, path, title)
    return path


def _often(labels: Sequence[Sequence[int]]) -> list[int]:
    """How often each category occurs, most often first."""
    counts = Counter(label for own in labels for label in own)
    return sorted(counts.values(), reverse=True)


class _Learning:
    """Learns from some of a task's texts, as the settings say."""

    def __init__(
        self, vectorizer: Vectorizer, task: Task, settings: LearningSettings
    ) -> None:
        self.vectorizer, self.task, self.settings = vectorizer, task, settings

    def __call__(self, train: NDArray[np.int64]) -> TextRanker:
        vectorizer = copy(self.vectorizer)
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
            row |= _against(first, result) | {"seconds": result.seconds}
        rows.append(row | {"tested": result.tested})
    return rows


def _against(first: Evaluation, other: Evaluation) -> dict[str, Cell]:
    """Could the difference from the first be chance? By decisions, and by F1."""
    if other is first:
        return {"sign_p": None, "t_p": None}
    sets = (other.wanted, other.assigned, first.assigned)
    several = len({label for lines in sets for own in lines for label in own}) > 1
    return {
        "sign_p": micro_sign_test(*sets).p_value,
        "t_p": macro_t_test(*sets).p_value if several else None,
    }


def _note(how: str, what: str, task: Task) -> str:
    if has_tree(task.tree):
        how += (
            "; tree_error: edges from the best category to the nearest right one; "
            "hierarchical_f1, detected, micro_f1, macro_f1: of the best categories, as "
            f"many as are right; {RECALL}: mean over categories learned from {FEW} "
            "documents or fewer"
        )
    if what == "strategy":
        how += (
            "; against the first, sign_p: micro sign test, t_p: macro t-test over the "
            "F1 of the categories"
        )
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
