"""Train a ranker on a project's labels, calibrate it, and put it in service."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self, TypeGuard

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.corpus.documents import folds
from classmark.hierarchies.back_off import BackOff
from classmark.hierarchies.nodes import fitted_scale
from classmark.hierarchies.rerank import Votes
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.hierarchies.top_down import TopDownRanker
from classmark.preferences.labels import is_graphs, labels_from
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.calibration import ENOUGH, Calibrator, sample_tests, scored_apart
from classmark.sparse import Rows, rows_from, take
from classmark.spreading import spread, spread_by
from classmark.storage import make_folder
from classmark.taxonomy.category import taxonomy_of
from classmark.validation import byte_size
from classmark.workbench.learning.fit import (
    FLAT,
    LEARNER,
    PLAIN,
    PRUNED,
    TOP_DOWN,
    fit,
    has_tree,
    new_ranker,
    new_vectorizer,
    require,
    task_of,
    told,
)
from classmark.workbench.learning.lessons import collected, to_learn_from
from classmark.workbench.learning.live import (
    TRAINED,
    Origin,
    by_margins,
    by_nodes,
    from_model,
)
from classmark.workbench.learning.models import (
    Beside,
    Known,
    WayCalibrator,
    save_model,
    voted,
)
from classmark.workbench.results import Revoted, Trained
from classmark.workbench.store.log import whoami
from classmark.workbench.store.replay import Moment

if TYPE_CHECKING:
    from classmark.evaluation.evaluate import Split
    from classmark.machines.cluster import Machines
    from classmark.rankers.linear import LinearRanker
    from classmark.rankers.preference import PreferenceRanker
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.learning.fit import Fitted, Strategy, Task
    from classmark.workbench.project import Project
    from classmark.workbench.settings import LearningSettings


CONFIDENCE = 0.9  # that the precision promised is kept
MANY = 20_000  # documents: from here on one fold of a tree is held out, not five


class Held(NamedTuple):
    """Scores of documents by rankers that have not seen them, and their labels.

    asked : the numbers of the documents;  fold : of each, in which it was left out.
    """

    scores: Floats
    labels: Rows
    asked: Ints
    fold: Ints

    @property
    def can_be_right(self) -> bool:
        """Whether some document has a category that its ranker has learned."""
        document = np.repeat(np.arange(len(self.labels)), np.diff(self.labels.starts))
        return bool(np.isfinite(self.scores[document, self.labels.columns]).any())


def learn_beside(
    fitted: Fitted,
    task: Task,
    learning: LearningSettings,
    working: Path | None = None,
) -> tuple[Beside, Revoted | None]:
    """Probabilities for the model; where to stop in a tree, and votes, beside it.

    With fewer than ``ENOUGH`` labelled documents there is nothing of it. With votes,
    what they change of held-out documents is told as well.

    working : keeps what is finished, so that a training which was killed goes on.
    """
    labels = task.collection.labels
    if sum(map(bool, labels)) < ENOUGH:
        if learning.rare:
            raise Mistake(
                f"rare needs {ENOUGH} or more labelled documents: label more, or use "
                "--no-rare"
            )
        return Beside(), None
    model, X = fitted.model, rows_from(fitted.X)
    wanted = labels_from(labels, len(X), len(model.categories))
    ranker = model.ranker
    if working is not None and _is_sparse_with_blocks(ranker):
        held = _by_blocks(ranker, X, wanted, working)
    else:
        held = _held_out(fitted, task, wanted, range(len(labels)), working)
    kind = WayCalibrator if fitted.strategy.descends else Calibrator
    model.calibrator = kind().fit(held.scores, held.labels)
    places = None
    if fitted.strategy.complexity_ratio is not None and held.can_be_right:
        names = model.categories
        y = [[names[c] for c in held.labels.row(i)[0]] for i in range(len(held.labels))]
        places = BackOff(task.tree, confidence=CONFIDENCE).fit(held.scores, y, names)
    if not learning.rare:
        return Beside(places), None
    votes = _votes(X, wanted, held)
    return Beside(places, votes), _revoted(votes, X, wanted, held)


def voting(fitted: Fitted, task: Task, which: Sequence[int]) -> TextRanker:
    """The model fitted on the texts of these numbers, its close calls voted on."""
    model, X = fitted.model, rows_from(fitted.X)
    labels = [task.collection.labels[i] for i in which]
    wanted = labels_from(labels, len(X), len(model.categories))
    votes = _votes(X, wanted, _held_out(fitted, task, wanted, which))
    return voted(model, votes, range(len(model.categories)))


def _votes(rows: Rows, labels: Rows, held: Held) -> Votes:
    if not held.can_be_right:
        raise Mistake(
            "rare needs categories with two or more documents: label more, or use "
            "--no-rare"
        )
    known = np.flatnonzero(np.diff(labels.starts) > 0)
    scale = fitted_scale(held.scores, held.labels)
    return Votes(take(rows, known), take(labels, known), scale)


def _revoted(votes: Votes, rows: Rows, labels: Rows, held: Held) -> Revoted:
    """What votes change of held-out documents, none of them among the voters'."""
    numbers = np.arange(labels.width)
    known = np.flatnonzero(np.diff(labels.starts) > 0)
    again, chosen = 0, set()
    for fold in np.unique(held.fold):
        mine = held.fold == fold
        others = np.setdiff1d(known, held.asked[mine])
        unseen = replace(votes, rows=take(rows, others), labels=take(labels, others))
        asked, scores = take(rows, held.asked[mine]), held.scores[mine]
        after, voted_on = unseen.revoted(asked, scores, numbers)
        again += int(voted_on.sum())
        chosen |= set(after.argmax(axis=1).tolist())
    return Revoted(
        votes.delta,
        votes.ratio,
        votes.count,
        again / len(held.asked),
        len(np.unique(held.scores.argmax(axis=1))),
        len(chosen),
    )


