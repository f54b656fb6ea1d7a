"""Long work in threads of its own: training, evaluating, indexing, reading."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextvars import copy_context
from dataclasses import dataclass, field
from threading import Event as Flag
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from classmark.problems import Mistake
from classmark.progress import shown_by
from classmark.workbench.project import Project
from classmark.workbench.results import WorkResult, plain
from classmark.workbench.store.log import now

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk


T = TypeVar("T")
RUNNING, DONE, FAILED = "running", "done", "failed"
KEPT = 50  # jobs that are remembered
PAUSE = 0.5  # seconds between two tellings of how far a job is
STOPPED = "it was stopped with the server: begin it again"


class Stopped(BaseException):
    """A job was told to stop; nothing that forgives a mistake forgives this."""


@dataclass(slots=True, eq=False)
class Job:
    """Some long work.

    state : "running", "done" or "failed";  doing, done, total : what it is at, how far,
    and of how many, if known;  said : its result in words;  result : the same as it was
    returned, plain values of a ``WorkResult``;  mistake : why it failed.
    """

    id: int
    name: str
    who: str = ""
    state: str = RUNNING
    doing: str = ""
    done: int = 0
    total: int | None = None
    said: str = ""
    mistake: str = ""
    result: Any = None
    began: str = field(default_factory=now)
    ended: str = ""
    thread: Thread | None = field(default=None, repr=False)

    def wait(self, timeout: float | None = None) -> Job:
        """Wait until it has ended."""
        if self.thread is not None:
            self.thread.join(timeout)
        return self


class Jobs:
    """The long work of a desk, newest last."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = RLock()
        self._jobs: dict[int, Job] = {}
        self._last = 0
        self._stopping = Flag()

    def __iter__(self) -> Iterator[Job]:
        with self._lock:
            return iter(list(self._jobs.values()))

    def start(self, name: str, work: Callable[[Project], object], who: str = "") -> Job:
        """Begin some work; it is given an open project of its own.

        What it returns is the job's ``result``, and if it is a text, what it ``said``.
        """
        with self._lock:
            if self._stopping.is_set():
                raise Mistake("the server stops: begin this when it serves again")
            if self.running(name):
                raise Mistake(f"{name} is running already: wait until it has ended")
            self._last += 1
            job = Job(self._last, name, who)
            self._jobs[job.id] = job
            for old in [i for i, j in self._jobs.items() if j.state != RUNNING][:-KEPT]:
                del self._jobs[old]
            job.thread = Thread(
                target=copy_context().run,  # in the words of who asked for it
                args=(self._run, job, work),
                name=f"job {name}",
                daemon=True,
            )
            job.thread.start()
        return job

    def get(self, id_: int) -> Job:
        """A job by its number."""
        with self._lock:
            if id_ not in self._jobs:
                raise Mistake(f"there is no job {id_}: the jobs are listed in Settings")
            return self._jobs[id_]

    def last(self, name: str) -> Job | None:
        """The job of a name that was begun last; None: there was none."""
        with self._lock:
            jobs = reversed(self._jobs.values())
            return next((job for job in jobs if job.name == name), None)

    def running(self, name: str = "") -> list[Job]:
        """The jobs that have not ended, of all kinds or one."""
        with self._lock:
            jobs = self._jobs.values()
            return [j for j in jobs if j.state == RUNNING and name in ("", j.name)]

    def wait(self, timeout: float | None = None) -> None:
        """Wait until all have ended."""
        for job in self.running():
            job.wait(timeout)

    def stop(self, patience: float) -> None:
        """Tell all to stop at their next step; what they have committed stays.

        patience : seconds to wait for them, all together; what does not look up until
        then ends with the program.
        """
        self._stopping.set()
        until = time.monotonic() + patience
        for job in self.running():
            job.wait(max(0.0, until - time.monotonic()))

    def _run(self, job: Job, work: Callable[[Project], object]) -> None:
        self._tell(job)
        state, model = FAILED, self._desk.models.current()
        try:
            display = _Told(job, self._tell, self._stopping)
            with Project(self._desk.folder) as project, shown_by(display):
                job.result = work(project)
            if isinstance(job.result, WorkResult):
                job.said, job.result = job.result.said, plain(job.result.facts)
            elif isinstance(job.result, str):
                job.said = job.result
            self._desk.look_again()
            if self._desk.models.current() != model:
                self._desk.serve_newest(lambda: not self._stopping.is_set())
                told = {"who": job.who, "said": job.said}
                self._desk.events.tell("trained", job.id, **told)
            state = DONE
        except Stopped:
            job.mistake = STOPPED
        except Mistake as mistake:
            job.mistake = str(mistake)
        except Exception:
            logging.getLogger(__name__).exception("job %s failed", job.name)
            job.mistake = "it stopped by an error of the program: see the server's log"
        finally:
            job.ended, job.state = now(), state
            self._tell(job)

    def _tell(self, job: Job) -> None:
        self._desk.events.tell("job", job.id, who=job.who, said=job.name)


