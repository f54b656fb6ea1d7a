"""The live ranker of a project: opened, taught act by act, saved, and asked.

It is a cache: the log is the truth, and holds, with the acts, how many re-visits were
made on them, so that reading it again gives the same ranker.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import (
    LiveTextRanker,
    Suggestion,
    TextRanker,
    load_kernels,
)
from classmark.storage import sync_folder
from classmark.taxonomy.tree import ACTIVE, taxonomy_of
from classmark.validation import byte_size
from classmark.weighting.live import LiveVectorizer
from classmark.workbench.learning import fit
from classmark.workbench.learning.models import trained_model, with_votes
from classmark.workbench.results import Learned, Logged
from classmark.workbench.settings import LearningSettings, with_loss
from classmark.workbench.store.log import LogReplay

if TYPE_CHECKING:
    from classmark.workbench.learning.train import TrainedModel
    from classmark.workbench.project import Project
    from classmark.workbench.store.log import JudgedRecord, LogEntry
    from classmark.workbench.store.store import Store


KEPT = 2
LEFT = 24 * 3600.0  # seconds after which nobody goes on with what was begun
AT_ONCE = 64  # re-visits while nobody may ask
BUDGET = 0.010  # seconds of re-visits after a decision
USUAL_C = 3.0  # from nothing, without a center
TRAINED = "trained"  # the event
SAVED_AFTER = 50  # acts
SAVED_EVERY = 20.0  # seconds, at least, between two savings while acts come fast
MANY = 2000  # acts that are learned without a training before
TERMS, ITEM = 20, 8  # new terms of a document, about; bytes of a weight
Writing = Callable[[], AbstractContextManager[object]]


class Overtaken(Mistake):
    """Another has learned the same acts meanwhile: open the learner anew."""


def _new_in(folder: Path) -> Path:
    """Name a folder that no other thread or process writes; remove what one left."""
    for left in folder.glob(".*.new"):
        with suppress(FileNotFoundError):  # another removes it, or has put it in place
            if time.time() - left.stat().st_mtime > LEFT:
                shutil.rmtree(left)
    return folder / f".{uuid4().hex}.new"


class LiveLearner:
    """A live ranker and the moment of the log it has come to.

    base, settings : the model that live learning began with, or "", and how it learns;
    used : the numbers of the categories that some document was ever put in;  labels :
    the present id of each category, in order, and its number in the ranker;  lock :
    held while the ranker changes;  writing : makes a short transaction of the store.
    """

    def __init__(
        self,
        project: Project,
        ranker: LiveTextRanker,
        moment: LogReplay,
        base: str,
        settings: dict[str, Any],
        used: Iterable[int] = (),
    ) -> None:
        self.project, self.ranker, self.moment = project, ranker, moment
        self.base, self.settings = base, settings
        self.used = set(used)
        self.lock = RLock()
        self.writing: Writing = project.store.transaction
        self._split = (-1, -1, -1)
        self._moves: dict[str, list[tuple[int, int]]] = {}
        self._reshaped = False
        self._know_categories()

    @property
    def numbers(self) -> list[int]:
        """Label → the number of its category."""
        return [int(key) for key in self.ranker.categories]

    @property
    def has_learned(self) -> bool:
        """Whether there is anything it could rank by."""
        return bool(self.base) or len(self.ranker.dual) > 0

    def model(self) -> TextRanker:
        """The ranker with the present ids of its categories."""
        model = copy(self.ranker.model)
        model.categories = list(self.labels)
        return model

    def catch_up(self) -> Learned:
        """Learn every act since the last; where none was made, re-visit documents.

        Others may write meanwhile. The re-visits are noted where nobody else has noted
        some since; otherwise this has come to another ranker than the log tells, and
        is ``Overtaken``.
        """
        started = time.perf_counter()
        store = self.project.store
        with store.snapshot():
            last = _last_lesson(store)
            entries = list(store.log(self.moment.upto))
        waiting = self._follow(entries)
        documents, apart = self._learn(waiting)
        visits = 0
        if waiting:
            visits = self._revisit(documents)
            with self.writing():
                if _last_lesson(store) != last:
                    raise Overtaken(
                        "another process has learned these decisions meanwhile: open "
                        "the live ranker again"
                    )
                store.note_revisits(self.moment.upto, visits)
        return Learned(documents, visits, time.perf_counter() - started, apart)

    def _follow(self, entries: Iterable[LogEntry]) -> dict[str, None]:
        """Go through acts as they were learned; return the documents that were not."""
        waiting: dict[str, None] = {}
        for entry in entries:
            with self.lock:
                waiting |= self._take(entry)
            if entry.revisits is not None:
                self._learn(waiting)
                with self.lock:
                    self.ranker.revisit(entry.revisits)
                waiting = {}
        return waiting

    def save(self) -> None:
        """Keep the ranker for the next process, unless another model is in service."""
        lives = self.project.lives
        new = _new_in(lives.folder)
        facts = {
            "base": self.base,
            "settings": self.settings,
            "upto": self.moment.upto,
            "used": sorted(self.used),
        }
        self.ranker.save(new, facts)
        with self.writing():
            if base_of(self.project) != self.base:
                shutil.rmtree(new)
                return
            folder = lives.next()
            new.rename(folder)
            sync_folder(lives.folder)
            lives.put_in_service(folder)
            lives.drop_old(KEPT)

    def _take(self, entry: LogEntry) -> dict[str, None]:
        """Go on by one act; return the documents whose lesson it may change."""
        self.moment.take(entry)
        touched = self._reshape(entry) if entry.changes else {}
        first, second = entry.numbers
        if first is not None and second is not None:
            if entry.act == "merge":
                self.ranker.merge(self._label(first), self._label(second))
                self._show()
            elif entry.act == "split":
                self._split = (entry.seq, first, second)
        if entry.document is None:
            return touched
        if entry.within is not None and entry.within == self._split[0]:
            self._moves.setdefault(entry.document, []).append(self._split[1:])
        return {entry.document: None}

    def _reshape(self, entry: LogEntry) -> dict[str, None]:
        """Know the categories; return the documents of those that came or went.

        With them those whose preferences are listed, and so name all categories.
        """
        self._know_categories()
        numbers = [n for n, fields in entry.changes.items() if "stands" in fields]
        if not numbers:
            return {}
        self._reshaped = True
        listed = self.ranker.dual.listed
        naming = {id_: None for n in numbers for id_ in self.moment.naming(n)}
        return naming | {i: None for i, h in self.ranker.handles.items() if h in listed}

    def _learn(self, documents: Iterable[str]) -> tuple[int, int]:
        """Teach what is said of each document now; return how many, and set apart."""
        count = apart = 0
        for id_ in track(documents, "learning"):
            record = self.moment.judged(self.project.store.record(id_))
            with self.lock:
                count += self._learn_one(record)
            apart += fit.part_of(record) == fit.TEST
        return count, apart

    def _learn_one(self, record: JudgedRecord) -> bool:
        """Teach a document's lesson; False: there is none, and there was none."""
        id_, is_apart = record.id, fit.part_of(record) == fit.TEST
        for old, new in dict.fromkeys(self._moves.pop(id_, ())):
            self.ranker.move([id_], self._label(old), self._label(new))
        spoken = {self._number[name] for name in fit.spoken_of(record)}
        if not is_apart and not spoken <= self.used:
            self.used |= spoken
            self._show()
        taught = None
        if not is_apart:
            taught = fit.lesson(record, self.labels, self.settings["grades"])
        changed = self.ranker.teach(id_, self.project.text_of(record), taught)
        return changed or taught is not None

    def _revisit(self, documents: int) -> int:
        """Visit documents again; return how many visits.

        After a decision, as many as the time allows; after several, as many as there
        were; where categories came or went, every one that is kept: those that are in
        neither have not been compared with what is new.
        """
        whole, self._reshaped = self._reshaped, False
        if documents == 1 and not whole:
            with self.lock:
                return self.ranker.revisit(None)
        count = len(self.ranker.dual) if whole else documents
        for left in range(count, 0, -AT_ONCE):
            with self.lock:
                self.ranker.revisit(min(AT_ONCE, left))
        return count

    def _know_categories(self) -> None:
        """Have a label for every category there ever was, and show those in use."""
        new = sorted(self.moment.rows.keys() - set(self.numbers))
        self.ranker.add([str(number) for number in new])
        self._show()

    def _show(self) -> None:
        categories = self.moment.categories()
        leaves = set(taxonomy_of(categories).leaves)
        self._number = self.moment.numbers()
        name = {number: id_ for id_, number in self._number.items()}
        self.labels = {
            name.get(number, f"\0{number}"): label
            for label, number in enumerate(self.numbers)
        }
        self.ranker.show(
            self.labels[category.id]
            for category in categories
            if category.status == ACTIVE
            and (category.id in leaves or self._number[category.id] in self.used)
        )

    def _label(self, number: int) -> int:
        return self.numbers.index(number)


