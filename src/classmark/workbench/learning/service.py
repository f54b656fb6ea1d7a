"""Service: the one ranker in memory that all threads of a desk ask."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from classmark.validation import byte_size
from classmark.workbench.learning.live import (
    Learner,
    Overtaken,
    SharedTextRanker,
    base_of,
    open_learner,
)
from classmark.workbench.learning.models import trained_model, with_votes
from classmark.workbench.results import Learned

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.project import Project


Writing = Callable[[], AbstractContextManager[object]]
SAVED_AFTER = 50  # acts
SAVED_EVERY = 20.0  # seconds, at least, between two savings while acts come fast
MANY = 2000  # acts that are learned without a training before
TERMS, ITEM = 20, 8  # new terms of a document, about; bytes of a weight


class Service:
    """A project's ranker: live where it can be, else as it was trained last.

    project : an open project of its own;  writing : makes a short transaction of it;
    base : the trained model in service;  learner : None where nothing is learned before
    the next training. Only one thread calls ``open``, ``learn`` and ``save``.
    """

    def __init__(self, project: Project, writing: Writing) -> None:
        self.project, self._writing = project, writing
        self.base = ""
        self.learner: Learner | None = None
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
        learner = open_learner(self.project)
        if learner is not None and self._is_too_much(learner):
            learner = None
        self.learner = learner
        if learner is None:
            self.model = trained_model(self.project)
            return
        learner.writing = self._writing
        self.saved = self.upto
        self.show()

    def is_outdated(self) -> bool:
        """Whether another model is in service, or can be learned from only now."""
        if base_of(self.project) != self.base:
            return True
        return self.learner is None and self.project.lives.current() != self._live

    def _is_too_much(self, learner: Learner) -> bool:
        """Whether one that begins with nothing has more before it than it can hold."""
        if learner.has_learned:
            return False
        (acts,) = self.project.store.run(
            "SELECT count(*) FROM judgments WHERE document IS NOT NULL"
        ).fetchone()
        weights = TERMS * (acts + 1) * len(learner.labels) * ITEM
        memory = byte_size(self.project.settings.learning.memory)
        return bool(acts > MANY or weights > memory)

    def show(self) -> None:
        """Let the learner be asked, once it has learned something."""
        learner = self.learner
        if learner is None or not learner.has_learned:
            self.model = None
        elif isinstance(self.model, SharedTextRanker) and self.model.is_of(learner):
            with self.model.lock:
                self.model.settle()
        else:
            self.model = SharedTextRanker(
                learner, lambda model: with_votes(self.project, model)
            )

    def look_again(self) -> None:
        """Know the categories of today; for a model that only training changes."""
        if self.learner is None:
            self.model = trained_model(self.project)

    def learn(self) -> Learned | None:
        """Learn what was decided since; None where that needs a training."""
        if self.learner is None:
            return None
        try:
            learned = self.learner.catch_up()
        except Overtaken:
            self.open()
            return self.learn()
        except BaseException:
            self.open()  # it has come to no moment of the log
            raise
        self.show()
        rested = time.monotonic() - self._saved_at >= SAVED_EVERY
        if rested and self.upto - self.saved >= SAVED_AFTER:
            self.save()
        return learned

    def save(self) -> None:
        """Keep what was learned for the next process."""
        if self.learner is not None and self.upto > self.saved:
            if self.learner.has_learned:
                self.learner.save()
            self.saved, self._saved_at = self.upto, time.monotonic()
