"""Desk: one project kept open for many people at once, its ranker in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock, RLock, local
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from classmark.taxonomy.category import Category, taxonomy_of
from classmark.workbench.desk.background import Background
from classmark.workbench.desk.claims import Claims
from classmark.workbench.desk.committing import Commits
from classmark.workbench.desk.events import Event, Events
from classmark.workbench.desk.examples import Examples
from classmark.workbench.desk.guesses import Guesses
from classmark.workbench.desk.held import Shelf
from classmark.workbench.desk.jobs import Jobs
from classmark.workbench.desk.kept import Sheets
from classmark.workbench.desk.ledger import Ledger
from classmark.workbench.desk.queues import QueueChoice, Queues
from classmark.workbench.desk.service import Service
from classmark.workbench.project import Project
from classmark.workbench.settings import FILE, read_settings

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.taxonomy.tree import Taxonomy
    from classmark.workbench.desk.sheets import Sheet
    from classmark.workbench.settings import Settings
    from classmark.workbench.views import Logged

T = TypeVar("T")
PATIENCE = 2.0  # seconds that long work has to stop when the desk is closed
ON_CATEGORIES = "SELECT max(seq) FROM judgments WHERE changes IS NOT NULL"


class Connection(Project):
    """The project of a desk, as one of its threads sees it."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.folder, shared=True)
        self._desk = desk

    @property
    def categories(self) -> Mapping[str, Category]:
        """The categories of today, by id."""
        return self._desk.categories

    @property
    def tree(self) -> Taxonomy:
        """The tree of today's categories."""
        return self._desk.tree

    def model(self) -> TextRanker | None:
        """The ranker that all threads of the desk share; None: nothing learned yet."""
        return self._desk.model()


