"""Saved models of a project, to rank by, shown with today's categories."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from classmark.arrays import Bools, Floats, Ints, Rows
from classmark.problems import refusal
from classmark.rankers.linear import Evidence, LinearRanker, Standing
from classmark.rankers.live_text_ranker import (
    LIVE_FORMAT,
    LiveTextRanker,
    live_facts,
)
from classmark.rankers.names import CategoryNames, NamedRanker
from classmark.rankers.online import BESIDE, RankerBeside
from classmark.rankers.text_ranker import FORMAT as TEXT_RANKER
from classmark.rankers.text_ranker import LEARNERS, TextRanker, weights_in
from classmark.solvers.centers import SparseCenter
from classmark.storage import (
    open_folder,
    save,
    saved_settings,
    sync_folder,
    unpack_strings,
)
from classmark.taxonomy.category import ACTIVE
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.older_settings import with_loss
from classmark.workbench.settings import LearningSettings, MeaningSettings

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.hierarchies.back_off import BackOff
    from classmark.hierarchies.rerank import Votes
    from classmark.hierarchies.top_down import TopDownRanker
    from classmark.meaning.sources import TextEncoder
    from classmark.meaning.vector_file import VectorFile
    from classmark.storage import Generations, SavedFolder
    from classmark.workbench.project import Project
    from classmark.workbench.results import NamesTried, Revoted
    from classmark.workbench.store.store import Store


FORMAT, VERSION = "classmark top-down text ranker", 1
NODES, VOTES, PLACES, KNOWN = "nodes", "votes", "places", "known"
NAMES = "names"
PARTS = {  # folders in a model's folder → what their manifests say they are
    NAMES: "classmark names",
    VOTES: "classmark votes",
    PLACES: "classmark places",
    KNOWN: "classmark categories",
}
HowToPlace = tuple["BackOff", Callable[[str], str]]


BEST = 100  # categories of a document in ``BestScores``


class BestScores(NamedTuple):
    """The scores of each document's best categories, and which are right: (n, best).

    −∞ where there are no more. Which pairs are listed depends on the scores alone, not
    on what is right, so that what they teach of a score holds for all that are listed.
    """

    scores: Floats
    right: Bools

    @classmethod
    def of(cls, ranker: TopDownRanker, rows: Rows, labels: Rows) -> Self:
        """Those of some documents."""
        most = min(BEST, len(ranker.categories))
        model = ranker.classifier_
        leaves, scores = model.best_leaves(rows, most)
        learned = (leaves >= 0) & (model.places_.sizes[leaves] > 0)
        categories = np.where(learned, ranker.labels_[leaves], -1)
        scores[categories < 0] = -np.inf
        right = [np.isin(c, labels.row(i)[0]) for i, c in enumerate(categories)]
        return cls(scores, np.array(right))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self | None:
        """Those of several folds together; None where there are none."""
        if not parts:
            return None
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))


class TopDownTextRanker(TextRanker):
    """A text ranker that goes down a tree, and reads the nodes it comes by only."""

    ranker: TopDownRanker

    def save(self, folder: Path, facts: dict[str, Any] | None = None) -> None:
        """Write everything as a new folder, the nodes in a folder of their own."""
        arrays, settings = self.to_arrays(facts)
        settings["parameters"] = {"base": self.ranker.base, "C": self.ranker.C}
        settings["pruned"] = [str(node) for node in self.ranker.pruned_]
        save(folder, FORMAT, VERSION, arrays, settings)
        self.ranker.classifier_.save(folder / NODES)

    @classmethod
    def open(
        cls, folder: Path, *_: Any, meaning: TextEncoder | None = None
    ) -> TextRanker:
        """Open a saved folder; its nodes stay on disk until they are come by."""
        saved = open_folder(folder, FORMAT, VERSION)
        return cls.from_arrays(saved, Vectorizer, _nodes_in(folder, saved), meaning)


def _nodes_in(folder: Path, saved: SavedFolder) -> TopDownRanker:
    """The ranker of a folder that ``TopDownTextRanker`` has saved."""
    from classmark.hierarchies.top_down import TopDownClassifier, TopDownRanker

    arrays, settings = saved.arrays, saved.settings
    names = unpack_strings(arrays["categories"], arrays["categories_ends"])
    classifier = TopDownClassifier.open(folder / NODES)
    if (tree := classifier.taxonomy) is None:
        raise TypeError("a model of nodes has a tree")
    ranker = TopDownRanker(tree, names, **settings["parameters"])
    ranker.classifier_, ranker.pruned_ = classifier, settings["pruned"]
    ranker.settle()
    return ranker


def ranker_beside(project: Project, live: SavedFolder) -> RankerBeside | None:
    """What a saved live ranker learned with, where that was beside a trained model."""
    if live.settings.get("learner") != BESIDE:
        return None
    parameters = live.settings["parameters"]
    folder = project.models.folder / live.settings["facts"]["base"]
    if (folder / NODES).is_dir():
        from classmark.hierarchies.top_down_live import LiveTopDownRanker, TreeCenter

        nodes = _nodes_in(folder, open_folder(folder, FORMAT, VERSION))
        return LiveTopDownRanker(**parameters).go_on_from(TreeCenter(nodes))
    arrays = open_folder(folder, TEXT_RANKER, VERSION).arrays
    center = SparseCenter(weights_in(arrays), arrays.get("thresholds"))
    return RankerBeside(**parameters).go_on_from(center)


def check_live(project: Project, folder: Path) -> None:
    """Read every byte of a live ranker and compare it with its checksums."""
    saved = open_folder(folder, LIVE_FORMAT, VERSION)
    meaning = vectors_of_saved(project, saved.settings["facts"])
    LiveTextRanker.from_arrays(saved, meaning, ranker_beside(project, saved))


@dataclass(frozen=True, slots=True)
class Beside:
    """What was learned beside a model: where to stop on the way down, votes, names.

    change : what the votes change of held-out documents;  tried : what names add.
    """

    places: BackOff | None = None
    votes: Votes | None = None
    change: Revoted | None = None
    names: CategoryNames | None = None
    tried: NamesTried | None = None


def save_model(
    models: Generations,
    model: TextRanker,
    beside: Beside,
    numbers: dict[str, int],
    facts: dict[str, Any],
) -> Path:
    """Keep a model as the next generation; it appears whole or not at all.

    numbers : category → its number, which it keeps when it is given another id.
    """
    folder = models.next()
    new = models.folder / f".{folder.name}.new"
    shutil.rmtree(new, ignore_errors=True)
    model.save(new, facts)
    parts = ((VOTES, beside.votes), (PLACES, beside.places), (NAMES, beside.names))
    for name, part in parts:
        if part is not None:
            arrays, how = part.to_arrays()
            settings = {"how": how, "columns": model.categories}
            save(new / name, PARTS[name], VERSION, arrays, settings)
    save(new / KNOWN, PARTS[KNOWN], VERSION, {}, {"numbers": numbers})
    sync_folder(new)
    new.rename(folder)
    sync_folder(models.folder)
    return folder


def open_model(project: Project, folder: Path) -> TextRanker:
    """Open a generation as what it is: by weights, or top-down."""
    meaning = vectors_of_saved(project, model_facts(folder))
    if (folder / NODES).is_dir():
        return TopDownTextRanker.open(folder, meaning=meaning)
    from classmark.hierarchies.flat import NodeRanker

    return TextRanker.open(folder, LEARNERS | {"node": NodeRanker}, meaning)


def model_facts(folder: Path) -> dict[str, Any]:
    """The facts saved beside a model, whose arrays are not looked at."""
    format_ = FORMAT if (folder / NODES).is_dir() else TEXT_RANKER
    return dict(saved_settings(folder, format_, VERSION)["facts"])


def vectors_of_saved(project: Project, facts: Mapping[str, Any]) -> VectorFile | None:
    """The vectors that a saved model was made with; None for words alone."""
    how = facts.get("meaning")
    return project.meaning(MeaningSettings(**how)) if how else None


def vectors_in_service(project: Project) -> VectorFile | None:
    """The vectors of the model in service; None for words alone."""
    folder = project.models.current()
    return None if folder is None else vectors_of_saved(project, model_facts(folder))


def sources_in_service(project: Project) -> list[MeaningSettings]:
    """The sources of vectors of the model in service and of the live ranker."""
    model, live = project.models.current(), saved_live(project)
    facts = [] if model is None else [model_facts(model)]
    facts += [] if live is None else [live_facts(live)]
    return [MeaningSettings(**how) for each in facts if (how := each.get("meaning"))]


def check_model(project: Project, folder: Path) -> None:
    """Read every byte of a generation and compare it with its checksums."""
    open_model(project, folder)
    for name in PARTS:
        _open_part(folder, name)


def with_beside(project: Project, model: TextRanker) -> TextRanker:
    """The model with the names it was trained with, and its close calls voted on."""
    if (saved := _open_part(project.models.current(), NAMES)) is not None:
        names = CategoryNames.from_arrays(saved.arrays, saved.settings["how"])
        model = named(model, names, _columns_of(project, saved, model))
    if (saved := _open_part(project.models.current(), VOTES)) is None:
        return model
    from classmark.hierarchies.rerank import Votes

    votes = Votes.from_arrays(saved.arrays, saved.settings["how"])
    return voted(model, votes, _columns_of(project, saved, model))


def _columns_of(project: Project, saved: SavedFolder, model: TextRanker) -> list[int]:
    """The number of each category of a model when the part was learned, or −1."""
    now = _present_id(project)
    column = {id_: at for at, id_ in enumerate(saved.settings["columns"])}
    column |= {now(id_): at for id_, at in column.items()}
    return [column.get(id_, -1) for id_ in model.categories]


def named(
    model: TextRanker, names: CategoryNames, numbers: Sequence[int]
) -> TextRanker:
    """The model with names beside it; ``numbers``: of each category, in ``names``."""
    ranker = NamedRanker(model.ranker, names, numbers)
    other = TextRanker(model.vectorizer, ranker, model.categories)
    other.calibrator = model.calibrator
    return other


def voted(model: TextRanker, votes: Votes, numbers: Sequence[int]) -> TextRanker:
    """The model with votes; ``numbers``: the label number of each category in them.

    All scores are looked at then, also those of a model that goes down a tree, and they
    alone order the categories: offsets of categories would turn votes round.
    """
    from classmark.hierarchies.rerank import VotedRanker

    ranker = VotedRanker(model.ranker, votes, numbers)
    voting = TextRanker(model.vectorizer, ranker, model.categories)
    if model.calibrator is not None:
        voting.calibrator = model.calibrator.regrouped(())
    return voting


def how_to_place(project: Project) -> HowToPlace | None:
    """Where to stop on the way down, as the model in service learned; None: unknown.

    With it, what a category of the tree of then is called now.
    """
    saved = _open_part(project.models.current(), PLACES)
    if saved is None:
        return None
    from classmark.hierarchies.back_off import BackOff

    back_off = BackOff.from_arrays(saved.arrays, saved.settings["how"])
    return back_off, _present_id(project)


def present_id(store: Store, numbers: Mapping[str, int]) -> Callable[[str], str]:
    """What a category is called now, by its id then; merged, as what it is in.

    numbers : the ids then, and the numbers of the categories, which never change.
    """
    names = present_ids(store)
    return lambda id_: names.get(numbers.get(id_, -1), id_)


def present_ids(store: Store) -> dict[int, str]:
    """Number → the id that a category has now; merged, that of what it is in."""
    rows = store.run("SELECT number, id, stands, joined FROM categories").fetchall()
    names = {number: id_ for number, id_, stands, _ in rows if stands}
    joined = {n: into for n, _, stands, into in rows if not stands and into is not None}
    for number in joined:
        at = number
        while at in joined:
            at = joined[at]
        if at in names:
            names[number] = names[at]
    return names


def _present_id(project: Project) -> Callable[[str], str]:
    """As ``present_id``, by the ids when the model in service was trained."""
    if (saved := _open_part(project.models.current(), KNOWN)) is not None:
        return present_id(project.store, saved.settings["numbers"])
    sql = "SELECT id, number FROM categories ORDER BY stands"
    return present_id(project.store, dict(project.store.run(sql)))


def _open_part(folder: Path | None, name: str) -> SavedFolder | None:
    if folder is None or not (folder / name).is_dir():
        return None
    return open_folder(folder / name, PARTS[name], VERSION)


class PresentRanker(LinearRanker):
    """A fitted ranker whose categories were merged, or left out, since.

    columns : for each category of today, the label numbers of the ranker that it
    stands for; its score is the best of theirs.
    """

    def __init__(self, ranker: Any, columns: Sequence[Sequence[int]]) -> None:
        self.ranker = ranker
        self.columns = columns

    def fit(self, X: Any, Y: Any) -> Self:  # noqa: ARG002 (the manners of a ranker)
        """Refuse: the ranker inside is fitted already."""
        raise refusal("a PresentRanker holds a fitted ranker: fit that one")

    def category_scores(self, X: Any) -> Floats:
        """Scores of the categories of today, shape (documents, categories)."""
        scores = np.asarray(self.ranker.decision_function(X), np.float64)
        best = scores[:, [labels[0] for labels in self.columns]]
        for at, labels in enumerate(self.columns):
            if len(labels) > 1:
                best[:, at] = scores[:, list(labels)].max(axis=1)
        return best

    def best(self, X: Any, k: int) -> list[tuple[int, float]]:
        """The best categories of the one row of ``X``, and their scores."""
        others = len(self.ranker.categories) - len(self.columns)
        scores: dict[int, float] = {}
        for label, score in self.ranker.best(X, k + others):
            if (at := int(self._today[label])) >= 0:
                scores.setdefault(at, score)
        return list(scores.items())[:k]

    @property
    def descends(self) -> bool:  # type: ignore[override]
        """As the ranker inside."""
        return bool(self.ranker.descends)

    @property
    def n_ranked(self) -> int:
        """How many categories there are today."""
        return len(self.columns)

    def ranks(self, X: Any, categories: Sequence[int]) -> list[Standing | None]:
        """Where some categories stand for the one row of ``X``; None: not ranked."""
        if not self.descends:
            return super().ranks(X, categories)
        standings: list[Standing | None]
        standings = self.ranker.ranks(X, categories, self._today)
        return standings

    @cached_property
    def _today(self) -> Ints:
        """The category of today that each label counts for, or −1."""
        today = np.full(len(self.ranker.categories), -1, np.int64)
        for at, labels in enumerate(self.columns):
            today[list(labels)] = at
        return today

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the score of ``category`` for the one row of ``X``."""
        labels = list(self.columns[category])
        best = 0
        if len(labels) > 1:
            best = int(np.asarray(self.ranker.decision_function(X))[0, labels].argmax())
        evidence: Evidence = self.ranker.evidence(X, labels[best])
        return evidence

    def matched_name(self, X: Any, category: int) -> tuple[str, float] | None:
        """The name of a category that the one row of ``X`` has, and what it adds."""
        matched = (self.ranker.matched_name(X, at) for at in self.columns[category])
        return max(filter(None, matched), key=lambda name: name[1], default=None)


