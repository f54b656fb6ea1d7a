"""Which learner is how good on documents it has not seen?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.arrays import Floats, Ints
from classmark.experiments.answers import Answered, Answers, ask, counted, sampling
from classmark.problems import Mistake
from classmark.rankers.text_ranker import TextRanker
from classmark.spreading import spread

if TYPE_CHECKING:
    from classmark.preferences.graph import PreferenceGraph
    from classmark.rankers.linear import LinearRanker
    from classmark.weighting.vectorizer import Vectorizer

Split = tuple[Ints, Ints]
Learn = Callable[[Ints], TextRanker]


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
    what share of the labels trained on each category has;  seconds : what learning and
    scoring took.
    """

    measures: dict[str, float]
    precision: Floats
    trained: int
    tested: int
    seconds: float
    wanted: list[Sequence[int]]
    assigned: list[list[int]]
    priors: Floats


def evaluate(
    collection: LabelledTexts,
    splits: Iterable[Split],
    vectorizer: Callable[[], Vectorizer],
    ranker: Callable[[], LinearRanker],
) -> Evaluation:
    """Train on the first half of each split, rank the second, measure all together."""

    def learn(train: Ints) -> TextRanker:
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
    collection: LabelledTexts, splits: Iterable[Split], learn: Learn
) -> Evaluation:
    """As ``evaluate``, with whatever learns from the texts of these numbers."""
    return evaluate_each(collection, splits, {"": learn})[""]


def evaluate_each(
    collection: LabelledTexts, splits: Iterable[Split], learners: Mapping[str, Learn]
) -> dict[str, Evaluation]:
    """Evaluate several by the same splits; each learner's fold is a task (``spread``).

    On other machines learners are to be such as can be sent there.
    """
    parts = list(splits)
    for train, test in parts:
        _require_both(train, test)
    tasks = [(name, fold) for name in learners for fold in range(len(parts))]
    given = (collection, parts, dict(learners))
    done = dict(
        zip(tasks, spread(_fold_asked, tasks, [given], "evaluating"), strict=True)
    )
    return {
        name: _evaluation(
            collection, parts, [done[name, at] for at in range(len(parts))]
        )
        for name in learners
    }


def _fold_asked(
    task: tuple[str, int],
    given: tuple[LabelledTexts, list[Split], dict[str, Learn]],
) -> tuple[float, Answered]:
    """Learn from one fold and score the rest; how long that took, and the answers."""
    (name, at), (collection, parts, learners) = task, given
    train, test = parts[at]
    started = time.perf_counter()
    model = learners[name](train)
    labels = collection.labels
    categories = len(collection.categories)
    sizes = [len(part) for _, part in parts]
    answered = ask(
        model,
        [collection.texts[i] for i in test],
        [labels[i] for i in test],
        counted([labels[i] for i in train], categories),
        slice(sum(sizes[:at]), None, sampling(categories, sum(sizes))),
    )
    return time.perf_counter() - started, answered


def _evaluation(
    collection: LabelledTexts,
    parts: list[Split],
    folds: list[tuple[float, Answered]],
) -> Evaluation:
    tested = sum(len(test) for _, test in parts)
    answers = Answers(len(collection.categories), tested)
    for (_, test), (_, said) in zip(parts, folds, strict=True):
        answers.add(said, [collection.labels[i] for i in test])
    return Evaluation(
        answers.measures(),
        answers.tally.precision_at_rank(),
        sum(len(train) for train, _ in parts),
        tested,
        sum(seconds for seconds, _ in folds),
        answers.wanted,
        answers.assigned,
        answers.taught / max(1, int(answers.taught.sum())),
    )


def _require_both(train: Sequence[int] | Ints, test: Ints) -> None:
    if not len(train) or not len(test):
        raise Mistake(
            f"{len(train)} documents to train on and {len(test)} to test: label more "
            "documents, or use fewer folds"
        )
