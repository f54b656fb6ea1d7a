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
from classmark.rankers.text import TextRanker

if TYPE_CHECKING:
    from classmark.rankers.linear import LinearRanker
    from classmark.weighting.vectorizer import Vectorizer

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """Texts, their label numbers, and the names the numbers stand for."""

    texts: Sequence[str]
    labels: Sequence[Sequence[int]]
    categories: Sequence[str]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means over the documents tested; ``precision`` is normalised, by rank."""

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
        model = TextRanker.fit(
            vectorizer(),
            ranker(),
            [collection.texts[i] for i in train],
            [collection.labels[i] for i in train],
            collection.categories,
        )
        seconds += time.perf_counter() - started
        scores.append(model.scores([collection.texts[i] for i in test]))
        labels += [collection.labels[i] for i in test]
        trained += len(train)
    ranked = np.concatenate(scores)
    wanted = labels_from(labels, len(ranked), ranked.shape[1])
    return Evaluation(
        category_ranking(ranked, wanted),
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