def has_learned(project: Project) -> bool:
    """Whether a model was trained, or decisions were learned without one."""
    folder = saved_live(project)
    lone = folder is not None and live_facts(folder).get("has_learned", False)
    return bool(base_of(project)) or lone


def as_of_now(project: Project, model: TextRanker) -> TextRanker | None:
    """The model with the present ids of its categories; retired ones are left out.

    None where all of them are.
    """
    now = _present_id(project)
    active = "SELECT id FROM categories WHERE stands = 1 AND status = ?"
    active_ids = {id_ for (id_,) in project.store.run(active, (ACTIVE,))}
    columns: dict[str, list[int]] = {}
    for at, id_ in enumerate(model.categories):
        if (name := now(id_)) in active_ids:
            columns.setdefault(name, []).append(at)
    if list(columns) == model.categories:
        return model
    if not columns:
        return None
    ranker = PresentRanker(model.ranker, list(columns.values()))
    present = type(model)(model.vectorizer, ranker, list(columns))
    if model.calibrator is not None:
        present.calibrator = model.calibrator.regrouped(list(columns.values()))
    return present


def trained_model(project: Project) -> TextRanker | None:
    """The model last trained, in the categories of today.

    None before the first, and where all its categories are retired.
    """
    folder = project.models.current()
    if folder is None:
        return None
    return as_of_now(project, with_beside(project, open_model(project, folder)))


