"""The ranker of a project in service: it learns what is decided, and is asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING

from classmark.arrays import Floats
from classmark.language import _, joined
from classmark.problems import DamagedFolder, Mistake, worded
from classmark.rankers.linear import Standing
from classmark.rankers.live_text_ranker import load_kernels
from classmark.rankers.online import RankerBeside
from classmark.rankers.text_ranker import Suggestion, TextRanker
from classmark.storage import Unchecked, unchecked
from classmark.validation import byte_size
from classmark.workbench.learning import fit
from classmark.workbench.learning.learner import (
    LiveLearner,
    LostOrigin,
    Overtaken,
    Writing,
    open_learner,
)
from classmark.workbench.learning.models import base_of, trained_model, with_beside
from classmark.workbench.learning.trained import training_of
from classmark.workbench.results import Learned, Logged

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.workbench.project import Project


LOG = logging.getLogger(__name__)
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
                model = with_beside(self.learner.project, self.learner.model())
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

    def standings(self, text: str, ids: Iterable[str]) -> dict[str, Standing | None]:
        """Where some categories stand for a text; None for those not ranked."""
        with held(self):
            return super().standings(text, ids)


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
    ``learn`` and ``save``. Beside others, large files of the trained model are compared
    with their checksums after it is in service (``checked``): until then nothing that
    is learned beside it is saved, and damage withdraws both.
    """

    def __init__(self, project: Project, writing: Writing | None = None) -> None:
        self.project, self._writing = project, writing
        self.base = ""
        self.learner: LiveLearner | None = None
        self._model: TextRanker | None = None
        self.checked: set[Unchecked] = set()
        self._files: list[Unchecked] = []  # of the trained model, to be checked
        self._begun: set[Unchecked] = set()
        self._damaged: dict[Unchecked, str] = {}
        self.saved = -1
        self._saved_at = -SAVED_EVERY
        self._live: Path | None = None

    @property
    def model(self) -> TextRanker | None:
        """What is asked now; None: nothing to rank by. A damaged one is refused."""
        if self._damage:
            raise DamagedFolder(self._damage)
        return self._model

    @property
    def _damage(self) -> str:
        """What is wrong with a file of the trained model, as far as they are read."""
        return next(filter(None, map(self._damaged.get, self._files)), "")

    @property
    def upto(self) -> int:
        """The last act that was learned."""
        return -1 if self.learner is None else self.learner.moment.upto

    def open(self) -> None:
        """Open what is in service now."""
        self.base = base_of(self.project)
        self._live = self.project.lives.current()
        with self._checked_later() as self._files:
            self.learner = learner = open_learner(self.project)
        if learner is not None and self._writing is not None:
            learner.writing, learner.checkpoints = self._writing, []
            if self._is_too_much(learner):
                self.learner = None
        self.saved = self.upto
        self._show()

    def warm(self) -> None:
        """Load what learns and ranks, so that nobody has to wait for it later."""
        learner = self.learner
        if learner is None or not isinstance(learner.ranker.ranker, RankerBeside):
            load_kernels()
        if learner is not None and learner.has_learned:
            with learner.lock:
                learner.ranker.dual.reserve()
                learner.ranker.ranker.show_stream()
        if self.model is not None:
            self.model.suggest("", 1)  # blank: no source of vectors is asked

    def is_outdated(self) -> bool:
        """Whether another model is in service, or can be learned from only now.

        Without a model, whether the settings name another source of vectors: the one of
        before is sent no text any more.
        """
        if base_of(self.project) != self.base:
            return True
        if self.learner is None:
            return self.project.lives.current() != self._live
        source = self.project.settings.meaning.remembered.get("meaning", {})
        return not self.base and self.learner.facts.meaning != source

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
        model, learner = self._model, self.learner
        if learner is None:
            with self._checked_later() as self._files:
                self._model = trained_model(self.project)
        elif not (learner.has_learned and learner.ranker.ranker.ranks_any):
            self._model = None
        elif isinstance(model, SharedTextRanker) and model.learner is learner:
            model.settle()
        else:
            self._model = SharedTextRanker(learner)
        if to_check := [f for f in self._files if f not in self._begun]:
            self._begun.update(to_check)
            Thread(target=self._check, args=(to_check,), daemon=True).start()

    @contextmanager
    def _checked_later(self) -> Iterator[list[Unchecked]]:
        """Inside, beside others, large files of a model are opened unchecked."""
        if self._writing is None:
            yield []
            return
        with unchecked(self.project.models.folder) as files:
            yield files

    def _check(self, files: list[Unchecked]) -> None:
        """Compare files with their checksums; damage withdraws the model, told once."""
        for file in files:
            try:
                file.check()
            except FileNotFoundError:  # a newer one is in service by now
                continue
            except (DamagedFolder, OSError) as problem:
                LOG.warning("the model is withdrawn: %s", problem)
                self._damaged[file] = str(problem)
                return
            self.checked.add(file)

    def look_again(self) -> None:
        """Know the categories of today; for a model that only training changes."""
        if self.learner is None:
            self._show()

    def learn(self) -> Learned | None:
        """Learn what was decided since; None where that needs a training.

        One process at a time learns and says with how many re-visits; the others learn
        the same after it. Who could not wait, and is overtaken, begins anew.
        """
        learned = None
        while learned is None and self.learner is not None and not self._damage:
            with self.project.store.engine.learning():
                try:
                    learned = self.learner.catch_up()
                except Overtaken:
                    self.open()
                except LostOrigin:
                    self.learner = None
                    self._show()
                except BaseException:
                    self.open()  # it has come to no moment of the log
                    raise
        if learned is None:
            return None
        self._show()
        rested = time.monotonic() - self._saved_at >= SAVED_EVERY
        if rested and self.upto - self.saved >= SAVED_AFTER:
            self.save()
        return learned

    def save(self) -> None:
        """Keep what was learned for the next process, from a model that is whole."""
        is_whole = self.checked.issuperset(self._files)
        if self.learner is not None and self.upto > self.saved and is_whole:
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
    reason = _("model %(base)s was trained on acts that are undone since", base=base)
    if not is_unlearned_by_training(project):
        remedy = worded("run classmark train")
        to_do = _("to unlearn them exactly, %(remedy)s", remedy=remedy)
        return joined(reason, to_do, by=": ")
    from classmark.workbench.learning.rebuild import train_again

    try:
        done = _(
            "trained again without them, as model %(name)s", name=train_again(project)
        )
        return joined(reason, done, by=": ")
    except Mistake as problem:
        return _(
            "%(reason)s, and cannot be trained without them: %(problem)s",
            reason=reason,
            problem=problem,
        )


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
    if how and fit.goes_on(how):
        remedy = worded("run classmark rebuild")
        return f"not learned yet: to go on from model {base}, {remedy}"
    until = worded("until the next classmark train")
    return f"not learned yet: model {base} stays as it is {until}"
