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
from classmark.ranking import top

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
    wanted : the labels of the documents tested, in the order they were;  assigned : the
    best categories of each, as many as it has labels;  priors : shape (categories,),
    what share of the labels trained on each category has.
    """

    measures: dict[str, float]
    precision: NDArray[np.float64]
    trained: int
    tested: int
    seconds: float
    wanted: list[Sequence[int]]
    assigned: list[list[int]]
    priors: NDArray[np.float64]


def evaluate(
    collection: LabelledTexts,
    splits: Iterable[Split],
    vectorizer: Callable[[], Vectorizer],
    ranker: Callable[[], LinearRanker],
) -> Evaluation:
    """Train on the first half of each split, rank the second, measure all together."""

    def learn(train: NDArray[np.int64]) -> TextRanker:
        untaught = ranker()
        return TextRanker.fit(
            vectorizer(),
            untaught,
            [collection.texts[i] for i in train],
            collection.lessons(untaught, train),
            collection.categories,
        )

    return evaluate_by(collection, splits, learn)


def evaluate_by(
    collection: LabelledTexts,
    splits: Iterable[Split],
    learn: Callable[[NDArray[np.int64]], TextRanker],
) -> Evaluation:
    """As ``evaluate``, with whatever learns from the texts of these numbers."""
    scores: list[NDArray[np.float64]] = []
    labels: list[Sequence[int]] = []
    taught: list[int] = []
    trained, seconds = 0, 0.0
    for train, test in track(list(splits), "evaluating"):
        _require_both(train, test)
        started = time.perf_counter()
        model = learn(train)
        seconds += time.perf_counter() - started
        scores.append(model.scores([collection.texts[i] for i in test]))
        labels += [collection.labels[i] for i in test]
        taught += [label for i in train for label in collection.labels[i]]
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
        labels,
        _assigned(ranked, labels),
        np.bincount(taught, minlength=ranked.shape[1]) / max(1, len(taught)),
    )


def _assigned(
    scores: NDArray[np.float64], labels: Sequence[Sequence[int]]
) -> list[list[int]]:
    """The best categories of each document, as many as it has labels."""
    most = max(1, *map(len, labels))
    best = top(scores, min(most, scores.shape[1]))
    return [line[: len(own)].tolist() for line, own in zip(best, labels, strict=True)]


def _require_both(
    train: Sequence[int] | NDArray[np.int64], test: NDArray[np.int64]
) -> None:
    if not len(train) or not len(test):
        raise Mistake(
            f"{len(train)} documents to train on and {len(test)} to test: label more "
            "documents, or use fewer folds"
        )
