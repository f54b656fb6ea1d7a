"""What a trained model says, in the categories of today: renamed, merged, retired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.rankers.linear import Evidence, LinearRanker
from classmark.taxonomy.category import ACTIVE
from classmark.workbench.models import known_then

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.project import Project


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
    active = "SELECT id FROM categories WHERE stands AND status = ?"
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
