"""Saved models of a project, shown with today's categories."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from classmark.arrays import Array, Floats
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.rankers.calibration import Calibrator
from classmark.rankers.linear import Evidence, LinearRanker
from classmark.rankers.text_ranker import LEARNERS, Suggestion, TextRanker
from classmark.storage import (
    open_folder,
    pack_strings,
    save,
    sync_folder,
    unpack_strings,
)
from classmark.taxonomy.category import ACTIVE
from classmark.weighting.vectorizer import Vectorizer

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.hierarchies.back_off import BackOff
    from classmark.hierarchies.rerank import Votes
    from classmark.hierarchies.top_down import TopDownRanker
    from classmark.storage import Generations, Saved
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store


FORMAT, VERSION = "classmark top-down text ranker", 1
VOTING, PLACING = "classmark votes", "classmark places"
KNOWING = "classmark categories"
NODES, VOTES, PLACES, KNOWN = "nodes", "votes", "places", "known"
HowToPlace = tuple["BackOff", Callable[[str], str]]


class WayCalibrator(Calibrator):
    """Probabilities of ways down a tree, from the products of those at the nodes.

    One curve over their logarithms, which all documents share: no other category of the
    document needs to be looked at. Categories that a fold had no documents of (−inf)
    teach nothing.
    """

    def fit(self, scores: Any, Y: Any) -> Self:
        """Learn from held-out scores, shape (n, k), and the labels of the documents."""
        table = np.asarray(scores, np.float64)
        right = labels_from(Y, *table.shape).to_scipy().toarray() > 0
        can = table > -np.inf
        super().fit(table[can][:, None], right[can][:, None].astype(np.float64))
        self.decisions_ = len(table)
        return self

    def standing(self, scores: Floats) -> Floats:
        """The scores themselves."""
        return scores


class TopDownTextRanker(TextRanker):
    """A text ranker that goes down a tree, and reads the nodes it comes by only."""

    ranker: TopDownRanker

    def suggest(self, text: str, k: int = 10, terms: int = 5) -> list[Suggestion]:
        """The best categories for a text, each with its strongest terms."""
        X = self.vectorizer.rows([text])
        read = self._words_behind(text) if terms else {}
        best, found = self.ranker.best(X, k), []
        likely = self.probabilities(np.array([s for _, s in best]).reshape(-1, 1))
        for place, (category, score) in enumerate(best, start=1):
            favour, against = self._sides(X, category, terms, read)
            chance = None if likely is None else float(likely[place - 1, 0])
            name = self.categories[category]
            found.append(Suggestion(name, place, score, favour, against, chance))
        return found

    def save(self, folder: Path, facts: dict[str, Any] | None = None) -> None:
        """Write everything as a new folder, the nodes in a folder of their own."""
        arrays, vectorizer = self.vectorizer.to_arrays()
        stored = {f"vectorizer_{name}": array for name, array in arrays.items()}
        stored["categories"], stored["categories_ends"] = pack_strings(self.categories)
        calibrator = None
        if self.calibrator is not None:
            learned, calibrator = self.calibrator.to_arrays()
            stored |= {f"calibrator_{name}": array for name, array in learned.items()}
        described = {
            "vectorizer": vectorizer,
            "calibrator": calibrator,
            "parameters": {"base": self.ranker.base, "C": self.ranker.C},
            "pruned": [str(node) for node in self.ranker.pruned_],
            "facts": facts or {},
        }
        save(folder, FORMAT, VERSION, stored, described)
        self.ranker.classifier_.save(folder / NODES)

    @classmethod
    def open(cls, folder: Path, *_: Any) -> TopDownTextRanker:
        """Open a saved folder; its nodes stay on disk until they are come by."""
        from classmark.hierarchies.top_down import TopDownClassifier, TopDownRanker

        saved = open_folder(folder, FORMAT, VERSION)

        def part(prefix: str) -> dict[str, Array]:
            found = saved.arrays.items()
            return {n.removeprefix(prefix): a for n, a in found if n.startswith(prefix)}

        names = unpack_strings(
            saved.arrays["categories"], saved.arrays["categories_ends"]
        )
        classifier = TopDownClassifier.open(folder / NODES)
        ranker = TopDownRanker(
            classifier.taxonomy, names, **saved.settings["parameters"]
        )
        ranker.classifier_, ranker.pruned_ = classifier, saved.settings["pruned"]
        ranker.settle()
        vectorizer = Vectorizer.from_arrays(
            part("vectorizer_"), saved.settings["vectorizer"]
        )
        opened = cls(vectorizer, ranker, names)
        if (how := saved.settings["calibrator"]) is not None:
            opened.calibrator = WayCalibrator.from_arrays(part("calibrator_"), how)
        return opened


@dataclass(frozen=True, slots=True)
class Known:
    """The categories there were when a model was trained: their ids then and numbers.

    A category keeps its number when it is given another id.
    """

    numbers: dict[str, int]

    def present(self, store: Store) -> Callable[[str], str]:
        """What a category is called now, by its id then; merged, as what it is in."""
        now: dict[int, str] = {}
        joined: dict[int, int] = {}
        for number, id_, stands, other in store.run(
            "SELECT number, id, stands, joined FROM categories"
        ):
            if stands:
                now[number] = id_
            elif other is not None:
                joined[number] = other

        def called(id_: str) -> str:
            number: int = self.numbers.get(id_, -1)
            while number in joined:
                number = joined[number]
            return now.get(number, id_)

        return called


@dataclass(frozen=True, slots=True)
class Beside:
    """What was learned beside a model: where to stop on the way down, and votes."""

    places: BackOff | None = None
    votes: Votes | None = None


def save_model(
    models: Generations,
    model: TextRanker,
    beside: Beside,
    known: Known,
    facts: dict[str, Any],
) -> Path:
    """Keep a model as the next generation; it appears whole or not at all."""
    folder = models.next()
    new = models.folder / f".{folder.name}.new"
    shutil.rmtree(new, ignore_errors=True)
    model.save(new, facts)
    for name, kind, part in (
        (VOTES, VOTING, beside.votes),
        (PLACES, PLACING, beside.places),
    ):
        if part is not None:
            arrays, how = part.to_arrays()
            said = {"how": how, "columns": model.categories}
            save(new / name, kind, VERSION, arrays, said)
    save(new / KNOWN, KNOWING, VERSION, {}, {"numbers": known.numbers})
    sync_folder(new)
    new.rename(folder)
    sync_folder(models.folder)
    return folder


def open_model(folder: Path) -> TextRanker:
    """Open a generation as what it is: by weights, or top-down."""
    if (folder / NODES).is_dir():
        return TopDownTextRanker.open(folder)
    from classmark.hierarchies.flat import NodeRanker

    return TextRanker.open(folder, LEARNERS | {"node": NodeRanker})


def check_model(folder: Path) -> None:
    """Read every byte of a generation and compare it with its checksums."""
    open_model(folder)
    for name, kind in ((VOTES, VOTING), (PLACES, PLACING), (KNOWN, KNOWING)):
        if (folder / name).is_dir():
            open_folder(folder / name, kind, VERSION)


def with_votes(project: Project, model: TextRanker) -> TextRanker:
    """The model, its close calls voted on where it was trained for that."""
    saved = _beside(project, VOTES, VOTING)
    if saved is None:
        return model
    from classmark.hierarchies.rerank import Votes

    votes = Votes.from_arrays(saved.arrays, saved.settings["how"])
    now = known_then(project).present(project.store)
    column = {id_: at for at, id_ in enumerate(saved.settings["columns"])}
    column |= {now(id_): at for id_, at in column.items()}
    return voted(model, votes, [column.get(id_, -1) for id_ in model.categories])


def voted(model: TextRanker, votes: Votes, numbers: Sequence[int]) -> TextRanker:
    """The model with votes; ``numbers``: the label number of each category in them.

    All scores are looked at then, also those of a model that goes down a tree.
    """
    from classmark.hierarchies.rerank import VotedRanker

    ranker = VotedRanker(model.ranker, votes, numbers)
    found = TextRanker(model.vectorizer, ranker, model.categories)
    found.calibrator = model.calibrator
    return found


def how_to_place(project: Project) -> HowToPlace | None:
    """Where to stop on the way down, as the model in service learned; None: unknown.

    With it, what a category of the tree of then is called now.
    """
    saved = _beside(project, PLACES, PLACING)
    if saved is None:
        return None
    from classmark.hierarchies.back_off import BackOff

    back_off = BackOff.from_arrays(saved.arrays, saved.settings["how"])
    return back_off, known_then(project).present(project.store)


def known_then(project: Project) -> Known:
    """The categories there were when the model in service was trained."""
    for name, kind in ((KNOWN, KNOWING), (PLACES, PLACING), (VOTES, VOTING)):
        saved = _beside(project, name, kind)
        if saved is not None and "numbers" in saved.settings:
            return Known(saved.settings["numbers"])
    rows = project.store.run("SELECT id, number FROM categories ORDER BY stands")
    return Known(dict(rows))


def _beside(project: Project, name: str, kind: str) -> Saved | None:
    folder = project.models.current()
    if folder is None or not (folder / name).is_dir():
        return None
    return open_folder(folder / name, kind, VERSION)


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
        raise Mistake("a PresentRanker holds a fitted ranker: fit that one")

    def decision_function(self, X: Any) -> Floats:
        """Scores of the categories of today, shape (documents, categories)."""
        scores = np.asarray(self.ranker.decision_function(X), np.float64)
        found = scores[:, [own[0] for own in self.columns]]
        for at, own in enumerate(self.columns):
            if len(own) > 1:
                found[:, at] = scores[:, list(own)].max(axis=1)
        return found

    def best(self, X: Any, k: int) -> list[tuple[int, float]]:
        """The best categories of the one row of ``X``, and their scores."""
        today = {c: at for at, own in enumerate(self.columns) for c in own}
        others = len(self.ranker.categories) - len(self.columns)
        found: dict[int, float] = {}
        for label, score in self.ranker.best(X, k + others):
            if label in today:
                found.setdefault(today[label], score)
        return list(found.items())[:k]

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the score of ``category`` for the one row of ``X``."""
        own = list(self.columns[category])
        if len(own) > 1:
            scores = np.asarray(self.ranker.decision_function(X))[0, own]
            own = [own[int(scores.argmax())]]
        found: Evidence = self.ranker.evidence(X, own[0])
        return found


def as_of_now(project: Project, model: TextRanker) -> TextRanker:
    """The model with the present ids of its categories; retired ones are left out."""
    now = known_then(project).present(project.store)
    active = "SELECT id FROM categories WHERE stands = 1 AND status = ?"
    opened = {id_ for (id_,) in project.store.run(active, (ACTIVE,))}
    columns: dict[str, list[int]] = {}
    for at, id_ in enumerate(model.categories):
        if (name := now(id_)) in opened:
            columns.setdefault(name, []).append(at)
    if list(columns) == model.categories:
        return model
    if not columns:
        raise Mistake(
            "every category that the model knows is retired: undo that, or label "
            "documents with others and run classmark train"
        )
    ranker = PresentRanker(model.ranker, list(columns.values()))
    found = type(model)(model.vectorizer, ranker, list(columns))
    found.calibrator = model.calibrator
    return found


def trained_model(project: Project) -> TextRanker | None:
    """The model last trained, in the categories of today; None before the first."""
    folder = project.models.current()
    if folder is None:
        return None
    return as_of_now(project, with_votes(project, open_model(folder)))
