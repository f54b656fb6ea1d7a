"""Few examples, words and meaning: cut sets as tasks, and what people do with vectors.

A set is cut to what a sentence model can encode in minutes: topics with 20 training and
5 test documents at least, 30 of them, drawn by chance; 40 training documents of each;
of the Debian packages 8,000, drawn first.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

import classmark as cm
from classmark.arrays import Rows, rows_from
from classmark.datasets.dataset import Dataset, DatasetPart
from reproductions.qbme_few import Cell, cell_of, few
from reproductions.qbme_tasks import Task, task_of

SIZES = (1, 3, 5, 10, 20)
PER_TOPIC, TOPICS = 40, 30
LEAST = (20, 5)  # training and test documents of a topic
PACKAGES = 8000
SPLITS = {"reuters-21578": "modapte"}
SETS = (
    "20newsgroups-bydate", "reuters-21578", "debian-debtags", "pypi-topics", "library",
)  # fmt: skip
CENTROID, AGAINST_U = "nearest centroid", "logistic, against the collection"
AGAINST_TOPICS = "logistic, all topics' examples"


class FewTask(NamedTuple):
    """A task, the texts of its training part and collection, how many the first has."""

    task: Task
    texts: list[str]
    cut: int


def loaded(name: str) -> Dataset:
    """A set with its split; of the Debian packages 8,000."""
    dataset = cm.datasets.load(name, split=SPLITS.get(name))
    return some_packages(dataset) if name == "debian-debtags" else dataset


def cut_set(name: str) -> Dataset:
    """A set with some training documents of each topic, drawn once."""
    dataset = loaded(name)
    parts = (dataset.train, dataset.test)
    counts = [Counter(label for own in p.labels for label in own) for p in parts]
    chance, chosen = np.random.default_rng(0), set()
    for label in dataset.label_names:
        if all(count[label] >= n for count, n in zip(counts, LEAST, strict=True)):
            mine = np.flatnonzero([label in own for own in dataset.train.labels])
            drawn = chance.choice(mine, min(PER_TOPIC, len(mine)), replace=False)
            chosen.update(drawn.tolist())
    return replace(dataset, train=picked(dataset.train, sorted(chosen)))


def set_named(name: str) -> Dataset:
    """A set to learn all categories of: 20 Newsgroups cut, the others as they are."""
    return cut_set(name) if name == "20newsgroups-bydate" else loaded(name)


def some_packages(dataset: Dataset) -> Dataset:
    """Debian packages with tags, so many of both parts together."""
    parts = (dataset.train, dataset.test)
    tagged = [(p, at) for p in parts for at in range(len(p)) if p.labels[at]]
    drawn = np.random.default_rng(0).choice(len(tagged), PACKAGES, replace=False)
    mine = [tagged[number] for number in np.sort(drawn)]
    train, test = (picked(p, [at for own, at in mine if own is p]) for p in parts)
    return replace(dataset, train=train, test=test)


def picked(part: DatasetPart, which: Iterable[int]) -> DatasetPart:
    """Some examples of a part."""
    some = DatasetPart()
    for at in which:
        some.add(part.ids[at], part.texts[at], part.labels[at])
    return some


def few_task(name: str) -> FewTask:
    """The task of a cut set, by words; documents without a topic of both are out."""
    dataset = cut_set(name)
    task = task_of(dataset).with_at_least(*LEAST).some(TOPICS)
    parts = (dataset.train, dataset.test)
    seen = [{label for own in part.labels for label in own} for part in parts]
    texts = [
        [
            text
            for text, own in both
            if not seen[0].isdisjoint(seen[1].intersection(own))
        ]
        for both in (zip(part.texts, part.labels, strict=True) for part in parts)
    ]
    return FewTask(task, texts[0] + texts[1], len(texts[0]))


class NearestCentroid:
    """The cosine with the mean of the examples' unit vectors."""

    def fit(self, P: Rows, U: Rows) -> Self:  # noqa: ARG002 - as every query is asked
        """Learn from the examples alone."""
        self.centroid = np.asarray(P.to_scipy().mean(axis=0)).ravel()
        return self

    def decision_function(self, X: Rows) -> Any:
        """Score unit vectors; the centroid's length changes no order."""
        return X.to_scipy() @ self.centroid


class Logistic:
    """scikit-learn's LogisticRegression, the collection being the negatives."""

    def fit(self, P: Rows, U: Rows) -> Self:
        """Learn the examples against all others, both sides counting the same."""
        from sklearn.linear_model import LogisticRegression

        X = np.vstack([P.to_scipy().toarray(), U.to_scipy().toarray()])
        y = np.repeat([1, 0], [len(P), len(U)])
        model = LogisticRegression(class_weight="balanced", max_iter=1000)
        self.weights = model.fit(X, y).coef_.ravel()
        return self

    def decision_function(self, X: Rows) -> Any:
        """Score unit vectors; the intercept changes no order."""
        return X.to_scipy() @ self.weights


PEERS: dict[str, Callable[[], Any]] = {CENTROID: NearestCentroid, AGAINST_U: Logistic}


def peers(task: Task, units: Any, sizes: Sequence[int], draws: int) -> list[Cell]:
    """Measure what people do with vectors, on the draws that ``few`` makes.

    units : vectors of unit length, the training part's before the collection's.
    """
    cut = len(task.train)
    own = replace(task, train=rows_from(units[:cut]), collection=rows_from(units[cut:]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes: the settings are the peer's own
        cells = few(own, PEERS, sizes, draws)
        return cells + [against_topics(task, units, size, draws) for size in sizes]


def against_topics(task: Task, units: Any, size: int, draws: int) -> Cell:
    """LogisticRegression that knows the examples of all topics: log P(topic | x)."""
    from sklearn.linear_model import LogisticRegression

    cut = len(task.train)
    numbers = replace(task, train=rows_from(np.eye(cut, dtype=np.float32)))
    topics, found = task.topics, np.empty((len(task.topics), draws))
    for draw in range(draws):
        drawn = [numbers.examples(topic, size, draw).columns for topic in topics]
        model = LogisticRegression(max_iter=1000)
        model.fit(units[np.concatenate(drawn)], np.repeat(np.arange(len(topics)), size))
        likely = model.predict_log_proba(units[cut:])
        for at, topic in enumerate(topics):
            found[at, draw] = task.measure(topic, likely[:, at]).ap
    return cell_of(size, AGAINST_TOPICS, found)
