"""Desk: a project that several people and threads use at once."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Condition, Lock, RLock, Thread, local
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from classmark.taxonomy.category import Category, taxonomy_of
from classmark.workbench.deciding.queue import LOOKED_AT, Guesses, QueueChoice, Queues
from classmark.workbench.deciding.sheet import Examples, Sheets
from classmark.workbench.examples.open_searches import Shelf
from classmark.workbench.learning.service import Service
from classmark.workbench.project import Project
from classmark.workbench.settings import FILE, read_settings
from classmark.workbench.store.state import Ledger
from classmark.workbench.team.jobs import Jobs
from classmark.workbench.team.presence import Claims, Event, Events

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.taxonomy.tree import Taxonomy
    from classmark.workbench.deciding.sheet import Sheet
    from classmark.workbench.results import Logged
    from classmark.workbench.settings import Settings


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


LOOK = 1.0  # seconds between two looks at what others have done
IDLE = 30.0  # seconds without an act, after which the ranker is saved
AGAIN = 2.0  # seconds, at least, between two looks at the queue


class Background:
    """One thread that learns, and one that looks at the documents that wait."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._wake, self._stale, self._stop = (threading.Event() for _ in range(3))
        self._hurry, self._begun = threading.Event(), threading.Event()
        self._changed = Condition()
        self._asked = self._looked = 0
        self._wanted = self._learned = 0
        self._acted = time.monotonic()
        self._threads = [
            Thread(target=self._repeat, args=(self._learn,), name="learning"),
            Thread(target=self._repeat, args=(self._order,), name="ordering"),
        ]

    def start(self) -> None:
        """Begin."""
        self._stale.set()
        for thread in self._threads:
            thread.daemon = True
            thread.start()

    def stop(self) -> None:
        """End, with everything saved."""
        self._stop.set()
        self._wake.set()
        self._stale.set()
        self._hurry.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def wake(self) -> None:
        """Learn soon."""
        self._wake.set()

    def learned(self, timeout: float | None = None) -> bool:
        """Wait until every act written by now is learned; False: not in time.

        A ranker that only training changes has nothing to learn.
        """
        with self._changed:
            self._wanted += 1
            wanted = self._wanted
            self._wake.set()
            return self._wait(lambda: self._learned >= wanted, timeout)

    def ordered(self, timeout: float | None = None) -> bool:
        """Wait until the documents that wait are looked at again, from now on."""
        with self._changed:
            self._asked += 1
            wanted = self._asked
            self._stale.set()
            self._hurry.set()
            return self._wait(lambda: self._looked >= wanted, timeout)

    def first_ordered(self, timeout: float) -> bool:
        """Wait, once, until some of the documents that wait were looked at."""
        found = self._begun.wait(timeout)
        self._begun.set()
        return found

    def _wait(self, until: Callable[[], bool], timeout: float | None) -> bool:
        return bool(self._changed.wait_for(until, timeout))

    def _repeat(self, step: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                step()
            except Exception:
                logging.getLogger(__name__).exception("%s failed", step.__name__)
                self._stop.wait(LOOK)

    def _learn(self) -> None:
        woken = self._wake.wait(LOOK)
        with self._changed:
            self._wake.clear()
            wanted = self._wanted
        desk = self._desk
        desk.notice()
        came = desk.ledger.catch_up(desk.project.store)
        if desk.service.upto < desk.ledger.upto:
            learned = desk.service.learn()
            if learned is not None and learned.documents:
                said = f"learned from {learned.documents}"
                desk.events.tell(Event("learned", desk.service.upto, said=said))
        if came or woken:
            self._acted = time.monotonic()
            self._stale.set()
        elif time.monotonic() - self._acted > IDLE:
            desk.service.save()
        with self._changed:
            self._learned = wanted
            self._changed.notify_all()

    def _order(self) -> None:
        self._stale.wait()
        with self._changed:
            self._stale.clear()
            self._hurry.clear()
            asked = self._asked
        desk = self._desk
        desk.guesses.look(desk.queues.sample(LOOKED_AT), self._rest)
        self._begun.set()
        with self._changed:
            self._looked = asked
            self._changed.notify_all()
        self._hurry.wait(AGAIN)

    def _rest(self, seconds: float) -> bool:
        self._begun.set()
        return not self._stop.wait(seconds)


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
        from classmark.workbench.deciding.sheet import lay_out

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
