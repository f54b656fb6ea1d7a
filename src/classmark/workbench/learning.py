"""Learn at once from what was decided; where does that begin, and why not?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from classmark.rankers.live import LiveTextRanker, load_kernels
from classmark.rankers.preference import PreferenceRanker
from classmark.solvers.preference_live import LIVE
from classmark.weighting.live import LiveVectorizer
from classmark.workbench.learner import Learner, Origin, base_of
from classmark.workbench.moment import Moment
from classmark.workbench.settings import LearningSettings
from classmark.workbench.strategies import DESCENDING, FLAT, PLAIN
from classmark.workbench.supervising import spoken_of
from classmark.workbench.views import Learned, Logged

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.project import Project

BUDGET = 0.010  # seconds of re-visits after a decision
USUAL_C = 3.0  # from nothing, without a center
TRAINED = "trained"  # the event


def and_learn(project: Project, logged: Logged) -> Logged:
    """Learn from what was just logged, and say so with it."""
    learned = learn_at_once(project)
    later = _why_later(project) if learned is None else ""
    return replace(logged, learned=learned, later=later)


def learn_at_once(project: Project) -> Learned | None:
    """Learn from what was decided since the last time; None: not without ``train``."""
    if not base_of(project) or project.lives.current() is not None:
        load_kernels()  # before others are kept waiting
    with project.store.transaction():
        learner = open_learner(project)
        if learner is None:
            return None
        learned = learner.catch_up()
    learner.save()
    return learned


def learner_in_service(project: Project) -> Learner | None:
    """The live ranker, come to the last act; None where it has learned nothing."""
    learner = open_learner(project)
    if learner is None or not learner.has_learned:
        return None
    if learner.is_behind:
        with project.store.transaction():
            learner.catch_up()
        learner.save()
    return learner


def open_learner(project: Project) -> Learner | None:
    """The live ranker as it was saved, or a new one; None where there can be none."""
    with project.store.transaction():  # nobody saves, or drops, another meanwhile
        base, folder = base_of(project), project.lives.current()
        if folder is not None:
            ranker, facts = LiveTextRanker.open(folder)
            origin = Origin(facts["base"], facts["settings"])
            before = asdict(LearningSettings()) | origin.settings
            if origin.base == base and (base or before == _settings(project)):
                moment = Moment(project.store, facts["upto"])
                return Learner(project, ranker, moment, origin, facts["used"])
        return None if base else from_nothing(project)


def from_nothing(project: Project) -> Learner | None:
    """A ranker that has seen nothing; None where the project's learner is another."""
    learning = project.settings.learning
    if not by_margins(learning):
        return None
    vectorizer = LiveVectorizer(project.settings.text.analyzer, learning.weighting)
    ranker = PreferenceRanker(learning.cost, learning.C or USUAL_C, budget=BUDGET)
    live = LiveTextRanker(vectorizer, ranker)
    moment = Moment(project.store, -1)
    return Learner(project, live, moment, Origin("", _settings(project)))


def from_model(
    project: Project,
    model: TextRanker,
    ids: Iterable[str],
    moment: Moment,
    origin: Origin,
) -> Learner | None:
    """Go on from a model just fitted at a moment; None where its learner cannot."""
    ranker = model.ranker.simple
    if not isinstance(ranker, PreferenceRanker) or not ranker.can_go_on:
        return None
    number = moment.numbers()
    used = {number[name] for r in moment.records() for name in spoken_of(r)}
    ranker.set_params(budget=BUDGET)
    live = LiveTextRanker.start(model, ids)
    live.categories[:] = [str(number[name]) for name in live.categories]
    return Learner(project, live, moment, origin, used)


def by_margins(settings: LearningSettings) -> bool:
    """Whether the learner, with this cost, can learn from one decision."""
    return settings.learner == "plm" and settings.cost in LIVE


def by_nodes(settings: LearningSettings) -> bool:
    """Whether ``base`` decides: at the nodes of a tree, or over all categories."""
    flat = settings.strategy == FLAT and settings.base != "svm"
    return settings.strategy in DESCENDING or (flat and settings.learner == "plm")


def how_trained(project: Project, base: str) -> LearningSettings | None:
    """The settings a model was trained with, as the log says; None if it does not."""
    how = project.store.last_event(TRAINED, model=base).get("settings")
    if not how:
        return None
    return LearningSettings(**{"strategy": PLAIN} | how)  # before there were strategies


def _settings(project: Project) -> dict[str, Any]:
    """What a ranker that begins with nothing depends on."""
    text = project.settings.text
    said = {"analyzer": text.analyzer, "fields": list(text.fields)}
    return asdict(project.settings.learning) | said


def _why_later(project: Project) -> str:
    """Why nothing was learned at once, and what to do."""
    base = base_of(project)
    if not base:
        learning = project.settings.learning
        name = learning.cost if learning.learner == "plm" else learning.learner
        return f"not learned yet: {name} learns from all at once, with classmark train"
    how = how_trained(project, base)
    if how and how.strategy in DESCENDING:
        return (
            f"kept in the log, not learned yet: model {base} goes down the tree "
            f"({how.strategy}), and learns with the next classmark train"
        )
    if how and by_margins(how) and not by_nodes(how):
        return f"not learned yet: to go on from model {base}, run classmark rebuild"
    return (
        f"not learned yet: model {base} stays as it is until the next classmark train"
    )
