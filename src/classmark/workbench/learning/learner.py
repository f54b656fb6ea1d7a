"""A live ranker: taught act by act, taken back to before an act, saved and opened.

It is a cache: the log is the truth, and holds, with the acts, how many re-visits were
made on them, so that reading it again gives the same ranker.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from threading import RLock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from classmark.hierarchies.top_down import TopDownRanker
from classmark.hierarchies.top_down_live import TREE_C, LiveTopDownRanker, TreeCenter
from classmark.problems import Mistake, worded
from classmark.progress import track
from classmark.rankers.linear import LiveRanker
from classmark.rankers.live_text_ranker import (
    LIVE_FORMAT,
    VERSION,
    LiveTextRanker,
    live_facts,
)
from classmark.rankers.online import RankerBeside
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.solvers.centers import SparseCenter
from classmark.storage import SavedFolder, open_folder, sync_folder
from classmark.taxonomy.category import ACTIVE
from classmark.weighting.live import LiveVectorizer
from classmark.workbench.learning import fit, lessons, unfitted
from classmark.workbench.learning.models import (
    base_of,
    ranker_beside,
    saved_live,
    settings_from_nothing,
    vectors_of_saved,
)
from classmark.workbench.results import Learned
from classmark.workbench.store.log import LogReplay, StoredReplay

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.workbench.learning.train import TrainedModel
    from classmark.workbench.project import Project
    from classmark.workbench.store.log import JudgedRecord, LogEntry
    from classmark.workbench.store.store import Store


KEPT = 2
LEFT = 24 * 3600.0  # seconds after which nobody goes on with what was begun
AT_ONCE = 64  # re-visits while nobody may ask
BUDGET = 0.010  # seconds of re-visits after a decision
WORTH = 10.0  # a checkpoint is made when so many times its cost was spent since
CHECKPOINTS = 4  # in memory, the oldest and the newest
SETS = ("without", "skipped", "used")  # of numbers, among the facts
LARGE = 200_000_000  # bytes of one, beyond which only saved ones are gone back to
UNDONE = """
SELECT seq FROM undone JOIN judgments USING (seq)
WHERE seq > ? AND (undoes IS NULL OR undoes <= ?)
"""
Writing = Callable[[], AbstractContextManager[object]]


class Overtaken(Mistake):
    """Another has learned the same acts meanwhile: open the learner anew."""


class LostOrigin(Mistake):
    """There is no moment to go back to."""


def _new_in(folder: Path) -> Path:
    """Name a folder that no other thread or process writes; remove what one left."""
    for left in folder.glob(".*.new"):
        with suppress(FileNotFoundError):  # another removes it, or has put it in place
            if time.time() - left.stat().st_mtime > LEFT:
                shutil.rmtree(left)
    return folder / f".{uuid4().hex}.new"


@dataclass(slots=True)
class LiveFacts:
    """What is saved with a live ranker.

    base, settings : the model that live learning began with, or "", and how it learns;
    start : the last act that the model was trained on, −1 without one;  without : acts
    up to that one which the model never saw, because they were undone since;  origin :
    the generation of the live ranker as it was then;  upto : the last act learned;
    skipped : acts since ``start`` that were undone, and so never learned;  used : the
    numbers of the categories that some document was ever put in;  reshaped : whether
    categories came or went since the last re-visits;  has_learned : whether there is
    anything to rank by;  meaning : its source of vectors; empty for words alone.
    """

    base: str
    settings: dict[str, Any]
    start: int = -1
    without: set[int] = field(default_factory=set)
    origin: str = ""
    upto: int = -1
    skipped: set[int] = field(default_factory=set)
    used: set[int] = field(default_factory=set)
    reshaped: bool = False
    has_learned: bool = False
    meaning: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As they are saved."""
        return asdict(self) | {name: sorted(getattr(self, name)) for name in SETS}

    @classmethod
    def from_json(cls, facts: dict[str, Any], folder: str) -> LiveFacts:
        """As they were saved in a generation; an older one is taken for the origin."""
        sets = {name: set(facts.get(name, ())) for name in SETS}
        opened = cls(**{"start": facts["upto"]} | facts | sets)
        opened.origin = opened.origin or (folder if opened.base else "")
        return opened

    def skips(self, entry: LogEntry) -> bool:
        """Whether an act is as if it had never been: undone, or the undoing of one.

        What a model was trained on is unlearned by an act of its own, until it is
        trained again without it.
        """
        if entry.seq in self.without or entry.undoes in self.without:
            return True
        if entry.seq <= self.start:
            return False
        undoes_later = entry.undoes is not None and entry.undoes > self.start
        return undoes_later or entry.seq in self.skipped

    def holds_with(self, undone: set[int]) -> bool:
        """Whether these acts are undone, and no others, up to ``upto``."""
        return self.skipped == {seq for seq in undone if seq <= self.upto}