def base_of(project: Project) -> str:
    """The name of the trained model in service; "" where there is none."""
    return getattr(project.models.current(), "name", "")


def _last_lesson(store: Store) -> int:
    """The last act that re-visits were noted of; -1 before the first."""
    (seq,) = store.run("SELECT coalesce(max(seq), -1) FROM lessons").fetchone()
    return int(seq)


class SharedTextRanker(TextRanker):
    """What a learner knows at the moment it is asked; nobody asks while it learns."""

    def __init__(self, learner: LiveLearner) -> None:
        self.learner, self.lock = learner, learner.lock
        self._labels: dict[str, int] | None = None
        self.settle()

    def settle(self) -> None:
        """Be the ranker of now; it changes unless one holds the lock."""
        with self.lock:
            if self._labels is not self.learner.labels:
                self._labels = self.learner.labels
                model = with_votes(self.learner.project, self.learner.model())
                super().__init__(model.vectorizer, model.ranker, model.categories)
                self.calibrator = model.calibrator

    def suggest(self, text: str, k: int = 10, terms: int = 5) -> list[Suggestion]:
        """The best categories for a text, each with its strongest terms."""
        with held(self):
            return super().suggest(text, k, terms)

    def scores(self, texts: Iterable[str]) -> Floats:
        """Scores of all categories, shape (texts, categories)."""
        with held(self):
            return super().scores(texts)


