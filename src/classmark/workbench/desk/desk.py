"""Desk: one project kept open for many people at once, its ranker in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, RLock, local
from typing import TYPE_CHECKING, Self

from classmark.taxonomy.category import Category, taxonomy_of
from classmark.workbench.learning import learner_in_service
from classmark.workbench.project import Project

if TYPE_CHECKING:
    from classmark.rankers.text import TextRanker
    from classmark.taxonomy.tree import Taxonomy
    from classmark.workbench.learner import Learner


class Desk:
    """A project that several threads use at once.

    Every thread reads by its own connection, ``project``; one at a time writes, within
    ``writing``. categories, tree : as they are now.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._own = local()
        self._opened: list[Project] = []
        self._opening = Lock()
        self._writing = RLock()
        self._learner: Learner | None = learner_in_service(self.project)
        self.look_again()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for project in self._opened:
            project.__exit__()

    @property
    def project(self) -> Project:
        """The project, by a connection of the thread's own."""
        found: Project | None = getattr(self._own, "project", None)
        if found is None:
            found = self._own.project = Project(self.folder, shared=True)
            with self._opening:
                self._opened.append(found)
        return found

    @contextmanager
    def writing(self) -> Iterator[Project]:
        """One thread at a time; what it writes is on disk when this ends."""
        with self._writing, self.project.store.transaction():
            yield self.project

    def look_again(self) -> None:
        """Know the categories as they are now."""
        self.categories: Mapping[str, Category] = {
            category.id: category for category in self.project.store.categories()
        }
        self.tree: Taxonomy = taxonomy_of(self.categories.values())

    def model(self) -> TextRanker | None:
        """The ranker that has learned the last decision; None: nothing learned yet."""
        return None if self._learner is None else self._learner.model()

    def learn(self) -> None:
        """Learn from what was decided since the last time."""
        with self._writing:
            if self._learner is not None:
                self._learner.catch_up()

    def tally(self) -> str:
        """How far the work is, in words."""
        counts = self.project.store.counts()
        return f"{counts['labelled documents']:,} of {counts['documents']:,} decided"