class LiveLearner:
    """A live ranker and the moment of the log it has come to.

    It is what the acts that hold make of the model it began with: where one of them was
    undone, or holds again, it goes back to a moment before that act and learns what
    came since anew, with as many re-visits as were made then.

    facts : what is saved with it;  labels : the present id of each category, in order,
    and its number in the ranker;  lock : held while the ranker changes;  writing :
    makes a short transaction of the store;  checkpoints : moments to go back to, or
    None where they are not worth their while.
    """

    def __init__(
        self, project: Project, ranker: LiveTextRanker, moment: LogReplay, facts: Any
    ) -> None:
        self.project, self.ranker, self.moment = project, ranker, moment
        self.facts: LiveFacts = facts
        self.lock = RLock()
        self.writing: Writing = project.store.transaction
        self.checkpoints: list[SavedFolder] | None = None
        self._spent, self._cost = 0.0, 0.0  # seconds since the last checkpoint; of one
        self._split = (-1, -1, -1)
        self._moves: dict[str, list[tuple[int, int]]] = {}
        self._replaced: set[str] = set()
        self._layers: lessons.TreeLayers | None = None
        self._columns: dict[str, int] = {}
        self._above: set[int] = set()  # the numbers of those with others below them
        self._know_categories()

    @classmethod
    def opened(
        cls,
        project: Project,
        saved: SavedFolder,
        folder: str,
        beside: RankerBeside | None = None,
    ) -> LiveLearner:
        """A saved ranker; folder : the name of its generation.

        beside : what learns beside the model it began with, if that is open already.
        """
        vectors = vectors_of_saved(project, saved.settings["facts"])
        beside = beside or ranker_beside(project, saved)
        ranker, described = LiveTextRanker.from_arrays(saved, vectors, beside)
        facts = LiveFacts.from_json(described, folder)
        moment = StoredReplay(project.store, facts.upto, facts.skips)
        return cls(project, ranker, moment, facts)

    @property
    def base(self) -> str:
        """The model that live learning began with, or ""."""
        return self.facts.base

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
        """Learn every act since the last, and unlearn those that were undone since.

        Others may write meanwhile. The re-visits are noted where nobody else has noted
        some since; otherwise this has come to another ranker than the log tells, and
        is ``Overtaken``.
        """
        started = time.perf_counter()
        store, learner = self.project.store, self
        with store.snapshot():
            last = _last_lesson(store)
            undone = {seq for (seq,) in store.run(UNDONE, (self.facts.start,) * 2)}
            upto = self.moment.upto
            changed = {seq for seq in undone ^ self.facts.skipped if seq <= upto}
            if changed:
                learner = self._before(min(changed), undone)
            entries = list(store.log(learner.moment.upto))
            start, without = learner.facts.start, learner.facts.without
            learner.moment.texts = store.texts_before(start, without)
        again = {e.document for e in entries if e.seq in changed} - {None}
        waiting = learner._follow(entries, undone)  # noqa: SLF001 (its own kind)
        documents, apart = learner._learn(waiting)  # noqa: SLF001
        visits = 0
        if any(e.seq > last and not learner.facts.skips(e) for e in entries):
            visits = learner._revisit(documents) if waiting else 0  # noqa: SLF001
            with self.writing():
                if _last_lesson(store) != last:
                    raise Overtaken(
                        "another process has learned these decisions meanwhile: open "
                        "the live ranker again"
                    )
                store.note_revisits(learner.moment.upto, visits)
        if learner is not self:
            self._become(learner)
        seconds = time.perf_counter() - started
        self._note_checkpoint(seconds)
        return Learned(documents + len(again - set(waiting)), visits, seconds, apart)

    def _before(self, first: int, undone: set[int]) -> LiveLearner:
        """A learner of this project that has not come to an act yet."""
        for saved in reversed(self.checkpoints or []):
            facts = LiveFacts.from_json(saved.settings["facts"], self.facts.origin)
            if facts.upto < first and facts.holds_with(undone):
                origin = self.facts.origin
                return LiveLearner.opened(self.project, saved, origin, self._beside())
        lives = self.project.lives
        for number in reversed(lives.numbers()):
            folder = lives.folder / f"{number:06d}"
            facts = LiveFacts.from_json(live_facts(folder), folder.name)
            same = (facts.base, facts.start) == (self.base, self.facts.start)
            if same and facts.upto < first and facts.holds_with(undone):
                return opened_learner(self.project, folder, self._beside())
        if self.base or (learner := from_nothing(self.project)) is None:
            raise LostOrigin(
                f"model {self.base} cannot unlearn act {first}, because the live "
                f"ranker it began with is not there: {worded('run classmark rebuild')}"
            )
        return learner

    def _beside(self) -> RankerBeside | None:
        """What may learn anew beside the same model; None where it is beside none."""
        ranker = self.ranker.ranker
        return ranker.fresh() if isinstance(ranker, RankerBeside) else None

    def _become(self, other: LiveLearner) -> None:
        """Be as another learner of the same project is."""
        with self.lock:
            self.ranker, self.moment, self.facts = (
                other.ranker,
                other.moment,
                other.facts,
            )
            self._show()

    def _note_checkpoint(self, seconds: float) -> None:
        """Keep this moment, if it takes long enough to come to it from the last one."""
        self._spent += seconds
        if self.checkpoints is None or self._spent < WORTH * self._cost:
            return
        started = time.perf_counter()
        saved = self.ranker.to_arrays(self._saved_facts())
        if sum(array.nbytes for array in saved.arrays.values()) > LARGE:
            self.checkpoints = None
            return
        arrays = {name: np.array(array) for name, array in saved.arrays.items()}
        self.checkpoints.append(replace(saved, arrays=arrays))
        del self.checkpoints[1 : len(self.checkpoints) - CHECKPOINTS + 1]
        self._spent, self._cost = 0.0, time.perf_counter() - started

    def _saved_facts(self) -> dict[str, Any]:
        self.facts.upto, self.facts.has_learned = self.moment.upto, self.has_learned
        return self.facts.to_json()

    def _follow(self, entries: Iterable[LogEntry], undone: set[int]) -> dict[str, None]:
        """Go through acts as they were learned; return the documents that were not."""
        waiting: dict[str, None] = {}
        for entry in entries:
            if entry.seq in undone:
                self.facts.skipped.add(entry.seq)
            with self.lock:
                waiting |= self._take(entry)
            if entry.revisits is not None and waiting:
                documents, _ = self._learn(waiting)
                self._revisit(documents, entry.revisits)
                waiting = {}
        return waiting

    def save(self) -> None:
        """Keep the ranker for the next process, unless another model is in service."""
        lives = self.project.lives
        new = _new_in(lives.folder)
        self.ranker.save(new, self._saved_facts())
        with self.writing():
            if base_of(self.project) != self.base:
                shutil.rmtree(new)
                return
            folder = lives.next()
            new.rename(folder)
            sync_folder(lives.folder)
            lives.put_in_service(folder)
            if self.base and not self.facts.origin:
                self.facts.origin = folder.name
            lives.drop_old(KEPT, self.facts.origin)

    def _take(self, entry: LogEntry) -> dict[str, None]:
        """Go on by one act; return the documents whose lesson it may change."""
        if self.facts.skips(entry):
            self.moment.skip(entry)
            return {}
        self.moment.take(entry)
        touched = self._reshape(entry) if entry.changes else {}
        first, second = entry.numbers
        if first in self.moment.rows and second in self.moment.rows:
            if entry.act == "merge":
                self.ranker.merge(self._label(first), self._label(second))
                self._show()
            elif entry.act == "split":
                self._split = (entry.seq, first, second)
        if entry.document is None:
            return touched
        texts = self.moment.texts.get(entry.document, ())
        if any(seq == entry.seq for seq, _ in texts):
            self._replaced.add(entry.document)
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
        self.facts.reshaped = True
        listed = self.ranker.dual.listed
        naming = {id_: None for n in numbers for id_ in self.moment.naming(n)}
        return naming | {i: None for i, h in self.ranker.handles.items() if h in listed}

    def _learn(self, documents: Iterable[str]) -> tuple[int, int]:
        """Teach what is said of each document now; return how many, and set apart."""
        count = apart = 0
        for id_ in track(documents, "learning"):
            record = self.moment.judged(self.project.store.record(id_, ever=True))
            with self.lock:
                count += self._learn_one(record)
            apart += fit.part_of(record) == fit.TEST
        return count, apart

    def complete(self, trained: set[str]) -> None:
        """Teach again the documents of a model whose lessons name other categories too.

        trained : those that the model knows. The others had no document: a lesson that
        says which of them it does not compare, or lists its edges, lacked them.
        """
        if len(trained) == len(self.ranker.categories):
            return
        listed = self.ranker.dual.listed
        for id_, handle in list(self.ranker.handles.items()):
            record = self.moment.judged(self.project.store.record(id_, ever=True))
            if handle in listed or not record.unsure <= trained:
                self._learn_one(record)

    def _learn_one(self, record: JudgedRecord) -> bool:
        """Teach a document's lesson; False: there is none, and there was none."""
        id_, is_apart = record.id, fit.part_of(record) == fit.TEST
        for old, new in dict.fromkeys(self._moves.pop(id_, ())):
            self.ranker.move([id_], self._label(old), self._label(new))
        spoken = {int(name) for name in lessons.spoken_of(record)}
        if not is_apart and not spoken <= self.facts.used:
            first = spoken - self.facts.used
            self.facts.used |= first
            self._layers = None
            self._show_also(first & self._above)
        text, taught, changed = self.project.text_of(record), None, False
        if not is_apart:
            taught = self._lesson(record)
        if id_ in self._replaced:
            self._replaced.discard(id_)
            changed = self.ranker.teach(id_, text, None)
        changed |= self.ranker.teach(id_, text, taught)
        return changed or taught is not None

    def _lesson(self, record: JudgedRecord) -> lessons.Lesson | None:
        """What a document teaches the ranker by what is said of it now."""
        how, graphs = self.facts.settings, self.ranker.ranker.takes_graphs
        if self._layers is None and how.get("layers"):
            tree, used = lessons.numbered_tree(self.moment.rows), self.facts.used
            self._layers = lessons.TreeLayers(tree, how["layers"], map(str, used))
        return lessons.lesson(
            record,
            self._columns,
            how["grades"],
            self._layers,
            graphs=graphs,
            thresholds=how.get("thresholds", "none") != "none",
        )

    def _revisit(self, documents: int, noted: int | None = None) -> int:
        """Visit documents again; return how many visits.

        After a decision, as many as the time allows, or as were noted then; after
        several, as many as there were; where categories came or went, every one that is
        kept: those that are in neither have not been compared with what is new.
        """
        whole, self.facts.reshaped = self.facts.reshaped, False
        if documents == 1 and not whole:
            with self.lock:
                return self.ranker.revisit(noted)
        count, visits = len(self.ranker.dual) if whole else documents, 0
        for left in range(count, 0, -AT_ONCE):
            with self.lock:
                visits += self.ranker.revisit(min(AT_ONCE, left))
        return visits

    def _know_categories(self) -> None:
        """Have a label for every category there ever was, and show those in use."""
        known = set(self.ranker.categories)
        new = sorted(n for n in self.moment.rows if str(n) not in known)
        self.ranker.add([str(number) for number in new])
        self._show()

    def _show(self) -> None:
        """Rank the active leaves, and what documents were ever put in."""
        every = self.moment.rows
        rows = {name: every[number] for number, name in self.moment.names.items()}
        self._layers = None
        parents = {row["parents"] for row in rows.values()}
        self._above = {p for text in parents for p in json.loads(text)}
        self._columns = {key: label for label, key in enumerate(self.ranker.categories)}
        ids = {key: row["id"] for key, row in rows.items()}
        present = (ids.get(key) or f"\0{key}" for key in self._columns)
        self.labels = dict(zip(present, range(len(self._columns)), strict=True))
        unused = {str(number) for number in self._above - self.facts.used}
        self.ranker.show(
            self._columns[key]
            for key, row in rows.items()
            if row["status"] == ACTIVE and key not in unused
        )

    def _show_also(self, inner: set[int]) -> None:
        """Rank these inner categories, too, which a document was put in just now."""
        rows, dual = self.moment.rows, self.ranker.dual
        active = {n for n in inner if rows[n]["stands"] and rows[n]["status"] == ACTIVE}
        if active:
            dual.hide(dual.retired - {self._label(number) for number in active})

    def _label(self, number: int) -> int:
        return self._columns[str(number)]


