"""Read the whole log again: does it give the ranker that is in service?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from classmark.problems import DamagedFolder, Mistake
from classmark.workbench.learning.fit import (
    DESCENDING,
    LEARNER,
    by_margins,
    by_nodes,
)
from classmark.workbench.learning.live import (
    LiveLearner,
    base_of,
    from_model,
    from_nothing,
    open_learner,
    trained_at,
)
from classmark.workbench.learning.models import open_model
from classmark.workbench.learning.train import TrainedModel, fit_at
from classmark.workbench.results import Cell, Table
from classmark.workbench.store.log import LogReplay

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.settings import LearningSettings


COMPARED = 200  # documents whose scores are compared


def rebuild(project: Project) -> Table:
    """Make the live ranker from the log, compare it with the present one, use it.

    The training that live learning began with is done again on what the log said then;
    every act since is learned again, with as many re-visits as were made on it. A model
    that goes down a tree learns nothing between two trainings: it is trained again on
    what the log said then, and compared.
    """
    base = base_of(project)
    upto, how = trained_at(project, base) if base else (None, None)
    if how and by_nodes(how) and how.strategy not in DESCENDING:
        raise Mistake(
            f"model {base} ({how.strategy}, {how.base}) does not learn from every "
            "decision: run classmark train to learn them, or classmark train --base "
            "svm for a model that does"
        )
    if not base:
        after = from_nothing(project)
    else:
        if upto is None or how is None:
            raise Mistake(
                f"the log does not say how model {base} was trained: run classmark "
                "train"
            )
        moment = LogReplay(project.store.log(), upto)
        fitted = fit_at(project, moment, how)
        if how.strategy in DESCENDING:
            return _compare_trees(project, moment, fitted)
        after = from_model(project, fitted, moment, base)
    if after is None:
        raise Mistake(_remedy(how or project.settings.learning))
    with project.store.transaction():
        before = _present(project)
        if isinstance(before, LiveLearner):
            before.catch_up()
        after.catch_up()
    after.save()
    note = "difference: the largest of a weight, relative to the largest weight"
    difference, documents = _difference(before, after), len(after.ranker.handles)
    rows = [_row(after.moment, documents, difference)]
    return Table("Rebuilt from the log", rows, note)


def _row(moment: LogReplay, documents: int, difference: Cell) -> dict[str, Cell]:
    return {
        "acts": moment.acts,
        "documents": documents,
        "categories": len(moment.categories()),
        "difference": difference,
    }


def _remedy(settings: LearningSettings) -> str:
    """What to do where the weights are not kept for learning on, or never were."""
    if by_margins(settings):
        return (
            f"the memory given ({settings.memory}) does not hold the weights that "
            "decisions change: run classmark train --memory with more first"
        )
    if settings.learner == LEARNER:
        return (
            f"the loss {settings.loss} does not learn from every decision: run "
            "classmark train --loss dom first"
        )
    return (
        "the learner of this project does not learn from every decision: run "
        "classmark train --learner plm first"
    )


def _present(project: Project) -> LiveLearner | str:
    """The live ranker as it was saved, or why there is none."""
    if project.lives.current() is None:
        return "nothing to compare with"
    try:
        learner = open_learner(project)
    except DamagedFolder:
        return "it was damaged"
    return "nothing to compare with" if learner is None else learner


def _compare_trees(project: Project, moment: LogReplay, fitted: TrainedModel) -> Table:
    """Compare the scores of documents that a top-down model learned from."""
    before = open_model(project.models.folder / base_of(project))
    texts = [
        project.text_of(project.store.record(id_)) for id_ in fitted.ids[:COMPARED]
    ]
    difference: Cell = "other categories"
    if before.categories == fitted.model.categories:
        old, new = before.scores(texts), fitted.model.scores(texts)
        difference = float(np.abs(old - new).max())
    note = (
        f"difference: the largest of a score over {len(texts)} documents; what was "
        "decided since is learned with classmark train"
    )
    rows = [_row(moment, len(fitted.ids), difference)]
    return Table("Trained again from the log", rows, note)


def _difference(before: LiveLearner | str, after: LiveLearner) -> Cell:
    """The largest difference of a weight, relative to the largest weight."""
    if isinstance(before, str):
        return before
    duals = [learner.ranker.dual for learner in (before, after)]
    if before.ranker.categories != after.ranker.categories:
        return "other categories"
    if duals[0].retired != duals[1].retired:
        return "other categories are ranked"
    old, new = (np.append(dual.W, dual.tau) for dual in duals)
    if old.shape != new.shape:
        return f"{duals[0].W.shape[0]} and {duals[1].W.shape[0]} terms"
    largest = max(float(np.abs(old).max(initial=0.0)), 1e-30)
    return float(np.abs(old - new).max(initial=0.0)) / largest
