"""Make the ranker again: without acts undone since its training, and from the log."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from classmark.language import _
from classmark.problems import DamagedFolder, Mistake, refusal, worded
from classmark.rankers.online import RankerBeside
from classmark.workbench.learning import fit, unfitted
from classmark.workbench.learning.learner import (
    LiveFacts,
    LiveLearner,
    from_model,
    from_nothing,
    open_learner,
)
from classmark.workbench.learning.models import base_of, open_model
from classmark.workbench.learning.train import TrainedModel, fit_at, put_in_service
from classmark.workbench.learning.trained import training_of
from classmark.workbench.results import Cell, Table
from classmark.workbench.store.log import LogReplay

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.settings import LearningSettings

OF_WEIGHTS = "difference: the largest of a weight, relative to the largest weight"
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
        raise refusal(
            "how model %(base)s was trained is not recorded: %(remedy)s",
            base=base,
            remedy=worded("run classmark train"),
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
    every act since is learned again, with as many re-visits as were made on it. Where
    acts are learned beside the model, its scores are compared, too.
    """
    base = base_of(project)
    how = training_of(project, base).how
    _require_live(base, how)
    before, fitted = _present(project), None
    if not base:
        after = from_nothing(project)
    else:
        name, _, fitted, after = _as_then(project)
        fitted = fitted if name == base else None
    if after is None:
        raise Mistake(_remedy(how or project.settings.learning))
    with project.store.transaction():
        if base:
            after.save()  # what undoing goes back to
        if isinstance(before, LiveLearner):
            before.catch_up()
        after.catch_up()
    after.save()
    difference, note = _difference(before, after), OF_WEIGHTS
    if fitted and isinstance(after.ranker.ranker, RankerBeside):
        note += f"; and of a score that the training gives {COMPARED} documents"
        scores = _difference_of_models(project, base, fitted)
        if isinstance(difference, float) and isinstance(scores, float):
            difference = max(difference, scores)
        elif isinstance(difference, float):
            difference = scores
    row = {
        "acts": after.moment.acts,
        "documents": len(after.ranker.handles),
        "categories": len(after.moment.names),
        "difference": difference,
    }
    return Table("Rebuilt from the log", [row], note)


def _require_live(base: str, how: LearningSettings | None) -> None:
    """Refuse a model that does not learn from every decision."""
    if how and fit.by_nodes(how) and not fit.goes_on(how):
        raise refusal(
            "model %(base)s (%(strategy)s, %(base2)s) does not learn from every "
            "decision: %(remedy)s to learn them, or %(remedy2)s for a model that "
            "does",
            base=base,
            strategy=how.strategy,
            base2=how.base,
            remedy=worded("run classmark train"),
            remedy2=worded("classmark train --base svm"),
        )


def _remedy(settings: LearningSettings) -> str:
    """What to do where the weights are not kept for learning on, or never were."""
    if fit.learns_live(settings):
        return _(
            "the memory given (%(memory)s) does not hold the weights that decisions "
            "change: %(remedy)s",
            memory=settings.memory,
            remedy=worded("run classmark train --memory with more first"),
        )
    if settings.learner == unfitted.LEARNER:
        return _(
            "%(what)s does not learn from every decision: %(remedy)s",
            what=_("the loss %(loss)s", loss=settings.loss),
            remedy=worded("run classmark train --loss dom first"),
        )
    remedy = worded("run classmark train --learner plm first")
    if fit.learns_live(replace(settings, vote=False)):
        remedy = worded("run classmark train --no-vote first")
    return _(
        "%(what)s does not learn from every decision: %(remedy)s",
        what=fit.what_learns(settings),
        remedy=remedy,
    )


def _present(project: Project) -> LiveLearner | str:
    """The live ranker as it was saved, or why there is none."""
    if project.lives.current() is None:
        return _("nothing to compare with")
    try:
        learner = open_learner(project)
    except DamagedFolder:
        return _("the previous model was damaged")
    return _("nothing to compare with") if learner is None else learner


def _difference_of_models(project: Project, base: str, fitted: TrainedModel) -> Cell:
    """The largest difference of a score of documents that were learned from."""
    before = open_model(project, project.models.folder / base)
    if before.categories != fitted.model.categories:
        return "other categories"
    texts = [
        project.text_of(project.store.record(id_)) for id_ in fitted.ids[:COMPARED]
    ]
    old, new = before.scores(texts), fitted.model.scores(texts)
    known = np.isfinite(old) | np.isfinite(new)
    return float(np.abs(old[known] - new[known]).max(initial=0.0))


def _difference(before: LiveLearner | str, after: LiveLearner) -> Cell:
    """The largest difference of a weight, relative to the largest weight."""
    if isinstance(before, str):
        return before
    duals = [learner.ranker.dual for learner in (before, after)]
    if before.ranker.categories != after.ranker.categories:
        return _("it has other categories")
    if duals[0].retired != duals[1].retired:
        return _("it ranks other categories")
    weights = [dual.W for dual in duals]
    if weights[0].shape != weights[1].shape:
        return f"{weights[0].shape[0]} and {weights[1].shape[0]} terms"
    old, new = ((w, dual.tau) for w, dual in zip(weights, duals, strict=True))
    if old[1].shape != new[1].shape:
        return _("it has other thresholds")
    largest = max(_largest(old[0]), _largest(old[1]), 1e-30)
    differences = (_largest(a - b) for a, b in zip(old, new, strict=True))
    return max(differences) / largest


def _largest(values: Any) -> float:
    """The largest absolute value, of a matrix that may be sparse."""
    data = values.data if hasattr(values, "indptr") else values
    return float(np.abs(data).max(initial=0.0))