def _last_lesson(store: Store) -> int:
    """The last act that re-visits were noted of; -1 before the first."""
    (seq,) = store.run("SELECT coalesce(max(seq), -1) FROM lessons").fetchone()
    return int(seq)


def open_learner(project: Project) -> LiveLearner | None:
    """The live ranker as it was saved, or a new one; None where there can be none."""
    with project.store.transaction():  # nobody saves, or drops, another meanwhile
        if (folder := saved_live(project)) is not None:
            return opened_learner(project, folder)
        return None if base_of(project) else from_nothing(project)


def opened_learner(
    project: Project, folder: Path, beside: RankerBeside | None = None
) -> LiveLearner:
    """The live ranker of a generation; beside : as of ``LiveLearner.opened``."""
    saved = open_folder(folder, LIVE_FORMAT, VERSION)
    return LiveLearner.opened(project, saved, folder.name, beside)


def from_nothing(project: Project) -> LiveLearner | None:
    """A ranker that has seen nothing; None where the project's learner is another."""
    learning = project.settings.learning
    if not fit.learns_live(learning):
        return None
    weights = (learning.weighting, learning.scaled)
    vectorizer = LiveVectorizer(
        project.settings.text.analyzer,
        *weights,
        slope=learning.slope,
        characters=learning.characters,
        first_line=max(1, learning.first_line),
        meaning=project.meaning(),
        meaning_weight=project.settings.meaning.weight or None,
    )
    ranker: Any = unfitted.new_ranker(learning)
    if learning.learner == unfitted.LEARNER:
        ranker = PreferenceRanker(
            learning.loss,
            learning.C or None,  # then as from nothing anywhere
            time_budget=BUDGET,
            thresholds=learning.learned_thresholds,
        )
    live = LiveTextRanker(vectorizer, ranker)
    facts = LiveFacts("", settings_from_nothing(project))
    facts.meaning = project.settings.meaning.remembered.get("meaning", {})
    moment = StoredReplay(project.store, skip=facts.skips)
    return LiveLearner(project, live, moment, facts)


