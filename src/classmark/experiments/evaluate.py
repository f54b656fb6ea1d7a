"""Which learner is how good on documents it has not seen?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classmark.judgments.labels import labels_from
from classmark.measures import category_ranking, precision_at_rank
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.calibration import ENOUGH, crossed_calibration_error
from classmark.rankers.text import TextRanker

if TYPE_CHECKING:
    from classmark.preferences.graph import PreferenceGraph
    from classmark.rankers.linear import LinearRanker
    from classmark.weighting.vectorizer import Vectorizer

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """Texts, their label numbers, and the names the numbers stand for.

    graphs : per text, what its labels and more say; None where labels say it all.
    """

    texts: Sequence[str]
    labels: Sequence[Sequence[int]]
    categories: Sequence[str]
    graphs: Sequence[PreferenceGraph] | None = None

    def lessons(
        self, ranker: LinearRanker, which: Iterable[int] | None = None
    ) -> list[Sequence[int]] | list[PreferenceGraph]:
        """What the ranker learns from: graphs if there are any and it takes them."""
        chosen = range(len(self.texts)) if which is None else which
        if self.graphs is not None and ranker.takes_graphs:
            return [self.graphs[i] for i in chosen]
        return [self.labels[i] for i in chosen]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means over the documents tested; ``precision`` is normalised, by rank.

    measures : with enough documents also the ``calibration_error`` (ECE), of
    calibrators fitted on four fifths of the tested documents and asked about the rest.
    """

    measures: dict[str, float]
    precision: NDArray[np.float64]
    trained: int
    tested: int
    seconds: float


def evaluate(
    collection: LabelledTexts,
    splits: Iterable[Split],
    vectorizer: Callable[[], Vectorizer],
    ranker: Callable[[], LinearRanker],
) -> Evaluation:
    """Train on the first half of each split, rank the second, measure all together."""
    scores, labels, trained, seconds = [], [], 0, 0.0
    for train, test in track(list(splits), "evaluating"):
        _require_both(train, test)
        started = time.perf_counter()
        untaught = ranker()
        model = TextRanker.fit(
            vectorizer(),
            untaught,
            [collection.texts[i] for i in train],
            collection.lessons(untaught, train),
            collection.categories,
        )
        seconds += time.perf_counter() - started
        scores.append(model.scores([collection.texts[i] for i in test]))
        labels += [collection.labels[i] for i in test]
        trained += len(train)
    ranked = np.concatenate(scores)
    wanted = labels_from(labels, len(ranked), ranked.shape[1])
    measured = category_ranking(ranked, wanted)
    if len(ranked) >= ENOUGH:
        measured["calibration_error"] = crossed_calibration_error(ranked, wanted)
    return Evaluation(
        measured,
        precision_at_rank(ranked, wanted),
        trained,
        len(ranked),
        seconds,
    )


def _require_both(
    train: Sequence[int] | NDArray[np.int64], test: NDArray[np.int64]
) -> None:
    if not len(train) or not len(test):
        raise Mistake(
            f"{len(train)} documents to train on and {len(test)} to test: label more "
            "documents, or use fewer folds"
        )