class Desk:
    """A project that several threads use at once; a context manager that closes it.

    Every thread reads by its own connection, ``project``; one at a time writes, within
    ``writing`` or by ``write``. categories, tree : as they are now;  ledger : where
    every document stands;  queues, guesses, claims : who is given which next;  sheets :
    what is laid out;  events, jobs : what happens, and long work.  begin : whether
    learning and ordering begin at once, or when ``background.start`` is called.
    """

    def __init__(self, folder: Path, *, begin: bool = True) -> None:
        self.folder = folder
        self._own = local()
        self._opened: list[Project] = []
        self._opening, self._writing = Lock(), RLock()
        self._commits = Commits(self._writing)
        self.events, self.claims, self.ledger = Events(), Claims(), Ledger()
        self.jobs, self.queues, self.guesses = Jobs(self), Queues(self), Guesses(self)
        self.sheets, self.examples, self.shelf = Sheets(), Examples(), Shelf()
        self._cache: dict[Any, tuple[object, Any]] = {}
        self._read_categories(self.project)
        self._settings_file = self._state_of_settings()
        self.service = Service(Project(folder, shared=True), self._writing_of_service)
        self._opened.append(self.service.project)
        self._ranked_at = self._categories_at
        self.service.open()
        self.ledger.read(self.project.store)
        self._ahead = ThreadPoolExecutor(1, "ahead")
        self.background = Background(self)
        if begin:
            self.background.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Save what was learned, and close the project; long work is told to stop."""
        self._ahead.shutdown(cancel_futures=True)
        self.jobs.stop(PATIENCE)
        self.background.stop()
        self.service.save()
        for project in self._opened:
            project.__exit__()

    @property
    def project(self) -> Project:
        """The project, by a connection of the thread's own."""
        found: Project | None = getattr(self._own, "project", None)
        if found is None:
            found = self._own.project = Connection(self)
            with self._opening:
                self._opened.append(found)
        return found

    @contextmanager
    def writing(self) -> Iterator[Project]:
        """One thread at a time; what it writes is on disk when this ends."""
        project = self.project
        with self._writing, project.store.transaction():
            yield project
        self._written(project)

    def write(self, act: Callable[[Project], T]) -> T:
        """Write something, together with what other threads write at the moment.

        It is on disk when this returns; ``act`` is all or nothing.
        """
        project = self.project
        result = self._commits.write(project, act)
        self._written(project)
        return result

    def after_write(
        self,
        documents: Sequence[str],
        who: str,
        logged: Logged,
        categories: Iterable[str] | None = None,
    ) -> None:
        """Something was decided or undone: every part of the desk follows.

        Where the documents stand is looked up, nobody holds them any longer, they are
        skipped no more, and listeners are told. categories : those whose examples may
        have changed; None: any.
        """
        self.ledger.look(self.project.store, documents)
        for document in documents:
            self.claims.release(document, who)
            self.queues.unskip(document)
        if categories is None:
            self.examples.clear()
        else:
            self.examples.forget(categories)
        first = documents[0] if documents else ""
        self.events.tell(Event("decided", logged.numbers[0], first, who, logged.said))

    def once(self, read: Callable[[Desk], T], of: object = None) -> T:
        """What ``read`` returns of the desk, computed again when the log has grown.

        of : what else it depends on; it is computed again when that is another.
        """
        store = self.project.store
        (last,) = store.run("SELECT coalesce(max(seq), 0) FROM judgments").fetchone()
        state = (of, last, len(self.ledger.ids), len(self.ledger.labelled))
        cached = self._cache.get(read)
        if cached is None or cached[0] != state:
            cached = self._cache[read] = state, read(self)
        return cast("T", cached[1])

    def look_again(self) -> None:
        """Know documents, categories, settings and the model as they are now."""
        self._read_categories(self.project)
        self.ledger.read(self.project.store)
        self._forget()
        self._looked_at_settings()
        self.background.wake()
        self.events.tell(Event("taxonomy"))

    def notice(self) -> None:
        """Look at what others have done to the files; for the thread that learns."""
        if self._settings_file != self._state_of_settings():
            self._looked_at_settings()
        newest = self._look_at_categories(self.project)
        if self.service.is_outdated():
            self.service.open()
            self._forget()
        elif newest != self._ranked_at:
            self.service.look_again()
        self._ranked_at = newest

    def model(self) -> TextRanker | None:
        """The ranker that has learned the last decisions; None: nothing learned yet."""
        return self.service.model

    def learn_soon(self) -> None:
        """Learn from what was decided since the last time, in the background."""
        self.background.wake()

    def learned(self, timeout: float | None = 60.0) -> bool:
        """Wait until all that is decided by now is learned; False: not in time."""
        return self.background.learned(timeout)

    def queue_of(self, who: str) -> QueueChoice:
        """The order and the filters somebody chose."""
        return self.queues.of(who)

    def set_queue(
        self,
        who: str,
        order: str = "uncertain",
        filters: Mapping[str, str] | None = None,
        among: tuple[str, ...] | None = None,
    ) -> None:
        """Give somebody documents in this order from now on; see ``QueueChoice``."""
        self.queues.set(who, QueueChoice(order, dict(filters or {}), among))

    def prefetch(
        self, who: str, document: str, *, blind: bool = False
    ) -> Future[Sheet]:
        """Lay a document out for somebody who will soon open it."""
        from classmark.workbench.desk.sheets import lay_out

        lay = partial(lay_out, blind=blind, ahead=True)
        found = self._ahead.submit(lay, self, document, who)
        found.add_done_callback(_tell_trouble)
        return found

    def tally(self) -> str:
        """How far the work is, in words."""
        return f"{len(self.ledger.labelled):,} of {len(self.ledger.ids):,} decided"

    @contextmanager
    def _writing_of_service(self) -> Iterator[None]:
        with self._writing, self.service.project.store.transaction():
            yield

    def _written(self, project: Project) -> None:
        """Something is on disk: categories are looked at, and it is learned soon."""
        self._look_at_categories(project)
        self.background.wake()

    def _look_at_categories(self, project: Project) -> int:
        """Read the categories, if they were changed; return the act that did it."""
        newest = self._newest_on_categories(project)
        if newest != self._categories_at:
            self._read_categories(project)
            self._forget()
            self.events.tell(Event("taxonomy", newest))
        return newest

    def _forget(self) -> None:
        """Lay sheets out anew from now on, with other examples."""
        self.sheets.clear()
        self.examples.clear()

    def _read_categories(self, project: Project) -> None:
        self._categories_at = self._newest_on_categories(project)
        self.categories: Mapping[str, Category] = {
            category.id: category for category in project.store.categories()
        }
        self.tree: Taxonomy = taxonomy_of(self.categories.values())

    def _newest_on_categories(self, project: Project) -> int:
        (newest,) = project.store.run(ON_CATEGORIES).fetchone()
        return int(newest or 0)

    def _state_of_settings(self) -> tuple[int, int]:
        facts = (self.folder / FILE).stat()
        return facts.st_mtime_ns, facts.st_size

    def _looked_at_settings(self) -> None:
        self._settings_file = self._state_of_settings()
        found: Settings = read_settings(self.folder)
        with self._opening:
            for project in self._opened:
                project.settings = found


def _tell_trouble(done: Future[Sheet]) -> None:
    """What went wrong before anybody asked is in the log; they will be told by then."""
    if not done.cancelled() and done.exception() is not None:
        logging.getLogger(__name__).warning("not laid out: %s", done.exception())