def open_to_rank(project: Project) -> TextRanker | None:
    """What the live ranker as it was saved ranks by.

    None: it is to learn first, or has no category to rank.

    One that was saved before it said whether it has learned anything is opened to
    learn, as ever.
    """
    store = project.store
    with store.transaction():  # nobody saves, or drops, another meanwhile
        if (folder := saved_live(project)) is None:
            return None
        facts = live_facts(folder)
        if acts_waiting(project) or not facts.get("has_learned"):
            return None
        meaning = vectors_of_saved(project, facts)
        beside = ranker_beside(project, open_folder(folder, LIVE_FORMAT, VERSION))
        model = LiveTextRanker.open_to_rank(folder, meaning, beside)
        if not model.ranker.ranks_any:
            return None
        rows = store.category_rows()
    names = {str(number): row["id"] for number, row in rows.items() if row["stands"]}
    model.categories = [names.get(key, f"\0{key}") for key in model.categories]
    return with_beside(project, model)


def acts_waiting(project: Project) -> int | None:
    """How many acts the live ranker learns first; None where the ranker is not live."""
    folder = project.lives.current()
    if folder is None and base_of(project):
        return None
    upto = -1 if folder is None else live_facts(folder)["upto"]
    acts = "SELECT count(*) FROM judgments WHERE seq > ?"
    return int(project.store.run(acts, (upto,)).fetchone()[0])


def saved_live(project: Project) -> Path | None:
    """The folder of the live ranker, if it goes with the model and settings of now."""
    base, folder = base_of(project), project.lives.current()
    if folder is None or (facts := live_facts(folder))["base"] != base:
        return None
    before = asdict(LearningSettings()) | with_loss(facts["settings"])
    return folder if base or before == settings_from_nothing(project) else None


def base_of(project: Project) -> str:
    """The name of the trained model in service; "" where there is none."""
    return getattr(project.models.current(), "name", "")


def settings_from_nothing(project: Project) -> dict[str, Any]:
    """What a ranker that begins with nothing depends on."""
    text = project.settings.text
    reading = {"analyzer": text.analyzer, "fields": list(text.fields)}
    meaning = project.settings.meaning
    return asdict(project.settings.learning) | reading | meaning.remembered
