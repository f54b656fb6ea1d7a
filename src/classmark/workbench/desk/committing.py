"""Commits: writes of several threads at once, on disk together by one commit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from classmark.workbench.project import Project

T = TypeVar("T")


class _Write(Generic[T]):
    """What somebody wants to write, and what became of it."""

    def __init__(self, act: Callable[[Project], T]) -> None:
        self.act = act
        self.is_done = False
        self.result: T
        self.problem: BaseException | None = None

    def run(self, project: Project) -> None:
        """Write it, all or nothing."""
        store = project.store
        store.run("SAVEPOINT one")
        try:
            self.result = self.act(project)
        except BaseException as problem:  # noqa: BLE001 (told to whom it concerns)
            store.run("ROLLBACK TO one")
            self.problem = problem
        store.run("RELEASE one")


class Commits:
    """Writes wait for the one that is being synced, then go to disk together.

    So one sync serves all who came meanwhile, and nobody is told "saved" before it.
    """

    def __init__(self, lock: RLock) -> None:
        self._lock = lock
        self._waiting: deque[_Write[Any]] = deque()

    def write(self, project: Project, act: Callable[[Project], T]) -> T:
        """Write something; it is on disk when this returns.

        ``act`` may be run with another thread's project, beside other acts.
        """
        if project.store.engine.in_transaction:
            raise RuntimeError("desk.write within desk.writing: write with the project")
        wanted = _Write(act)
        self._waiting.append(wanted)
        with self._lock:
            if not wanted.is_done:
                self._write_all(project)
        if wanted.problem is not None:
            raise wanted.problem
        return wanted.result

    def _write_all(self, project: Project) -> None:
        together = []
        while self._waiting:
            together.append(self._waiting.popleft())
        try:
            with project.store.transaction():
                for one in together:
                    one.run(project)
        except BaseException as problem:
            for one in together:
                one.problem = one.problem or problem
            raise
        finally:
            for one in together:
                one.is_done = True