def _held_out(
    fitted: Fitted,
    task: Task,
    wanted: Rows,
    which: Sequence[int],
    working: Path | None = None,
) -> Held:
    """Scores of documents by rankers that have not seen them, and their labels."""
    ranker, rows = fitted.model.ranker, rows_from(fitted.X)
    if isinstance(ranker, TopDownRanker):
        return _down_the_tree(ranker, rows, wanted, working)
    parameters = ranker.get_params(deep=False)
    if isinstance(ranker, TaxonomyRanker):
        parameters |= ranker.setting_._asdict()
    lessons = task.collection.lessons(ranker, which)
    taught = lessons if is_graphs(lessons) else wanted
    parts = sample_tests(list(folds(len(rows), 5, random_state=0)), wanted)
    shared = (type(ranker)(**parameters), rows, taught)
    return _held(parts, spread(scored_apart, parts, shared, "calibrating"), wanted)


def _down_the_tree(
    ranker: TopDownRanker, rows: Rows, labels: Rows, working: Path | None
) -> Held:
    """The same, each fold's finished nodes kept while it goes on.

    One fold after the other: it is nodes that machines share.
    """
    known = np.flatnonzero(np.diff(labels.starts) > 0)
    parts = [(known[a], known[b]) for a, b in folds(len(known), 5, random_state=0)]
    parts = sample_tests(parts[: 1 if len(known) > MANY else 5], labels)
    as_pruned = {"taxonomy": ranker.classifier_.taxonomy, "prune": None}
    scores = []
    for at, (train, asked) in enumerate(track(parts, "calibrating", len(parts))):
        fresh = TopDownRanker(**ranker.get_params(deep=False) | as_pruned)
        fresh.working = None if working is None else working / f"fold-{at}"
        fresh.fit(take(rows, train), take(labels, train))
        scores.append(fresh.decision_function(take(rows, asked)))
    return _held(parts, scores, labels)


def _is_sparse_with_blocks(ranker: LinearRanker) -> TypeGuard[PreferenceRanker]:
    """Whether the labels were learned apart, for want of memory."""
    if getattr(ranker, "store_", "dense") != "sparse":
        return False
    from classmark.machines.labels import has_blocks

    return has_blocks(ranker)


def _by_blocks(
    ranker: PreferenceRanker, rows: Rows, labels: Rows, working: Path
) -> Held:
    """The same, block of labels by block of labels, for one fold after the other."""
    from classmark.machines.labels import fit_blocks

    parts = sample_tests(list(folds(len(rows), 5, random_state=0)), labels)
    scores = []
    for at, (train, asked) in enumerate(track(parts, "calibrating", len(parts))):
        fresh = type(ranker)(**ranker.get_params(deep=False))
        own = (take(rows, train), take(labels, train), working / f"fold-{at}")
        learned = fit_blocks(None, fresh, *own)
        scores.append(learned.decision_function(take(rows, asked)))
    return _held(parts, scores, labels)


def _held(parts: list[Split], scores: list[Floats], labels: Rows) -> Held:
    """What was scored, fold after fold."""
    fold = np.repeat(np.arange(len(parts)), [len(some) for _, some in parts])
    every = np.concatenate([some for _, some in parts])
    return Held(np.concatenate(scores), take(labels, every), every, fold)


LOCK = ".lock"  # held by whoever uses the folder it is in
SECONDS = 0.05  # to wait for somebody who is just removing it


