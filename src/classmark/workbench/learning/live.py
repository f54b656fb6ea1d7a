"""The ranker of a project in service: it learns what is decided, and is asked."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from classmark.arrays import Floats
from classmark.problems import Mistake, worded
from classmark.rankers.text_ranker import (
    Suggestion,
    TextRanker,
    load_kernels,
)
from classmark.validation import byte_size
from classmark.workbench.learning import fit
from classmark.workbench.learning.learner import (
    LiveLearner,
    LostOrigin,
    Overtaken,
    Writing,
    open_learner,
    training_of,
)
from classmark.workbench.learning.models import base_of, trained_model, with_votes
from classmark.workbench.results import Learned, Logged

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.workbench.project import Project


SAVED_AFTER = 50  # acts
SAVED_EVERY = 20.0  # seconds, at least, between two savings while acts come fast
QUICK = 60.0  # seconds of a training that is done again without being asked for
MANY = 2000  # acts that are learned without a training before
TERMS, ITEM = 20, 8  # new terms of a document, about; bytes of a weight


class SharedTextRanker(TextRanker):
    """What a learner knows at the moment it is asked; nobody asks while it learns."""

    def __init__(self, learner: LiveLearner) -> None:
        self.learner, self.lock = learner, learner.lock
        self._labels: dict[str, int] | None = None
        self.settle()

    def settle(self) -> None:
        """Be the ranker of now; it changes unless one holds the lock."""
        with self.lock:
            if self._labels is not self.learner.labels:
                self._labels = self.learner.labels
                model = with_votes(self.learner.project, self.learner.model())
                super().__init__(model.vectorizer, model.ranker, model.categories)
                self.calibrator = model.calibrator

    def suggest(self, text: str, k: int = 10, terms: int = 5) -> list[Suggestion]:
        """The best categories for a text, each with its strongest terms."""
        with held(self):
            return super().suggest(text, k, terms)

    def scores(self, texts: Iterable[str]) -> Floats:
        """Scores of all categories, shape (texts, categories)."""
        with held(self):
            return super().scores(texts)


@contextmanager
def held(model: TextRanker) -> Iterator[None]:
    """Inside, a model does not change, and its parts may be asked one by one."""
    if not isinstance(model, SharedTextRanker):
        yield
        return
    with model.lock:
        model.settle()
        yield


class Service:
    """A project's ranker: live where it can be, else as it was trained last.

    project : an open project of its own;  writing : makes a short transaction of it,
    where others write beside it;  base : the trained model in service;  learner : None
    where nothing is learned before the next training. Only one thread calls ``open``,
    ``learn`` and ``save``.
    """

    def __init__(self, project: Project, writing: Writing | None = None) -> None:
        self.project, self._writing = project, writing
        self.base = ""
        self.learner: LiveLearner | None = None
        self.model: TextRanker | None = None
        self.saved = -1
        self._saved_at = -SAVED_EVERY
        self._live: Path | None = None

    @property
    def upto(self) -> int:
        """The last act that was learned."""
        return -1 if self.learner is None else self.learner.moment.upto

    def open(self) -> None:
        """Open what is in service now."""
        self.base = base_of(self.project)
        self._live = self.project.lives.current()
        self.learner = learner = open_learner(self.project)
        if learner is not None and self._writing is not None:
            learner.writing, learner.checkpoints = self._writing, []
            if self._is_too_much(learner):
                self.learner = None
        self.saved = self.upto
        self._show()

    def warm(self) -> None:
        """Load what learns and ranks, so that nobody has to wait for it later."""
        load_kernels()
        if self.model is not None:
            self.model.suggest("", 1)  # blank: no source of vectors is asked

    def is_outdated(self) -> bool:
        """Whether another model is in service, or can be learned from only now."""
        if base_of(self.project) != self.base:
            return True
        return self.learner is None and self.project.lives.current() != self._live

    def _is_too_much(self, learner: LiveLearner) -> bool:
        """Whether one that begins with nothing has more before it than it can hold."""
        if learner.has_learned:
            return False
        (acts,) = self.project.store.run(
            "SELECT count(*) FROM judgments WHERE document IS NOT NULL"
        ).fetchone()
        weights = TERMS * (acts + 1) * len(learner.labels) * ITEM
        memory = byte_size(self.project.settings.learning.memory)
        return bool(acts > MANY or weights > memory)

    def _show(self) -> None:
        """Let the learner be asked, once it has learned something."""
        model, learner = self.model, self.learner
        if learner is None:
            self.model = trained_model(self.project)
        elif not learner.has_learned:
            self.model = None
        elif isinstance(model, SharedTextRanker) and model.learner is learner:
            model.settle()
        else:
            self.model = SharedTextRanker(learner)

    def look_again(self) -> None:
        """Know the categories of today; for a model that only training changes."""
        if self.learner is None:
            self._show()

    def learn(self) -> Learned | None:
        """Learn what was decided since; None where that needs a training."""
        if self.learner is None:
            return None
        try:
            learned = self.learner.catch_up()
        except Overtaken:
            self.open()
            return self.learn()
        except LostOrigin:
            self.learner = None
            self._show()
            return None
        except BaseException:
            self.open()  # it has come to no moment of the log
            raise
        self._show()
        rested = time.monotonic() - self._saved_at >= SAVED_EVERY
        if rested and self.upto - self.saved >= SAVED_AFTER:
            self.save()
        return learned

    def save(self) -> None:
        """Keep what was learned for the next process."""
        if self.learner is not None and self.upto > self.saved:
            if self.learner.has_learned or self.project.lives.current() is not None:
                self.learner.save()
            self.saved, self._saved_at = self.upto, time.monotonic()


def and_learn(project: Project, logged: Logged) -> Logged:
    """Learn from what was just logged, and say so with it."""
    learned = learn_at_once(project)
    if later := unlearn_by_training(project):
        learned = learn_at_once(project)
    elif learned is None:
        later = _why_later(project)
    return replace(logged, learned=learned, later=later)


def is_unlearned_by_training(project: Project) -> bool:
    """Whether what was undone is unlearned by a training that does not take long."""
    training = training_of(project, base_of(project))
    return training.seconds <= QUICK and training.is_outdated(project.store)


def unlearn_by_training(project: Project) -> str:
    """Train again, without acts that were undone since the training; say so.

    A training that takes long, or cannot be done without them, is not done. "" : the
    model was trained on what holds.
    """
    base = base_of(project)
    if not training_of(project, base).is_outdated(project.store):
        return ""
    reason = f"model {base} was trained on acts that are undone since"
    if not is_unlearned_by_training(project):
        return f"{reason}: to unlearn them exactly, {worded('run classmark train')}"
    from classmark.workbench.learning.rebuild import train_again

    try:
        return f"{reason}: trained again without them, as model {train_again(project)}"
    except Mistake as problem:
        return f"{reason}, and cannot be trained without them: {problem}"


def learn_at_once(project: Project) -> Learned | None:
    """Learn from what was decided since the last time; None: not without ``train``."""
    if not base_of(project) or project.lives.current() is not None:
        load_kernels()  # before the time of re-visits is measured
    service = Service(project)
    service.open()
    learned = service.learn()
    service.save()
    return learned


def model_in_service(project: Project) -> TextRanker | None:
    """The live ranker, come to the last act, or the model trained last."""
    service = Service(project)
    service.open()
    if service.learner is not None and service.learner.has_learned:
        service.learn()
        service.save()
    return service.model


def _why_later(project: Project) -> str:
    """Why nothing was learned at once, and what to do."""
    base = base_of(project)
    if not base:
        learning, at_once = project.settings.learning, worded("with classmark train")
        if fit.learns_live(learning):
            return f"not learned yet: it is much, learn it all at once, {at_once}"
        name = fit.what_learns(learning)
        return f"not learned yet: {name} learns from all at once, {at_once}"
    how = training_of(project, base).how
    if how and how.strategy in fit.DESCENDING:
        return (
            f"kept in the log, not learned yet: model {base} goes down the tree "
            f"({how.strategy}), and learns {worded('with the next classmark train')}"
        )
    if how and fit.learns_live(how) and not fit.by_nodes(how):
        remedy = worded("run classmark rebuild")
        return f"not learned yet: to go on from model {base}, {remedy}"
    until = worded("until the next classmark train")
    return f"not learned yet: model {base} stays as it is {until}"