@contextmanager
def held(model: TextRanker) -> Iterator[None]:
    """Inside, a model does not change, and its parts may be asked one by one."""
    if not isinstance(model, SharedTextRanker):
        yield
        return
    with model.lock:
        model.settle()
        yield


class Service:
    """A project's ranker: live where it can be, else as it was trained last.

    project : an open project of its own;  writing : makes a short transaction of it,
    where others write beside it;  base : the trained model in service;  learner : None
    where nothing is learned before the next training. Only one thread calls ``open``,
    ``learn`` and ``save``.
    """

    def __init__(self, project: Project, writing: Writing | None = None) -> None:
        self.project, self._writing = project, writing
        self.base = ""
        self.learner: LiveLearner | None = None
        self.model: TextRanker | None = None
        self.saved = -1
        self._saved_at = -SAVED_EVERY
        self._live: Path | None = None

    @property
    def upto(self) -> int:
        """The last act that was learned."""
        return -1 if self.learner is None else self.learner.moment.upto

    def open(self) -> None:
        """Open what is in service now."""
        self.base = base_of(self.project)
        self._live = self.project.lives.current()
        self.learner = learner = open_learner(self.project)
        if learner is not None and self._writing is not None:
            learner.writing = self._writing
            if self._is_too_much(learner):
                self.learner = None
        self.saved = self.upto
        self._show()

    def is_outdated(self) -> bool:
        """Whether another model is in service, or can be learned from only now."""
        if base_of(self.project) != self.base:
            return True
        return self.learner is None and self.project.lives.current() != self._live

    def _is_too_much(self, learner: LiveLearner) -> bool:
        """Whether one that begins with nothing has more before it than it can hold."""
        if learner.has_learned:
            return False
        (acts,) = self.project.store.run(
            "SELECT count(*) FROM judgments WHERE document IS NOT NULL"
        ).fetchone()
        weights = TERMS * (acts + 1) * len(learner.labels) * ITEM
        memory = byte_size(self.project.settings.learning.memory)
        return bool(acts > MANY or weights > memory)

    def _show(self) -> None:
        """Let the learner be asked, once it has learned something."""
        model, learner = self.model, self.learner
        if learner is None:
            self.model = trained_model(self.project)
        elif not learner.has_learned:
            self.model = None
        elif isinstance(model, SharedTextRanker) and model.learner is learner:
            model.settle()
        else:
            self.model = SharedTextRanker(learner)

    def look_again(self) -> None:
        """Know the categories of today; for a model that only training changes."""
        if self.learner is None:
            self._show()

    def learn(self) -> Learned | None:
        """Learn what was decided since; None where that needs a training."""
        if self.learner is None:
            return None
        try:
            learned = self.learner.catch_up()
        except Overtaken:
            self.open()
            return self.learn()
        except BaseException:
            self.open()  # it has come to no moment of the log
            raise
        self._show()
        rested = time.monotonic() - self._saved_at >= SAVED_EVERY
        if rested and self.upto - self.saved >= SAVED_AFTER:
            self.save()
        return learned

    def save(self) -> None:
        """Keep what was learned for the next process."""
        if self.learner is not None and self.upto > self.saved:
            if self.learner.has_learned or self.project.lives.current() is not None:
                self.learner.save()
            self.saved, self._saved_at = self.upto, time.monotonic()


