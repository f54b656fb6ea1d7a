"""Make the ranker again: without acts undone since its training, and from the log."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.problems import DamagedFolder, Mistake, worded
from classmark.workbench.learning import fit
from classmark.workbench.learning.learner import (
    LiveFacts,
    LiveLearner,
    from_model,
    from_nothing,
    open_learner,
    training_of,
)
from classmark.workbench.learning.models import base_of, open_model
from classmark.workbench.learning.train import TrainedModel, fit_at, put_in_service
from classmark.workbench.results import Cell, Table
from classmark.workbench.store.log import LogReplay

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.settings import LearningSettings

COMPARED = 200  # documents whose scores are compared after a rebuild


def train_again(project: Project) -> str:
    """Train the model in service again, without what was undone since; return its name.

    The training is the one that was done then, on what the log would have said without
    the acts that were undone since: so they are unlearned wholly. Decisions made since
    are learned as ever. "" : none of the acts that it was trained on was undone, or
    none holds again.
    """
    training = training_of(project, base_of(project))
    if not training.is_outdated(project.store):
        return ""
    again = _as_then(project)
    if again.learner is not None:
        again.learner.save()
    return again.name


class _Again(NamedTuple):
    """A training done once more: the model's name, and the live ranker it makes."""

    name: str
    moment: LogReplay
    fitted: TrainedModel
    learner: LiveLearner | None


def _as_then(project: Project) -> _Again:
    """Do the training of the model in service again, without what was undone since.

    Where that makes another model, it is put in service.
    """
    base, store = base_of(project), project.store
    training = training_of(project, base)
    if training.upto is None or training.how is None or training.asked is None:
        raise Mistake(
            f"the log does not say how model {base} was trained: "
            f"{worded('run classmark train')}"
        )
    upto, without = training.upto, store.undone_since(training.upto)
    facts = LiveFacts(base, {}, upto, set(without))
    moment = LogReplay(store.log(), upto, facts.skips)
    moment.texts = store.texts_before(upto, without)
    if without == training.without:
        fitted = fit_at(project, moment, training.how, training.meaning)
    else:
        asked, select = training.asked, training.select
        fitted = fit_at(project, moment, asked, training.meaning, select=select)
        how = {"asked": asdict(asked), "select": select, "without": sorted(without)}
        base = put_in_service(project, fitted, moment, **how)
    learner = from_model(project, fitted, moment, base, without)
    return _Again(base, moment, fitted, learner)


def rebuild(project: Project) -> Table:
    """Make the live ranker from the log, compare it with the present one, use it.

    The training that live learning began with is done again on what the log said then;
    every act since is learned again, with as many re-visits as were made on it. A model
    that goes down a tree learns nothing between two trainings: it is trained again on
    what the log said then, and compared.
    """
    base = base_of(project)
    how = training_of(project, base).how
    if how and fit.by_nodes(how) and how.strategy not in fit.DESCENDING:
        raise Mistake(
            f"model {base} ({how.strategy}, {how.base}) does not learn from every "
            f"decision: {worded('run classmark train')} to learn them, or "
            f"{worded('classmark train --base svm')} for a model that does"
        )
    before = _present(project)
    if not base:
        after = from_nothing(project)
    else:
        _, moment, fitted, after = _as_then(project)
        if fitted.settings.strategy in fit.DESCENDING:
            return _compare_trees(project, base, moment, fitted)
    if after is None:
        raise Mistake(_remedy(how or project.settings.learning))
    with project.store.transaction():
        if base:
            after.save()  # what undoing goes back to
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
    if fit.learns_live(settings):
        return (
            f"the memory given ({settings.memory}) does not hold the weights that "
            "decisions change: "
            + worded("run classmark train --memory with more first")
        )
    if settings.learner == fit.LEARNER:
        return (
            f"the loss {settings.loss} does not learn from every decision: "
            f"{worded('run classmark train --loss dom first')}"
        )
    remedy = worded("run classmark train --learner plm first")
    if fit.learns_live(replace(settings, vote=False)):
        remedy = worded("run classmark train --no-vote first")
    return f"{fit.what_learns(settings)} does not learn from every decision: {remedy}"


def _present(project: Project) -> LiveLearner | str:
    """The live ranker as it was saved, or why there is none."""
    if project.lives.current() is None:
        return "nothing to compare with"
    try:
        learner = open_learner(project)
    except DamagedFolder:
        return "it was damaged"
    return "nothing to compare with" if learner is None else learner


def _compare_trees(
    project: Project, base: str, moment: LogReplay, fitted: TrainedModel
) -> Table:
    """Compare the scores of documents that a top-down model learned from."""
    before = open_model(project, project.models.folder / base)
    texts = [
        project.text_of(project.store.record(id_)) for id_ in fitted.ids[:COMPARED]
    ]
    difference: Cell = "other categories"
    if before.categories == fitted.model.categories:
        old, new = before.scores(texts), fitted.model.scores(texts)
        difference = float(np.abs(old - new).max())
    note = (
        f"difference: the largest of a score over {len(texts)} documents; what was "
        f"decided since is learned {worded('with classmark train')}"
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
