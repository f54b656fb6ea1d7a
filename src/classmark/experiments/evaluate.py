"""Which learner is how good on documents it has not seen?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classmark.experiments.answers import Answers
from classmark.problems import Mistake
from classmark.progress import track
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
    calibrators fitted on four fifths of the tested documents and asked about the rest;
    with rare categories among the labels ``rare_recall@5``: recall of the five best,
    mean over the categories with 10 documents to learn from, or fewer.
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
    parts = list(splits)
    tested = sum(len(test) for _, test in parts)
    answers = Answers(len(collection.categories), tested)
    trained, seconds = 0, 0.0
    for train, test in track(parts, "evaluating"):
        _require_both(train, test)
        started = time.perf_counter()
        model = learn(train)
        seconds += time.perf_counter() - started
        rare = answers.learned_from([collection.labels[i] for i in train])
        texts = [collection.texts[i] for i in test]
        answers.ask(model, texts, [collection.labels[i] for i in test], rare)
        trained += len(train)
        del model  # not to be there beside the next
    return Evaluation(
        answers.measures(),
        answers.tally.precision_at_rank(),
        trained,
        tested,
        seconds,
        answers.wanted,
        answers.assigned,
        answers.taught / max(1, int(answers.taught.sum())),
    )


def _require_both(
    train: Sequence[int] | NDArray[np.int64], test: NDArray[np.int64]
) -> None:
    if not len(train) or not len(test):
        raise Mistake(
            f"{len(train)} documents to train on and {len(test)} to test: label more "
            "documents, or use fewer folds"
        )
