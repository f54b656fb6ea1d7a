"""Desk: a project that several people and threads use at once."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from threading import Condition, Lock, RLock, Thread, local
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet, finalize

from classmark.language import _, whole
from classmark.problems import Mistake
from classmark.taxonomy.category import Category, taxonomy_following
from classmark.taxonomy.tree import Taxonomy
from classmark.workbench.deciding.queue import LOOKED_AT, Guesses, Queues
from classmark.workbench.deciding.sheet import CategoryExamples, Sheet, Sheets, lay_out
from classmark.workbench.examples.open_searches import SearchCache
from classmark.workbench.learning.live import (
    Service,
    is_unlearned_by_training,
    unlearn_by_training,
)
from classmark.workbench.project import Project
from classmark.workbench.search.following import Following
from classmark.workbench.settings import FILE, read_settings
from classmark.workbench.store.log import StoredCategories, stored_rows
from classmark.workbench.store.presence import Presence
from classmark.workbench.store.schema import StoreInUse
from classmark.workbench.team.claims import Claims
from classmark.workbench.team.events import Events
from classmark.workbench.team.jobs import Jobs
from classmark.workbench.team.others import SETTLED, Others
from classmark.workbench.team.webhooks import Webhooks

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.results import Logged
    from classmark.workbench.store.store import Store


T = TypeVar("T")
LOG = logging.getLogger(__name__)

LOOK = 1.0  # seconds between two looks at what others have done
IDLE = 30.0  # seconds without an act, after which the ranker is saved
TRAIN_AGAIN = "train again"  # the job
AGAIN = 2.0  # seconds, at least, between two looks at the queue
CROWDED = 4.0  # times as long a look rests, while acts wait to be learned


class Background:
    """Threads: one learns, one looks at what waits, one at what others have done."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._wake, self._stale, self._stop = (threading.Event() for _ in range(3))
        self._hurry, self._begun = threading.Event(), threading.Event()
        self._changed = Condition()
        self._asked, self._done = Counter[str](), Counter[str]()
        self._followed, self._acted = (0, ""), time.monotonic()
        self._undone = -1, ""  # the last act looked at that undoes, and the model
        self._following = Following(desk)
        self._threads = [
            Thread(
                target=copy_context().run,  # in the words of who opened the desk
                args=(self._repeat, step),
                name=name,
                daemon=True,
            )
            for name, step in (
                ("learning", self._learn),
                ("ordering", self._order),
                ("following", self._follow),
            )
        ]

    def start(self) -> None:
        """Begin."""
        self._stale.set()
        for thread in self._threads:
            thread.start()

    @property
    def runs(self) -> bool:
        """Whether it has begun, and was not told to end."""
        return self._threads[0].ident is not None and not self._stop.is_set()

    def stop(self) -> None:
        """End, with everything saved."""
        for flag in (self._stop, self._wake, self._stale, self._hurry):
            flag.set()
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
        return self._ask("learning", timeout, self._wake)

    def ordered(self, timeout: float | None = None) -> bool:
        """Wait until the documents that wait are looked at again, from now on."""
        return self._ask("ordering", timeout, self._stale, self._hurry)

    def first_ordered(self, timeout: float) -> bool:
        """Wait, once, until some of the documents that wait were looked at."""
        in_time = self._begun.wait(timeout)
        self._begun.set()
        return in_time

    def _ask(self, work: str, timeout: float | None, *flags: threading.Event) -> bool:
        """Wait until some work is done from its beginning once more."""
        with self._changed:
            self._asked[work] += 1
            request = self._asked[work]
            for flag in flags:
                flag.set()
            return self._changed.wait_for(lambda: self._done[work] >= request, timeout)

    def _begin(self, work: str, *flags: threading.Event) -> int:
        """Take down the flags of some work; return the last request it answers."""
        with self._changed:
            for flag in flags:
                flag.clear()
            return self._asked[work]

    def _end(self, work: str, request: int) -> None:
        with self._changed:
            self._done[work] = request
            self._changed.notify_all()

    def _repeat(self, step: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                step()
            except Mistake as problem:  # such as a store that is away for a while
                LOG.warning("%s waits: %s", step.__name__, problem)
                self._stop.wait(LOOK)
            except Exception:
                LOG.exception("%s failed", step.__name__)
                self._stop.wait(LOOK)

    def _learn(self) -> None:
        desk = self._desk
        woken = self._wake.wait(LOOK)
        request = self._begin("learning", self._wake)
        desk.notice()
        upto = desk.state.upto
        if desk.service.upto < upto:
            learned = desk.service.learn()
            if learned is not None and learned.documents:
                words = f"learned from {learned.documents}"
                desk.events.tell("learned", desk.service.upto, said=words)
        moment = upto, desk.service.base
        undone = desk.state.last_undo, desk.service.base
        if undone != self._undone and self._unlearn():
            self._undone = undone
        if moment != self._followed or woken:
            self._followed = moment
            self._acted = time.monotonic()
            self._stale.set()
        elif time.monotonic() - self._acted > IDLE:
            desk.service.save()
        self._end("learning", request)

    def _unlearn(self) -> bool:
        """Train again, where acts were undone that the model was trained on.

        False: a training goes on, so it is to be looked at again.
        """
        jobs, project = self._desk.jobs, self._desk.service.project
        if jobs.running("train") or jobs.running(TRAIN_AGAIN):
            return False
        if self.runs and is_unlearned_by_training(project):
            jobs.start(TRAIN_AGAIN, unlearn_by_training)
        return True

    def _order(self) -> None:
        self._stale.wait()
        request = self._begin("ordering", self._stale, self._hurry)
        desk = self._desk
        desk.guesses.look(desk.queues.sample(LOOKED_AT), self._rest)
        self._begun.set()
        self._end("ordering", request)
        self._hurry.wait(AGAIN)

    def _follow(self) -> None:
        desk = self._desk
        self._stop.wait(SETTLED if desk.others.are_waiting else LOOK)
        desk.webhooks.look_again()
        desk.others.look()
        self._following.look()

    def _rest(self, seconds: float) -> bool:
        self._begun.set()
        crowded = CROWDED if self._wake.is_set() else 1.0
        return not self._stop.wait(crowded * seconds)


PATIENCE = 2.0  # seconds that long work has to stop when the desk is closed
ON_CATEGORIES = "SELECT max(seq) FROM judgments WHERE changes IS NOT NULL"


class Desk(Project):
    """A project that several threads use at once; a context manager that closes it.

    Every thread reads by a connection of its own, ``store``; one at a time writes,
    within ``writing`` or by ``write``. queues, guesses, claims : who is given which
    document next;  presence : who is here;  sheets : what is laid out;  events, others,
    jobs : what happens, here and elsewhere, and long work.  begin : whether learning
    and ordering begin at once, or when
    ``background.start`` is called.
    """

    def __init__(self, folder: Path, *, begin: bool = True) -> None:
        self._thread = local()
        self._opened: WeakSet[Store] = WeakSet()
        self._opening, self._writing = Lock(), RLock()
        self._reading = Lock()
        self._categories: Mapping[str, Category] = {}
        self._tree = Taxonomy(())
        self._categories_at = 0
        super().__init__(folder, shared=True)
        self._waiting: deque[tuple[Callable[[Project], Any], Future[Any]]] = deque()
        self.presence = Presence.beside(self.store)
        self.events, self.claims = Events(), Claims(self.presence)
        self.jobs, self.queues, self.guesses = Jobs(self), Queues(self), Guesses(self)
        self.sheets, self.examples = Sheets(), CategoryExamples()
        self.search_cache = SearchCache()
        self._settings_file = self._state_of_settings()
        self.service = Service(Project(folder, shared=True), self._writing_of_service)
        with ThreadPoolExecutor(1, "opening") as beside:
            following = beside.submit(lambda: self._state.follow(self.store))
            self._read_categories()
            self._ranked_at = self._categories_at
            self.service.open()
            following.result()
        self.others = Others(self)
        self._ahead = ThreadPoolExecutor(1, "ahead")
        self.webhooks = Webhooks(self)
        self.webhooks.start()
        self.background = Background(self)
        if begin:
            self.background.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Save what was learned, and close the project; long work is told to stop."""
        self._ahead.shutdown(cancel_futures=True)
        self.jobs.stop(PATIENCE)
        self.webhooks.stop()
        self.background.stop()
        self.service.save()
        self.service.project.__exit__()
        self.presence.close()
        for store in list(self._opened):
            store.close()

    def _open_store(self, *, shared: bool) -> Store:
        """Open a connection of the thread's own, which is closed when it ends."""
        store = super()._open_store(shared=shared)
        finalize(store, store.close).atexit = False
        with self._opening:
            store.engine.require_same(next(iter(self._opened), store).engine)
            self._opened.add(store)
        self._thread.store = store
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

    @property
    def model_name(self) -> str:
        """The name of the trained model that is asked; "" where there is none."""
        return self.service.base

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
        """Write something; it is on disk when this returns, all or nothing.

        Writes wait for the one that is being synced, then go to disk together: one sync
        serves all who came meanwhile. So another thread may run ``act``.
        """
        if self.store.engine.in_transaction:
            raise RuntimeError("desk.write within desk.writing: write with the project")
        written: Future[T] = Future()
        context = copy_context()  # whoever runs it, it speaks as to who asks
        self._waiting.append((lambda project: context.run(act, project), written))
        with self._writing:
            if not written.done():
                self._write_all()
        result = written.result()
        self._written()
        return result

    def _write_all(self) -> None:
        """Write what waits, each all or nothing, in one transaction."""
        run, results = self.store.run, []
        together = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            with self.store.transaction():
                for act, written in together:
                    run("SAVEPOINT one")
                    try:
                        results.append((written, act(self)))
                    except BaseException as problem:  # noqa: BLE001 (told to its writer)
                        run("ROLLBACK TO one")
                        written.set_exception(problem)
                    run("RELEASE one")
        except BaseException as problem:
            if isinstance(problem, StoreInUse):  # nobody waits for it once more
                together += [self._waiting.popleft() for _ in range(len(self._waiting))]
            for _, written in together:
                if not written.done():
                    written.set_exception(problem)
            raise
        for written, result in results:
            written.set_result(result)

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
        self.others.ours(logged.numbers)
        self._state.follow(self.store)
        for document in documents:
            self.claims.release(document, who)
            self.queues.unskip(document)
        self.examples.forget(categories)
        first = documents[0] if len(documents) == 1 else ""
        number = logged.numbers[0]
        self.events.tell("decided", number, document=first, who=who, said=logged.said)

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
        self.events.tell("taxonomy")

    def serve_newest(self, go_on: Callable[[], bool]) -> None:
        """Wait until the model trained last is the one that is asked.

        go_on : False: do not wait any longer.
        """
        while self.background.runs and go_on():
            if self.background.learned(LOOK) and not self.service.is_outdated():
                return

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

    def learned(self, timeout: float | None = 60.0) -> bool:
        """Wait until all that is decided by now is learned; False: not in time."""
        return self.background.learned(timeout)

    def prefetch(self, who: str, document: str) -> Future[Sheet]:
        """Lay a document out for somebody who will soon open it."""
        return self.ahead(partial(lay_out, self, document, who, ahead=True))

    def ahead(self, work: Callable[[], T]) -> Future[T]:
        """Do something soon that nobody waits for, one after the other."""
        future = self._ahead.submit(work)
        future.add_done_callback(_tell_trouble)
        return future

    def tally(self) -> str:
        """How far the work is, in words."""
        decided, all_ = whole(len(self._state.labels)), whole(len(self._state.ids))
        return _("%(decided)s of %(all)s decided", decided=decided, all=all_)

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
            self.events.tell("taxonomy", newest)
        return newest

    def _forget(self) -> None:
        """Lay sheets out anew from now on, with other examples."""
        self.sheets.clear()
        self.examples.forget()

    def _read_categories(self) -> None:
        """Know the categories of now: those changed, where that says all, else all."""
        with self._reading:
            newest, changed = self._newest_on_categories(), None
            categories: Mapping[str, Category]
            if self._categories and newest >= self._categories_at:
                changed = self.store.changed_categories(self._categories_at, newest)
            if changed is None:
                stored = StoredCategories(stored_rows(self.store))
                categories, self._tree = stored, stored.tree()
            else:
                before = self._categories
                moved = [
                    each
                    for each in changed
                    if each.id not in before or each.parents != before[each.id].parents
                ]
                if moved:
                    self._tree = taxonomy_following(self._tree, moved)
                categories = {**before, **{each.id: each for each in changed}}
            self._categories, self._categories_at = categories, newest

    def _newest_on_categories(self) -> int:
        (newest,) = self.store.run(ON_CATEGORIES).fetchone()
        return int(newest or 0)

    def _state_of_settings(self) -> tuple[int, int]:
        facts = (self.folder / FILE).stat()
        return facts.st_mtime_ns, facts.st_size

    def _looked_at_settings(self) -> None:
        self._settings_file = self._state_of_settings()
        self.settings = self.service.project.settings = read_settings(self.folder)


def _tell_trouble(done: Future[Any]) -> None:
    """What went wrong before anybody asked is in the log; they will be told by then."""
    if not done.cancelled() and done.exception() is not None:
        LOG.warning("not done ahead: %s", done.exception())