class WorkingFolder:
    """The working folders of trainings, by name; of these the one that is claimed.

    Others may be at work beside it: what is in use is left alone. What was left by
    trainings that are no more is removed, unless it is gone on with.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._claimed: tuple[Path, BinaryIO] | None = None

    def claim(self, name: str) -> Path:
        """Return the folder of this name; it stays as long as it is held."""
        place = self.folder / name
        make_folder(place)
        while (file := _locked(place, fcntl.LOCK_SH)) is None:
            time.sleep(SECONDS)
            make_folder(place)
        self._claimed = place, file
        for other in self.folder.iterdir():
            if other.is_dir() and other.name != name:
                _remove(other)
        return place

    def remove(self) -> None:
        """Remove what was claimed: it is not needed any more."""
        if self._claimed is not None:
            place = self._claimed[0]
            self._free()
            _remove(place)
        with suppress(OSError):  # others are at work in it
            self.folder.rmdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._free()

    def _free(self) -> None:
        if self._claimed is not None:
            self._claimed[1].close()
            self._claimed = None


def _locked(place: Path, how: int) -> BinaryIO | None:
    """Lock a folder; None where others do not allow it, or removed it meanwhile."""
    with suppress(FileNotFoundError, BlockingIOError):
        file = (place / LOCK).open("a+b")
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file.fileno()), (place / LOCK).stat()):
                return file
        except BaseException:
            file.close()
            raise
        file.close()
    return None


def _remove(place: Path) -> None:
    """Remove a folder that nobody uses."""
    if (file := _locked(place, fcntl.LOCK_EX)) is not None:
        with file:
            shutil.rmtree(place, ignore_errors=True)


KEPT_MODELS = 5
OPTIONS = {
    "loss": "use --strategy plain or flat, or --learner loglinear",
    "base": "use a tree of categories and --strategy flat, top-down or pruned",
    "memory": "use --learner plm",
    "policy": "use --strategy pruned",
    "bold": "use --strategy pruned",
    "C": "use --learner plm or loglinear",
}
WORKING = ".training"  # among the models: what a training has finished so far


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model, what it was fitted on, and how long that took.

    settings : those it was fitted with, what was chosen written out;  rare : what votes
    on rare categories change.
    """

    model: TextRanker
    ids: list[str]
    seconds: float
    strategy: Strategy
    beside: Beside
    settings: LearningSettings
    rare: Revoted | None = None

    @property
    def decisions(self) -> int | None:
        """How many decisions its probabilities rest on; None without any."""
        calibrator = self.model.calibrator
        return None if calibrator is None else calibrator.decisions_


def train(
    project: Project,
    settings: LearningSettings | None = None,
    *,
    select: bool = False,
    machines: Machines | None = None,
) -> Trained:
    """Learn from every judged document that is not set apart for testing.

    select : choose the C of plm by cross-validation on these documents first. The model
    is put in service; where it can learn from every decision, it will. A top-down
    training that was killed goes on where it was.
    machines : whose workers do what can be parted (a tree's nodes, folds).
    """
    settings = settings or project.settings.learning
    moment = Moment(project.store)
    working = WorkingFolder(project.models.folder / WORKING)
    bringing = nullcontext() if machines is None else spread_by(machines)
    with working, bringing:
        fitted = fit_at(project, moment, settings, select=select, working=working)
        folder = _kept(project, fitted, moment)
        working.remove()
    origin = Origin(folder.name, asdict(fitted.settings))
    if learner := from_model(project, fitted.model, fitted.ids, moment, origin):
        learner.save()
    return _told(folder.name, settings, fitted, live=learner is not None)


def _kept(project: Project, fitted: TrainedModel, moment: Moment) -> Path:
    """Save a model and put it in service; its folder."""
    known = Known(moment.numbers())
    facts = {"documents": len(fitted.ids), "seconds": fitted.seconds}
    folder = save_model(project.models, fitted.model, fitted.beside, known, facts)
    project.store.note_event(
        TRAINED, whoami(), model=folder.name, learner=fitted.settings.learner,
        upto=moment.upto, settings=asdict(fitted.settings),
    )  # fmt: skip
    project.models.put_in_service(folder)
    project.models.drop_old(KEPT_MODELS)
    return folder


def _told(
    name: str, settings: LearningSettings, fitted: TrainedModel, *, live: bool
) -> Trained:
    model, ranker = fitted.model, fitted.model.ranker
    strategy = fitted.strategy
    return Trained(
        name,
        settings.learner,
        len(fitted.ids),
        len(model.categories),
        strategy.size.features,
        fitted.settings.C or None,
        getattr(ranker, "duality_gap_", None),
        fitted.seconds,
        fitted.decisions,
        strategy.name,
        strategy.why,
        strategy.size.flat,
        strategy.complexity_ratio,
        tuple(str(node) for node in getattr(ranker, "pruned_", ())),
        live,
        "" if live else _why_later(strategy, fitted.settings),
        fitted.settings.base if by_nodes(fitted.settings) else None,
        fitted.rare,
    )