def and_learn(project: Project, logged: Logged) -> Logged:
    """Learn from what was just logged, and say so with it."""
    learned = learn_at_once(project)
    later = _why_later(project) if learned is None else ""
    return replace(logged, learned=learned, later=later)


def learn_at_once(project: Project) -> Learned | None:
    """Learn from what was decided since the last time; None: not without ``train``."""
    if not base_of(project) or project.lives.current() is not None:
        load_kernels()  # before the time of re-visits is measured
    service = Service(project)
    service.open()
    learned = service.learn()
    service.save()
    return learned


def model_in_service(project: Project) -> TextRanker | None:
    """The live ranker, come to the last act, or the model trained last."""
    service = Service(project)
    service.open()
    if service.learner is not None and service.learner.has_learned:
        service.learn()
        service.save()
    return service.model


def open_learner(project: Project) -> LiveLearner | None:
    """The live ranker as it was saved, or a new one; None where there can be none."""
    with project.store.transaction():  # nobody saves, or drops, another meanwhile
        base, folder = base_of(project), project.lives.current()
        if folder is not None:
            ranker, facts = LiveTextRanker.open(folder)
            how, used = facts["settings"], facts["used"]
            before = asdict(LearningSettings()) | with_loss(how)
            if facts["base"] == base and (base or before == _settings(project)):
                moment = LogReplay(project.store.log(), facts["upto"])
                return LiveLearner(project, ranker, moment, base, how, used)
        return None if base else from_nothing(project)


def from_nothing(project: Project) -> LiveLearner | None:
    """A ranker that has seen nothing; None where the project's learner is another."""
    learning = project.settings.learning
    if not fit.by_margins(learning):
        return None
    vectorizer = LiveVectorizer(project.settings.text.analyzer, learning.weighting)
    ranker = PreferenceRanker(learning.loss, learning.C or USUAL_C, time_budget=BUDGET)
    live = LiveTextRanker(vectorizer, ranker)
    return LiveLearner(project, live, LogReplay(), "", _settings(project))


def from_model(
    project: Project, fitted: TrainedModel, moment: LogReplay, base: str
) -> LiveLearner | None:
    """Go on from a model just fitted at a moment; None where its learner cannot."""
    ranker = fitted.model.ranker.simple
    if not isinstance(ranker, PreferenceRanker) or not ranker.can_go_on:
        return None
    number = moment.numbers()
    records = map(moment.judged, project.store.records())
    used = {number[name] for record in records for name in fit.spoken_of(record)}
    ranker.set_params(time_budget=BUDGET)
    live = LiveTextRanker.start(fitted.model, fitted.ids)
    live.categories[:] = [str(number[name]) for name in live.categories]
    return LiveLearner(project, live, moment, base, asdict(fitted.settings), used)


def trained_at(
    project: Project, base: str
) -> tuple[int | None, LearningSettings | None]:
    """The last act a model was trained on, and how; None where the log does not say."""
    detail, how = project.store.last_event(TRAINED, model=base), None
    if settings := detail.get("settings"):
        # the first models were trained before there were strategies
        how = LearningSettings(**{"strategy": fit.PLAIN} | with_loss(settings))
    return detail.get("upto"), how


def _settings(project: Project) -> dict[str, Any]:
    """What a ranker that begins with nothing depends on."""
    text = project.settings.text
    reading = {"analyzer": text.analyzer, "fields": list(text.fields)}
    return asdict(project.settings.learning) | reading


def _why_later(project: Project) -> str:
    """Why nothing was learned at once, and what to do."""
    base = base_of(project)
    if not base:
        learning = project.settings.learning
        name = learning.loss if learning.learner == "plm" else learning.learner
        return f"not learned yet: {name} learns from all at once, with classmark train"
    _, how = trained_at(project, base)
    if how and how.strategy in fit.DESCENDING:
        return (
            f"kept in the log, not learned yet: model {base} goes down the tree "
            f"({how.strategy}), and learns with the next classmark train"
        )
    if how and fit.by_margins(how) and not fit.by_nodes(how):
        return f"not learned yet: to go on from model {base}, run classmark rebuild"
    return (
        f"not learned yet: model {base} stays as it is until the next classmark train"
    )
