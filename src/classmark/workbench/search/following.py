"""An index follows its documents: what came, went or was replaced is indexed soon."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from classmark.storage import locked_file
from classmark.workbench.search.index import (
    JOB,
    changed_since,
    index_project,
    index_words,
    is_stale,
    last_change,
)

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk

AT_ONCE = 500  # documents that a command indexes before it searches
SETTLED, LONGEST = 1.5, 30.0  # seconds without a change, and with changes, until then
REST = 10.0  # times what the last time took, until the next
AFTER_FAILURE = 300.0  # seconds
LOCK = "indexing.lock"


def follow_at_once(project: Project) -> None:
    """Index what changed, if that is little and nobody else is doing it."""
    if project.index.current() is None or not is_stale(project):
        return
    changed = changed_since(project)
    many = project.store.counts("documents")["documents"] if changed is None else 0
    if max(many, len(changed or ())) > AT_ONCE:
        return
    if (lock := locked_file(project.folder / LOCK)) is not None:
        with lock:
            index_project(project, by_log=True)


class Following:
    """The index of a desk, which is brought up to date once documents have changed."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._change, self._first, self._last, self._rest_until = 0, 0.0, 0.0, 0.0

    def look(self) -> None:
        """Begin a job where documents have changed, and settled; one thread looks."""
        desk, time_now = self._desk, time.monotonic()
        if desk.index.current() is None or not is_stale(desk):
            self._change = 0
            return
        if (change := last_change(desk)) != self._change:
            self._first = self._first if self._change else time_now
            self._change, self._last = change, time_now
        settled = time_now >= min(self._last + SETTLED, self._first + LONGEST)
        busy = any(map(desk.jobs.running, (JOB, "import", "undo import")))
        if settled and time_now >= self._rest_until and not busy:
            self._begin()

    def _begin(self) -> None:
        """Index, unless another server of the project is doing it."""
        if (lock := locked_file(self._desk.folder / LOCK)) is None:
            return

        def work(project: Project) -> str:
            with lock:
                began = time.monotonic()
                self._rest_until = began + AFTER_FAILURE
                table = index_project(project, by_log=True)
                ended = time.monotonic()
                self._rest_until = ended + REST * (ended - began)
            return index_words(table.rows[0])

        self._desk.jobs.start(JOB, work)
