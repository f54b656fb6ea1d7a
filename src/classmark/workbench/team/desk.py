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
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from classmark.taxonomy.tree import Category, taxonomy_of
from classmark.workbench.deciding.queue import LOOKED_AT, Guesses, QueueChoice, Queues
from classmark.workbench.deciding.sheet import CategoryExamples, Sheets
from classmark.workbench.examples.open_searches import SearchCache
from classmark.workbench.learning.live import Service
from classmark.workbench.project import Project
from classmark.workbench.settings import FILE, read_settings
from classmark.workbench.team.jobs import Jobs
from classmark.workbench.team.presence import Claims, Event, Events

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.taxonomy.tree import Taxonomy
    from classmark.workbench.deciding.sheet import Sheet
    from classmark.workbench.results import Logged
    from classmark.workbench.store.store import Store


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
        write = _Write(act)
        self._waiting.append(write)
        with self._lock:
            if not write.is_done:
                self._write_all(project)
        if write.problem is not None:
            raise write.problem
        return write.result

    def _write_all(self, project: Project) -> None:
        together = []
        while self._waiting:
            together.append(self._waiting.popleft())
        try:
            with project.store.transaction():
                for write in together:
                    write.run(project)
        except BaseException as problem:
            for write in together:
                write.problem = write.problem or problem
            raise
        finally:
            for write in together:
                write.is_done = True


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
        self._wanted = self._learned = self._followed = 0
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
            request = self._wanted
            self._wake.set()
            return self._wait(lambda: self._learned >= request, timeout)

    def ordered(self, timeout: float | None = None) -> bool:
        """Wait until the documents that wait are looked at again, from now on."""
        with self._changed:
            self._asked += 1
            request = self._asked
            self._stale.set()
            self._hurry.set()
            return self._wait(lambda: self._looked >= request, timeout)

    def first_ordered(self, timeout: float) -> bool:
        """Wait, once, until some of the documents that wait were looked at."""
        in_time = self._begun.wait(timeout)
        self._begun.set()
        return in_time

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
            requests = self._wanted
        desk = self._desk
        desk.notice()
        upto = desk.state.upto
        if desk.service.upto < upto:
            learned = desk.service.learn()
            if learned is not None and learned.documents:
                words = f"learned from {learned.documents}"
                desk.events.tell(Event("learned", desk.service.upto, said=words))
        if upto != self._followed or woken:
            self._followed = upto
            self._acted = time.monotonic()
            self._stale.set()
        elif time.monotonic() - self._acted > IDLE:
            desk.service.save()
        with self._changed:
            self._learned = requests
            self._changed.notify_all()

    def _order(self) -> None:
        self._stale.wait()
        with self._changed:
            self._stale.clear()
            self._hurry.clear()
            requests = self._asked
        desk = self._desk
        desk.guesses.look(desk.queues.sample(LOOKED_AT), self._rest)
        self._begun.set()
        with self._changed:
            self._looked = requests
            self._changed.notify_all()
        self._hurry.wait(AGAIN)

    def _rest(self, seconds: float) -> bool:
        self._begun.set()
        return not self._stop.wait(seconds)


PATIENCE = 2.0  # seconds that long work has to stop when the desk is closed
ON_CATEGORIES = "SELECT max(seq) FROM judgments WHERE changes IS NOT NULL"


