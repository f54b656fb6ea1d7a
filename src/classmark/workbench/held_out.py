"""What does a model say of documents it has not learned from, and what follows?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classmark.corpus.splits import folds
from classmark.hierarchies.backing_off import BackOff
from classmark.hierarchies.by_label import TopDownRanker
from classmark.hierarchies.ranker import TaxonomyRanker
from classmark.hierarchies.voted import Votes
from classmark.judgments.labels import labels_from
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.calibration import CELLS, ENOUGH, Calibrator, held_out_scores
from classmark.sparse import Rows, rows_from, take
from classmark.workbench.models import Beside, WayCalibrator, voted

if TYPE_CHECKING:
    from classmark.rankers.text import TextRanker
    from classmark.workbench.fitting import Fitted, Task
    from classmark.workbench.settings import LearningSettings

Held = tuple[NDArray[np.float64], Rows]
CONFIDENCE = 0.9  # that the precision promised is kept
MANY = 20_000  # documents: from here on one fold of a tree is held out, not five


def learn_beside(
    fitted: Fitted, task: Task, learning: LearningSettings, working: Path | None = None
) -> Beside:
    """Probabilities for the model; where to stop in a tree, and votes, beside it.

    With fewer than ``ENOUGH`` labelled documents there is nothing of it.
    """
    labels = task.collection.labels
    if sum(map(bool, labels)) < ENOUGH:
        if learning.rare:
            raise Mistake(
                f"rare needs {ENOUGH} or more labelled documents: label more, or use "
                "--no-rare"
            )
        return Beside()
    model, X = fitted.model, rows_from(fitted.X)
    wanted = labels_from(labels, len(X), len(model.categories))
    every = range(len(labels))
    scores, asked = _held_out(fitted, task, wanted, every, working)
    kind = WayCalibrator if fitted.strategy.descends else Calibrator
    model.calibrator = kind().fit(scores, asked)
    places = votes = None
    if fitted.strategy.complexity_ratio is not None:
        names = model.categories
        y = [[names[c] for c in asked.row(i)[0]] for i in range(len(asked))]
        places = BackOff(task.tree, confidence=CONFIDENCE).fit(scores, y, names)
    if learning.rare:
        known = np.flatnonzero(np.diff(wanted.starts) > 0)
        votes = Votes.fit(take(X, known), take(wanted, known), scores, asked)
    return Beside(places, votes)


def voting(fitted: Fitted, task: Task, which: Sequence[int]) -> TextRanker:
    """The model fitted on the texts of these numbers, its close calls voted on."""
    model, X = fitted.model, rows_from(fitted.X)
    labels = [task.collection.labels[i] for i in which]
    wanted = labels_from(labels, len(X), len(model.categories))
    known = np.flatnonzero(np.diff(wanted.starts) > 0)
    votes = Votes.fit(
        take(X, known), take(wanted, known), *_held_out(fitted, task, wanted, which)
    )
    return voted(model, votes, range(len(model.categories)))


def _held_out(
    fitted: Fitted,
    task: Task,
    wanted: Rows,
    which: Sequence[int],
    working: Path | None = None,
) -> Held:
    """Scores of documents by rankers that have not seen them, and their labels."""
    ranker = fitted.model.ranker
    if isinstance(ranker, TopDownRanker):
        return _down_the_tree(ranker, rows_from(fitted.X), wanted, working)
    if isinstance(ranker, TaxonomyRanker):
        ranker = TaxonomyRanker(**ranker.get_params(deep=False))
        ranker.set_params(**fitted.model.ranker.setting_._asdict())  # type: ignore[attr-defined]
    lessons = task.collection.lessons(ranker, which)
    return held_out_scores(ranker, fitted.X, wanted, lessons)


def _down_the_tree(
    ranker: TopDownRanker, rows: Rows, labels: Rows, working: Path | None
) -> Held:
    """As ``held_out_scores``, each fold's finished nodes kept while it goes on."""
    known = np.flatnonzero(np.diff(labels.starts) > 0)
    parts = list(folds(len(known), 5, random_state=0))[: 1 if len(known) > MANY else 5]
    share = max(10, CELLS // (labels.width * len(parts)))
    as_pruned = {"taxonomy": ranker.classifier_.taxonomy, "prune": None}
    scores, asked = [], []
    for at, (learn, ask) in enumerate(track(parts, "calibrating", len(parts))):
        some = known[ask[:: max(1, -(-len(ask) // share))]]
        fresh = TopDownRanker(**ranker.get_params(deep=False) | as_pruned)
        fresh.working = None if working is None else working / f"fold-{at}"
        fresh.fit(take(rows, known[learn]), take(labels, known[learn]))
        scores.append(fresh.decision_function(take(rows, some)))
        asked.append(some)
    return np.concatenate(scores), take(labels, np.concatenate(asked))