def _why_later(strategy: Strategy, settings: LearningSettings) -> str:
    """Why a model does not learn from every decision."""
    if strategy.descends:
        return "the model goes down the tree"
    if by_nodes(settings):
        return f"{settings.base} learns from all documents at once"
    if not by_margins(settings):
        name = settings.loss if settings.learner == "plm" else settings.learner
        return f"{name} learns from all documents at once"
    return (
        f"the weights take {told(strategy.size.flat)}, more than the "
        f"{told(byte_size(settings.memory))} given: allow more with --memory"
    )


def fit_at(
    project: Project,
    moment: Moment,
    settings: LearningSettings,
    *,
    select: bool = False,
    working: WorkingFolder | None = None,
) -> TrainedModel:
    """Learn from what the log said at a moment.

    working : where what is finished is kept while it goes on.
    """
    require(settings)
    records = to_learn_from(moment.records(), new_ranker(settings))
    if not records:
        raise Mistake(
            f"{project.folder} has no labelled documents to learn from: "
            "import some with labels (classmark import FILE)"
        )
    categories = moment.categories()
    collection = collected(project, records, settings.grades, categories)
    started = time.perf_counter()
    task = task_of(collection, categories)
    place = None if working is None else working.claim(_name(task, settings))
    vectorizer = new_vectorizer(project, settings)
    found = fit(task, vectorizer, settings, select=select, working=place)
    beside, rare = learn_beside(found, task, settings, place)
    return TrainedModel(
        found.model,
        [record.id for record in records],
        time.perf_counter() - started,
        found.strategy,
        beside,
        _written_out(settings, found.model.ranker, found.strategy),
        rare,
    )


def _written_out(
    settings: LearningSettings, ranker: Any, strategy: Strategy
) -> LearningSettings:
    """The settings, with what was chosen in the place of what leaves the choice."""
    used = replace(settings, strategy=strategy.name)
    if (chosen := getattr(ranker, "setting_", None)) is not None:
        return replace(used, C=chosen.C, center=chosen.center)
    price = getattr(ranker, "C", None)
    return used if price is None else replace(used, C=price)


def _name(task: Task, settings: LearningSettings) -> str:
    """What this very training is called, and no other."""
    digest = blake2b(repr(sorted(asdict(settings).items())).encode(), digest_size=8)
    digest.update(repr(task.tree.edges).encode())
    for text, labels in zip(task.collection.texts, task.collection.labels, strict=True):
        digest.update(f"{len(text)} {text} {labels}".encode())
    return digest.hexdigest()


def changed(project: Project, said: dict[str, Any]) -> LearningSettings:
    """The project's settings, with what was said for this once."""
    given = {name: value for name, value in said.items() if value is not None}
    return replace(project.settings.learning, **given)


def require_effect(
    project: Project, several: Sequence[LearningSettings], said: dict[str, Any]
) -> None:
    """Refuse what was said for this once and means nothing in any of the settings."""
    tree = has_tree(taxonomy_of(project.store.categories()))
    for settings in several:
        require(settings)
    used = set().union(*(_used(settings, tree=tree) for settings in several))
    for name, value in said.items():
        if value is not None and name in OPTIONS and name not in used:
            raise Mistake(
                f"--{name} has no effect {_with(several[0], tree=tree)}: leave it out, "
                f"or {OPTIONS[name]}"
            )


def _used(settings: LearningSettings, *, tree: bool) -> set[str]:
    """Those of ``OPTIONS`` that the settings look at."""
    if settings.learner != LEARNER:
        more = {"loglinear": {"loss", "C"}}
        return more.get(settings.learner, set())
    by_strategy = {
        "auto": {"loss", "base", "policy", "bold"} if tree else {"loss"},
        PLAIN: {"loss"},
        FLAT: {"base"} if settings.base != "svm" else {"base", "loss"},
        TOP_DOWN: {"base"},
        PRUNED: {"base", "policy", "bold"},
    }
    return {"memory", "C"} | by_strategy[settings.strategy]


def _with(settings: LearningSettings, *, tree: bool) -> str:
    if settings.learner != LEARNER:
        return f"with the learner {settings.learner}"
    if settings.strategy == "auto" and not tree:
        return "where the categories have no tree"
    base = f" and the base {settings.base}" if by_nodes(settings) else ""
    return f"with the strategy {settings.strategy}{base}"


def require_analyzer(description: str) -> str:
    """The description, once it is known that it can be parsed."""
    from classmark.text.analyzer import Analyzer

    return str(Analyzer.parse(description))
