"""Searchable: what a search reads of a project, opened once and kept."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from classmark.arrays import Floats
from classmark.workbench.indexing import open_project_index
from classmark.workbench.rankers import open_ranker, shelf
from classmark.workbench.ranking_links import chances

if TYPE_CHECKING:
    from classmark.ltr.reranker import Reranker
    from classmark.workbench.project import Project


class Searchable:
    """One generation of a project's index, its rankers, and what links say.

    Threads may share it, each with a project of its own.

    memory : where the postings of a field, decoded, fit it, they are kept decoded; 0,
    for one query, reads the lists of its words and no others.
    """

    def __init__(self, project: Project, memory: str | int = "1GB") -> None:
        self.index = open_project_index(project, memory)
        self._opening = Lock()
        self._rankers: dict[int, Reranker] = {}
        self._chances: tuple[Floats | None] | None = None

    def is_current(self, project: Project) -> bool:
        """Whether the index in service is still this one."""
        current = project.index.current()
        return current is not None and int(current.name) == self.index.generation

    def ranker_in_service(self, project: Project) -> tuple[int, Reranker] | None:
        """The learned ranker that orders answers, and its number; None: none does."""
        current = shelf(project).current()
        if current is None:
            return None
        number = int(current.name)
        return number, self.ranker(project, number)

    def ranker(self, project: Project, number: int) -> Reranker:
        """A learned ranker by its number."""
        with self._opening:
            if number not in self._rankers:
                self._rankers[number] = open_ranker(project, number)
            return self._rankers[number]

    def chances(self, project: Project) -> Floats | None:
        """The PageRank of each item of the index; None where nothing links."""
        with self._opening:
            if self._chances is None:
                self._chances = (chances(project, self.index),)
            return self._chances[0]