class _Told:
    """A display of progress that writes it into a job, and ends it where it is to stop.

    tell : what lets others know of it, now and then.
    """

    def __init__(self, job: Job, tell: Callable[[Job], None], stopping: Flag) -> None:
        self._job, self._tell, self._stopping = job, tell, stopping

    def track(self, items: Iterable[T], title: str, total: int | None) -> Iterator[T]:
        shown_at = 0.0
        if total is None and isinstance(items, Sized):
            total = len(items)
        self._report(title, 0, total)
        for done, item in enumerate(items, start=1):
            yield item
            self._report(title, done, total)
            if (time_now := time.monotonic()) - shown_at > PAUSE:
                shown_at = time_now
                self._tell(self._job)

    def _report(self, title: str, done: int, total: int | None) -> None:
        if self._stopping.is_set():
            raise Stopped
        self._job.doing, self._job.done, self._job.total = title, done, total


CHANGES = ("added", "replaced", "deleted")
SHOWN = ("average_precision", "one_error")


class LongWork(NamedTuple):
    """Long work; does : carries it out, and returns what came of it, in words."""

    name: str
    label: str
    says: str
    does: Callable[[Project], str]


def start_work(desk: Desk, name: str, who: str) -> Job:
    """Begin some work by its name."""
    works = {work.name: work.does for work in WORKS}
    if name not in works:
        raise Mistake(f"the work {name!r} is unknown: use {', '.join(works)}")
    return desk.jobs.start(name, works[name], who)


def _train(project: Project) -> str:
    from classmark.workbench.learning.train import train

    trained = train(project)
    return f"{trained.learner} learned from {trained.documents:,} documents"


def _evaluate(project: Project) -> str:
    from classmark.workbench.learning.evaluate import evaluate_project

    table = evaluate_project(project).table
    best = max(table.rows, key=lambda row: float(row["average_precision"] or 0.0))
    figures = [f"{name.replace('_', ' ')} {best[name]:.3f}" for name in SHOWN]
    best_of = f"{table.title}: {best['learner']} is best, {', '.join(figures)}"
    return f"{best_of}; {table.note}"


def _index(project: Project) -> str:
    from classmark.workbench.search.index import index_project

    row = index_project(project).rows[0]
    changes = ", ".join(f"{row[name]:,} {name}" for name in CHANGES)
    return f"{row['documents']:,} documents are indexed ({changes})"


def _rebuild(project: Project) -> str:
    from classmark.workbench.learning.rebuild import rebuild

    table = rebuild(project)
    return ", ".join(f"{k} {v}" for row in table.rows for k, v in row.items())


WORKS = (
    LongWork(
        "train",
        "Train anew",
        "Learn from every decision from the beginning, with the settings as they are "
        "now, and put the new model in service.",
        _train,
    ),
    LongWork(
        "evaluate",
        "Evaluate",
        "Measure the learners on documents they have not seen. Takes minutes; changes "
        "nothing.",
        _evaluate,
    ),
    LongWork(
        "index",
        "Index",
        "Bring the index of the search page up to date.",
        _index,
    ),
    LongWork(
        "rebuild",
        "Rebuild",
        "Learn the whole log again, and say whether that gives the model in service.",
        _rebuild,
    ),
)