class Desk(Project):
    """A project that several threads use at once; a context manager that closes it.

    Every thread reads by a connection of its own, ``store``; one at a time writes,
    within ``writing`` or by ``write``. queues, guesses, claims : who is given which
    document next;  sheets : what is laid out;  events, jobs : what happens, and long
    work.  begin : whether learning and ordering begin at once, or when
    ``background.start`` is called.
    """

    def __init__(self, folder: Path, *, begin: bool = True) -> None:
        self._thread = local()
        self._opened: list[Store] = []
        self._opening, self._writing = Lock(), RLock()
        super().__init__(folder, shared=True)
        self._commits = Commits(self._writing)
        self.events, self.claims = Events(), Claims()
        self.jobs, self.queues, self.guesses = Jobs(self), Queues(self), Guesses(self)
        self.sheets, self.examples = Sheets(), CategoryExamples()
        self.search_cache = SearchCache()
        self._read_categories()
        self._settings_file = self._state_of_settings()
        self.service = Service(Project(folder, shared=True), self._writing_of_service)
        self._ranked_at = self._categories_at
        self.service.open()
        self._state.follow(self.store)
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
        self.service.project.__exit__()
        for store in self._opened:
            store.close()

    def _open_store(self, *, shared: bool) -> Store:
        store = self._thread.store = super()._open_store(shared=shared)
        with self._opening:
            self._opened.append(store)
        return store

    @property
    def store(self) -> Store:
        """The tables of the project, by a connection of the thread's own."""
        store: Store | None = getattr(self._thread, "store", None)
        return self._open_store(shared=True) if store is None else store

    @property
    def categories(self) -> Mapping[str, Category]:
        """The categories of today, by id."""
        return self._categories

    @property
    def tree(self) -> Taxonomy:
        """The tree of today's categories."""
        return self._tree

    def _version(self) -> tuple[Any, ...]:
        state = self.state
        return state.upto, state.newest, self.models.current(), self.lives.current()

    @contextmanager
    def writing(self) -> Iterator[Project]:
        """One thread at a time; what it writes is on disk when this ends."""
        with self._writing, self.store.transaction():
            yield self
        self._written()

    def write(self, act: Callable[[Project], T]) -> T:
        """Write something, together with what other threads write at the moment.

        It is on disk when this returns; ``act`` is all or nothing.
        """
        result = self._commits.write(self, act)
        self._written()
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
        self._state.follow(self.store)
        for document in documents:
            self.claims.release(document, who)
            self.queues.unskip(document)
        self.examples.forget(categories)
        first = documents[0] if len(documents) == 1 else ""
        self.events.tell(Event("decided", logged.numbers[0], first, who, logged.said))

    def change_settings(self, values: Mapping[str, str], who: str) -> list[str]:
        """Change the project's settings; return the names of those that differ."""
        with self.writing():
            changed = super().change_settings(values, who)
        if changed:
            self.look_again()
        return changed

    def look_again(self) -> None:
        """Know documents, categories, settings and the model as they are now."""
        self._read_categories()
        self._state.follow(self.store)
        self._forget()
        self._looked_at_settings()
        self.background.wake()
        self.events.tell(Event("taxonomy"))

    def notice(self) -> None:
        """Look at what others have done to the files; for the thread that learns."""
        if self._settings_file != self._state_of_settings():
            self._looked_at_settings()
        newest = self._look_at_categories()
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
        future = self._ahead.submit(lay, self, document, who)
        future.add_done_callback(_tell_trouble)
        return future

    def tally(self) -> str:
        """How far the work is, in words."""
        return f"{len(self._state.labels):,} of {len(self._state.ids):,} decided"

    @contextmanager
    def _writing_of_service(self) -> Iterator[None]:
        with self._writing, self.service.project.store.transaction():
            yield

    def _written(self) -> None:
        """Something is on disk: categories are looked at, and it is learned soon."""
        self._look_at_categories()
        self.background.wake()

    def _look_at_categories(self) -> int:
        """Read the categories, if they were changed; return the act that did it."""
        newest = self._newest_on_categories()
        if newest != self._categories_at:
            self._read_categories()
            self._forget()
            self.events.tell(Event("taxonomy", newest))
        return newest

    def _forget(self) -> None:
        """Lay sheets out anew from now on, with other examples."""
        self.sheets.clear()
        self.examples.forget()

    def _read_categories(self) -> None:
        self._categories_at = self._newest_on_categories()
        self._categories = {each.id: each for each in self.store.categories()}
        self._tree = taxonomy_of(self._categories.values())

    def _newest_on_categories(self) -> int:
        (newest,) = self.store.run(ON_CATEGORIES).fetchone()
        return int(newest or 0)

    def _state_of_settings(self) -> tuple[int, int]:
        facts = (self.folder / FILE).stat()
        return facts.st_mtime_ns, facts.st_size

    def _looked_at_settings(self) -> None:
        self._settings_file = self._state_of_settings()
        self.settings = self.service.project.settings = read_settings(self.folder)


def _tell_trouble(done: Future[Sheet]) -> None:
    """What went wrong before anybody asked is in the log; they will be told by then."""
    if not done.cancelled() and done.exception() is not None:
        logging.getLogger(__name__).warning("not laid out: %s", done.exception())
