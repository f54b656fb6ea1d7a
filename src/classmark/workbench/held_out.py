"""What does a model say of documents it has not learned from, and what follows?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.corpus.splits import folds
from classmark.hierarchies.back_off import BackOff
from classmark.hierarchies.nodes import fitted_scale
from classmark.hierarchies.rerank import Votes
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.hierarchies.top_down import TopDownRanker
from classmark.machines.labels import fit_blocks, has_blocks
from classmark.preferences.labels import labels_from
from classmark.preferences.levels import is_graphs
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.calibration import ENOUGH, Calibrator, sample_tests, scored_apart
from classmark.sparse import Rows, rows_from, take
from classmark.spreading import spread
from classmark.workbench.models import Beside, WayCalibrator, voted
from classmark.workbench.views import Revoted

if TYPE_CHECKING:
    from classmark.evaluation.evaluate import Split
    from classmark.rankers.preference import PreferenceRanker
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.fitting import Fitted, Task
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
    if working is not None and has_blocks(ranker) and ranker.store_ == "sparse":
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


def _by_blocks(
    ranker: PreferenceRanker, rows: Rows, labels: Rows, working: Path
) -> Held:
    """The same, block of labels by block of labels, for one fold after the other."""
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
