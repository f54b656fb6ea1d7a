"""Read the whole log again: does it give the ranker that is in service?"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from classmark.problems import DamagedFolder, Mistake
from classmark.workbench.learning.fit import DESCENDING, LEARNER, PLAIN
from classmark.workbench.learning.live import (
    TRAINED,
    Learner,
    Origin,
    base_of,
    by_margins,
    by_nodes,
    from_model,
    from_nothing,
    how_trained,
    open_learner,
)
from classmark.workbench.learning.models import open_model
from classmark.workbench.learning.train import fit_at
from classmark.workbench.results import Cell, Table
from classmark.workbench.settings import LearningSettings, with_loss
from classmark.workbench.store.replay import Moment

if TYPE_CHECKING:
    from classmark.workbench.project import Project


COMPARED = 200  # documents whose scores are compared


def rebuild(project: Project) -> Table:
    """Make the live ranker from the log, compare it with the present one, use it.

    The training that live learning began with is done again on what the log said then;
    every act since is learned again, with as many re-visits as were made on it. A model
    that goes down a tree learns nothing between two trainings: it is trained again on
    what the log said then, and compared.
    """
    base = base_of(project)
    how = how_trained(project, base) if base else None
    if how and how.strategy in DESCENDING:
        return _tree_again(project)
    if how and by_nodes(how):
        raise Mistake(
            f"model {base} ({how.strategy}, {how.base}) does not learn from every "
            "decision: run classmark train to learn them, or classmark train --base "
            "svm for a model that does"
        )
    after = _begin(project)
    if after is None:
        raise Mistake(_remedy(how or project.settings.learning))
    with project.store.transaction():
        before = _present(project)
        if isinstance(before, Learner):
            before.catch_up()
        after.catch_up()
    after.save()
    row: dict[str, Cell] = {
        "acts": after.moment.acts,
        "documents": len(after.ranker.handles),
        "categories": len(after.moment.categories()),
        "difference": _difference(before, after),
    }
    note = "difference: the largest of a weight, relative to the largest weight"
    return Table("Rebuilt from the log", [row], note)


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


def _present(project: Project) -> Learner | str:
    """The live ranker as it was saved, or why there is none."""
    if project.lives.current() is None:
        return "nothing to compare with"
    try:
        found = open_learner(project)
    except DamagedFolder:
        return "it was damaged"
    return "nothing to compare with" if found is None else found


def _tree_again(project: Project) -> Table:
    """Train a top-down model again, and compare the scores of what it learned from."""
    moment, settings = _then(project)
    fitted = fit_at(project, moment, settings)
    folder = project.models.folder / base_of(project)
    before = open_model(folder)
    texts = [project.text_of(moment.record(id_)) for id_ in fitted.ids[:COMPARED]]
    old, new = before.scores(texts), fitted.model.scores(texts)
    same = before.categories == fitted.model.categories
    row: dict[str, Cell] = {
        "acts": moment.acts,
        "documents": len(fitted.ids),
        "categories": len(moment.categories()),
        "difference": float(np.abs(old - new).max()) if same else "other categories",
    }
    note = (
        f"difference: the largest of a score over {len(texts)} documents; what was "
        "decided since is learned with classmark train"
    )
    return Table("Trained again from the log", [row], note)


def _then(project: Project) -> tuple[Moment, LearningSettings]:
    """The moment the model in service was trained at, and how."""
    base = base_of(project)
    detail = project.store.last_event(TRAINED, model=base)
    if "upto" not in detail:
        raise Mistake(
            f"the log does not say how model {base} was trained: run classmark train"
        )
    how = {"strategy": PLAIN} | with_loss(
        detail["settings"]
    )  # before there were strategies
    return Moment(project.store, detail["upto"]), LearningSettings(**how)


def _begin(project: Project) -> Learner | None:
    base = base_of(project)
    if not base:
        return from_nothing(project)
    moment, settings = _then(project)
    fitted = fit_at(project, moment, settings)
    origin = Origin(base, asdict(settings))
    return from_model(project, fitted.model, fitted.ids, moment, origin)


def _difference(before: Learner | str, after: Learner) -> Cell:
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
