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

from classmark.language import (
    ENGLISH,
    N_,
    _,
    decimal,
    in_language,
    joined,
    ngettext,
    percent,
    remade,
)
from classmark.problems import Mistake, refusal
from classmark.progress import shown_by
from classmark.workbench.project import Project
from classmark.workbench.results import WorkResult, plain
from classmark.workbench.store.log import now

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk


T = TypeVar("T")
RUNNING, DONE, FAILED = N_("running"), N_("done"), N_("failed")
KEPT = 50  # jobs that are remembered
PAUSE = 0.5  # seconds between two tellings of how far a job is
STOPPED = N_("the server was stopped meanwhile: start it again")


JOB_WORDS = {
    "train": N_("training"),
    "train again": N_("training"),
    "evaluate": N_("evaluation"),
    "evaluation": N_("evaluation"),
    "index": N_("indexing"),
    "rebuild": N_("rebuilding the model"),
    "import": N_("import"),
    "undo import": N_("undoing an import"),
    "vectors": N_("computing vectors of meaning"),
    "rank train": N_("training a ranker"),
    "rank evaluate": N_("comparing rankers"),
    "tune": N_("tuning a model"),
    "taxonomy report": N_("analysing the tree"),
    "taxonomy prune": N_("testing a simpler tree"),
    "taxonomy propose": N_("proposing subcategories"),
}


class Stopped(BaseException):
    """A job was told to stop; nothing that forgives a mistake forgives this."""


@dataclass(slots=True, eq=False)
class Job:
    """Some long work.

    state : "running", "done" or "failed";  doing, done, total : what it is at, how far,
    and of how many, if known;  said : its result in words;  result : the same as it was
    returned, plain values of a ``WorkResult``;  mistake : why it failed. What is in
    words is English, and in the language of whoever it is shown to.
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

    @property
    def words(self) -> str:
        """What pages call it."""
        return _(JOB_WORDS.get(self.name, self.name))

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
                raise refusal("the server is stopping: start this again later")
            if self.running(name):
                words = JOB_WORDS.get(name, name)
                raise refusal(
                    "%(words)s is running already: wait until it has ended",
                    words=words,
                )
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
                raise refusal(
                    "there is no job %(id)s: the jobs are listed in Settings", id=id_
                )
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
            with (
                in_language(ENGLISH),
                Project(self._desk.folder) as project,
                shown_by(display),
            ):
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
            job.mistake = _(STOPPED)
        except Mistake as mistake:
            with in_language(ENGLISH):
                job.mistake = remade(str)(mistake)
        except Exception:
            logging.getLogger(__name__).exception("job %s failed", job.name)
            job.mistake = _("an internal error occurred: see the server's log")
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
        raise refusal(
            "the work %(name)r is unknown: use %(works)s",
            name=name,
            works=", ".join(works),
        )
    return desk.jobs.start(name, works[name], who)


def _train(project: Project) -> str:
    from classmark.workbench.learning.train import train

    trained = train(project)
    return ngettext(
        "%(learner)s learned from %(n)s document",
        "%(learner)s learned from %(n)s documents",
        trained.documents,
        learner=trained.learner,
    )


def _evaluate(project: Project) -> str:
    from classmark.workbench.learning.evaluate import evaluate_project

    table = evaluate_project(project).table
    best = max(table.rows, key=lambda row: float(row["average_precision"] or 0.0))
    best_of = _(
        "best: %(learner)s, average precision %(precision)s, first suggestion wrong "
        "%(wrong)s",
        learner=best["learner"],
        precision=decimal(float(best["average_precision"] or 0.0), 3),
        wrong=percent(float(best["one_error"] or 0.0), 1),
    )
    return joined(best_of, table.note)


def _index(project: Project) -> str:
    from classmark.workbench.search.index import index_project, index_words

    return index_words(index_project(project).rows[0])


def _rebuild(project: Project) -> str:
    from classmark.workbench.learning.rebuild import rebuild

    row = rebuild(project).rows[0]
    difference = row["difference"]
    if not isinstance(difference, str):
        difference = _("largest difference %(n)s", n=decimal(difference or 0.0, 6))
    learned = ngettext(
        "the model was rebuilt from %(n)s act",
        "the model was rebuilt from %(n)s acts",
        int(row["acts"] or 0),
    )
    return joined(learned, difference)


WORKS = (
    LongWork(
        "train",
        N_("Train"),
        N_(
            "Learn from all decisions again with the current settings, and use the new "
            "model."
        ),
        _train,
    ),
    LongWork(
        "evaluate",
        N_("Evaluate"),
        N_(
            "Measure the learners on documents they have not seen. Takes minutes; "
            "changes nothing."
        ),
        _evaluate,
    ),
    LongWork(
        "index",
        N_("Index"),
        N_("Update the search index."),
        _index,
    ),
    LongWork(
        "rebuild",
        N_("Rebuild"),
        N_("Learn the whole log again and check that this gives the same model."),
        _rebuild,
    ),
)