def from_model(
    project: Project,
    fitted: TrainedModel,
    moment: LogReplay,
    base: str,
    without: Iterable[int] = (),
) -> LiveLearner | None:
    """Go on from a model just fitted at a moment; None where its learner cannot.

    without : the acts up to that moment that the model never saw.
    """
    ranker = _to_go_on(fitted)
    if ranker is None:
        return None
    number = moment.numbers()
    records = map(moment.judged, project.store.records(ever=True))
    used = {number[name] for record in records for name in lessons.spoken_of(record)}
    if isinstance(ranker, PreferenceRanker | RankerBeside):
        ranker.set_params(time_budget=BUDGET)
    live = LiveTextRanker.start(fitted.model, fitted.ids, ranker)
    live.categories[:] = [str(number[name]) for name in live.categories]
    facts = LiveFacts(base, asdict(fitted.settings), moment.upto, set(without))
    facts.used, facts.meaning = used, fitted.meaning.remembered.get("meaning", {})
    by_number = StoredReplay(project.store, moment.upto, facts.skips)
    trained = set(live.categories)
    learner = LiveLearner(project, live, by_number, facts)
    learner.complete(trained)
    return learner


def _to_go_on(fitted: TrainedModel) -> LiveRanker | None:
    """What learns on from a model: its ranker, or one beside what it has learned."""
    ranker, count = fitted.model.ranker.simple, len(fitted.ids)
    if not fit.goes_on(fitted.settings):
        return None
    if isinstance(ranker, TopDownRanker):
        return LiveTopDownRanker(TREE_C).go_on_from(TreeCenter(ranker), count)
    if not isinstance(ranker, LiveRanker):
        return None
    if isinstance(ranker, PreferenceRanker) and ranker.store_ == "sparse":
        weights: Any = ranker.weights_
        center = SparseCenter(weights, ranker.thresholds_)
        return RankerBeside(ranker.kept_as[1]["C"]).go_on_from(center, count)
    return ranker if ranker.can_go_on else None
