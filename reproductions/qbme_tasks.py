"""Topics as queries by examples: P, relevant training documents; U, test documents.

The protocol of [ZhangLee09]. Words are weighed by their frequency in both parts, texts
without labels being at hand: (1 + ln tf) · idf, rows of unit length; sets that come as
vectors of counts are weighed in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints, Rows, rows_from, stack, take
from classmark.corpus.counting import statistics
from classmark.measures.retrieval import JudgedRun, average_precision, break_even
from classmark.problems import Mistake
from classmark.ranking import rank
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer, weigh

if TYPE_CHECKING:
    from classmark.datasets.dataset import Dataset, DatasetPart


WEIGHTING = "log-tfidf"


class Topic(NamedTuple):
    """One query: rows of the training part that are its examples, and what is right.

    examples : P, rows of ``Task.train``;  relevant : rows of ``Task.collection``.
    """

    name: str
    examples: Ints
    relevant: Ints


class Found(NamedTuple):
    """How well one topic's documents were ranked."""

    prbep: float
    ap: float


@dataclass(frozen=True, eq=False)
class Task:
    """A collection with its topics; ``collection`` is U."""

    name: str
    train: Rows
    collection: Rows
    topics: Sequence[Topic]

    def measure(self, topic: Topic, scores: Floats) -> Found:
        """PRBEP and average precision of the collection in the order of its scores."""
        relevant = np.zeros(len(self.collection))
        relevant[topic.relevant] = 1.0
        return measure(scores, relevant)

    def examples(self, topic: Topic, size: int | None = None, draw: int = 0) -> Rows:
        """P: all examples, or so many of them, the same for a draw whoever asks."""
        if size is None:
            return take(self.train, topic.examples)
        if size > len(topic.examples):
            raise Mistake(
                f"{topic.name} has {len(topic.examples)} examples: draw no more"
            )
        number = next(at for at, own in enumerate(self.topics) if own is topic)
        chance = np.random.default_rng([draw, size, number])
        chosen = chance.choice(topic.examples, size, replace=False)
        return take(self.train, np.sort(chosen))

    def with_at_least(self, examples: int, relevant: int = 1) -> Task:
        """Keep the topics that are large enough in both parts."""
        kept = [
            topic
            for topic in self.topics
            if len(topic.examples) >= examples and len(topic.relevant) >= relevant
        ]
        return replace(self, topics=kept)

    def some(self, topics: int, seed: int = 0) -> Task:
        """Keep so many topics, drawn by chance, where there are more."""
        if topics >= len(self.topics):
            return self
        chosen = generator(seed).choice(len(self.topics), topics, replace=False)
        return replace(self, topics=[self.topics[at] for at in np.sort(chosen)])


def measure(scores: Floats, relevant: Floats) -> Found:
    """PRBEP and average precision of one ranking, ties by number.

    scores, relevant : of shape (u,), relevant being 0 or 1.

    >>> measure(np.array([0.9, 0.1, 0.5]), np.array([1.0, 0.0, 1.0]))
    Found(prbep=1.0, ap=1.0)
    """
    one = np.zeros(len(scores), np.int64)
    found = rank(one, np.arange(len(scores)), scores)
    ideal = rank(one, np.arange(len(scores)), relevant)
    grades = relevant[found.items], relevant[ideal.items]
    judged = JudgedRun(("topic",), found, grades[0], ideal, grades[1])
    return Found(float(break_even(judged)[0]), float(average_precision(judged)[0]))


def news20(data: Path | None = None) -> Task:
    """20 Newsgroups by date, messages as they are; 20 topics."""
    return load_task("20newsgroups-bydate", data)


def reuters(data: Path | None = None) -> Task:
    """Reuters-21578, ModApté: the 90 topics of both parts, and documents with one."""
    return load_task("reuters-21578", data, "modapte")


def siam(data: Path | None = None) -> Task:
    """Aviation safety reports of the SIAM competition 2007: 500 words, 22 topics."""
    return load_task("mulan-tmc2007", data)


def load_task(name: str, data: Path | None = None, split: str | None = None) -> Task:
    """Make a task of a labelled data set."""
    from classmark.datasets import load

    return task_of(load(name, data, split=split))


def task_of(dataset: Dataset) -> Task:
    """Topics are the labels both parts have; documents without one are left out."""
    parts = (dataset.train, dataset.test)
    seen = [{name for names in part.labels for name in names} for part in parts]
    names = [name for name in dataset.label_names if name in seen[0] & seen[1]]
    if not names:
        raise Mistake(f"{dataset.name}: no label is in both parts: choose another set")
    kept = [_labelled(part, set(names)) for part in parts]
    train, collection = _rows(dataset, *kept)
    examples, relevant = (
        _by_label(part, which, names) for part, which in zip(parts, kept, strict=True)
    )
    topics = [Topic(name, examples[name], relevant[name]) for name in names]
    return Task(dataset.name, train, collection, topics)


def _labelled(part: DatasetPart, names: set[str]) -> Ints:
    return np.flatnonzero([not names.isdisjoint(own) for own in part.labels])


def _by_label(part: DatasetPart, which: Ints, names: Sequence[str]) -> dict[str, Ints]:
    found: dict[str, list[int]] = {name: [] for name in names}
    for row, at in enumerate(which.tolist()):
        for name in dict.fromkeys(part.labels[at]):
            if name in found:
                found[name].append(row)
    return {name: np.array(rows, np.int64) for name, rows in found.items()}


def _rows(dataset: Dataset, train: Ints, test: Ints) -> tuple[Rows, Rows]:
    if not dataset.train.texts:
        counts = [
            take(rows_from(part.X), which)
            for part, which in ((dataset.train, train), (dataset.test, test))
            if part.X is not None
        ]
        known = statistics(stack(counts))
        own, others = (weigh(rows, known, WEIGHTING, norm="l2") for rows in counts)
        return own, others
    texts = [
        [part.texts[at] for at in which]
        for part, which in ((dataset.train, train), (dataset.test, test))
    ]
    rows = rows_from(Vectorizer(weighting=WEIGHTING).fit_transform(texts[0] + texts[1]))
    cut = len(train)
    return take(rows, np.arange(cut)), take(rows, np.arange(cut, len(rows)))
