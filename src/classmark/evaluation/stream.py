"""How good is a ranker that starts from nothing and learns from every decision?

Test-then-learn: every document is first ranked by what was learned from those before
it, the ranking is measured, and only then is the document learned.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints, Rows, keep_values, rows_from, take
from classmark.estimator import Estimator, parameters
from classmark.measures.categories import per_document, rank_relevant
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.progress import track


@parameters()
class RunningRocchio(Estimator):
    """Rocchio's prototypes from running sums [Rocchio71].

    w_r = max(0, β · mean of x with r − γ · mean of x without r), divided by its length.
    Only the weights of a document's own terms are computed when it is scored. A
    label's length is that of the last document learned with it; means of the others,
    which every document moves a little, change it slowly.

    >>> ranker = RunningRocchio().partial_fit([[1.0, 0.0], [0.0, 1.0]], [[0], [1]])
    >>> ranker.decision_function([[0.0, 1.0]]).tolist()
    [[0.0, 1.0]]
    """

    beta: float = 16.0
    gamma: float = 4.0

    def partial_fit(self, X: Any, Y: Any, n_labels: int | None = None) -> Self:
        """Add documents to the sums; features and labels may become more."""
        rows = rows_from(X)
        labels = labels_from(Y, len(rows), n_labels)
        self._grow(rows.width, labels.width)
        for at in range(len(rows)):
            columns, values = rows.row(at)
            relevant = labels.row(at)[0].astype(np.int64)
            self.total_[columns] += values
            self.sums_[np.ix_(columns, relevant)] += values[:, np.newaxis]
            self.sizes_[relevant] += 1
            self.documents_ += 1
        touched = np.unique(labels.columns).astype(np.int64)
        width = self.width_
        sums, total = self.sums_[:width, touched], self.total_[:width]
        weights = self._weights(sums, total, self.sizes_[touched])
        self.lengths_[touched] = np.sqrt((weights**2).sum(axis=0))
        return self

    def decision_function(self, X: Any) -> Floats:
        """Scores of all labels, shape (documents, labels)."""
        self._require_fitted()
        rows = rows_from(X)
        if rows.width > self.width_:
            raise Mistake(
                f"X has {rows.width} features, {self.width_} were learned: leave out "
                "the new ones"
            )
        scores = np.empty((len(rows), len(self.sizes_)))
        scale = np.where(self.lengths_ > 0, self.lengths_, 1.0)
        for at in range(len(rows)):
            columns, values = rows.row(at)
            sums, total = self.sums_[columns], self.total_[columns]
            weights = self._weights(sums, total, self.sizes_)
            scores[at] = values.astype(np.float64) @ weights / scale
        return scores

    def _weights(self, sums: Floats, total: Floats, size: Ints) -> Floats:
        """Weights from sums of shape (features, labels)."""
        inside = self.beta / np.maximum(size, 1)
        outside = self.gamma / np.maximum(self.documents_ - size, 1)
        return np.maximum(
            0.0, sums * (inside + outside) - total[:, np.newaxis] * outside
        )

    def _grow(self, features: int, labels: int) -> None:
        """Make room: twice as many features as are needed, the labels there are."""
        if not hasattr(self, "sums_"):
            self.width_, self.documents_ = 0, 0
            self.sums_ = np.zeros((0, 0))
            self.total_, self.lengths_ = np.zeros(0), np.zeros(0)
            self.sizes_ = np.zeros(0, np.int64)
        room, n_labels = self.sums_.shape
        if features > room or labels > n_labels:
            wide = 2 * features if room and features > room else max(features, room)
            more, new = wide - room, max(labels - n_labels, 0)
            self.sums_ = np.pad(self.sums_, ((0, more), (0, new)))
            self.total_ = np.pad(self.total_, (0, more))
            self.lengths_ = np.pad(self.lengths_, (0, new))
            self.sizes_ = np.pad(self.sizes_, (0, new))
        self.width_ = max(self.width_, features)


MEASURES = {
    "loss1": "Loss1",
    "loss2": "Loss2",
    "loss3": "Loss3",
    "one_error": "OneError",
    "average_precision": "AP",
    "coverage": "Coverage",
}
INSPECTED = "inspected"


class StreamedRanker(Protocol):
    """A ranker that learns one document at a time and scores all labels it knows."""

    def partial_fit(self, X: Any, Y: Any, n_labels: int | None = None) -> Any:
        """Learn from these documents, going on from what is known."""

    def decision_function(self, X: Any) -> Floats:
        """Scores of the labels known, shape (documents, labels)."""


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """The measures along a stream: one value a document, in the order they came.

    measures : losses 1 to 3, one_error, average_precision, coverage and ``inspected``,
    the rank of the last right label: how many categories an expert looks at until the
    document is done. Each (n,); NaN where a document without labels has none.
    seconds : of each update, (n,), the ranking not counted.
    """

    measures: dict[str, Floats]
    seconds: Floats
    n_labels: int

    def __len__(self) -> int:
        return len(self.seconds)

    def mean(self, name: str, first: int = 0, last: int | None = None) -> float:
        """The mean of a measure over documents first … last − 1; NaN over none."""
        values = self.measures[name][first:last]
        values = values[~np.isnan(values)]
        return float(values.mean()) if len(values) else float("nan")

    def summary(self, first: int = 1500) -> dict[str, dict[str, float]]:
        """Means over the first documents, the second half and all; update times."""
        spans = {"first": (0, first), "second half": (len(self) // 2, None)}
        spans["all"] = (0, None)
        means = {
            span: {name: self.mean(name, *ends) for name in self.measures}
            for span, ends in spans.items()
        }
        return means | {"update": self.update_times()}

    def update_times(self, first: int = 0, last: int | None = None) -> dict[str, float]:
        """Milliseconds of an update: median, p99, worst and mean."""
        spent = 1000 * self.seconds[first:last]
        median, p99 = np.quantile(spent, [0.5, 0.99])
        worst, mean = spent.max(), spent.mean()
        times = {"median": median, "p99": p99, "worst": worst, "mean": mean}
        return {name: float(value) for name, value in times.items()}

    def curve(self, name: str, points: int = 100) -> tuple[Ints, Floats]:
        """Round-averaged cumulative values at log-spaced rounds [CrammerSinger03].

        Returns rounds t and (1/t) Σ_{i ≤ t} value_i, both of shape (about points,).
        """
        values = self.measures[name]
        mask = ~np.isnan(values)
        sums, counts = np.cumsum(np.where(mask, values, 0.0)), np.cumsum(mask)
        rounds = np.unique(np.geomspace(1, len(self), points).round().astype(np.int64))
        rounds = rounds[counts[rounds - 1] > 0]
        return rounds, sums[rounds - 1] / counts[rounds - 1]


@dataclass(eq=False)
class Follower:
    """One ranker on its way through a stream, and its measures so far."""

    ranker: StreamedRanker
    width: int = 0
    n_labels: int = 0
    _measures: list[dict[str, Floats]] = field(default_factory=list)
    _seconds: list[float] = field(default_factory=list)

    def see(self, rows: Rows, labels: Rows) -> None:
        """Rank these documents, all of them before any is learned; then learn each.

        rows : may be wider, labels : may be more than before.
        """
        values = per_document(rank_relevant(self.scores(rows, labels.width), labels))
        measures = {name: values[key] for name, key in MEASURES.items()}
        self._measures.append(measures | {INSPECTED: measures["coverage"] + 1.0})
        for at in range(len(rows)):
            document, relevant = rows, labels
            if len(rows) > 1:
                document, relevant = take(rows, [at]), take(labels, [at])
            started = time.perf_counter()
            self.ranker.partial_fit(document, relevant, labels.width)
            self._seconds.append(time.perf_counter() - started)
        self.width, self.n_labels = rows.width, labels.width

    def go_on_with(self, ranker: StreamedRanker, rows: Rows, labels: Rows) -> None:
        """Put another ranker in the place, which has learned these documents."""
        self.ranker, self.width, self.n_labels = ranker, rows.width, labels.width

    def scores(self, rows: Rows, n_labels: int) -> Floats:
        """Scores of all labels; those never seen, and unknown words, count 0."""
        scores = np.zeros((len(rows), n_labels))
        if self.n_labels:
            documents = narrowed(rows, self.width)
            scores[:, : self.n_labels] = self.ranker.decision_function(documents)
        return scores

    def result(self) -> Replay:
        """All that was measured."""
        if not self._seconds:
            raise Mistake("the stream is empty: give at least one document")
        together = {
            name: np.concatenate([block[name] for block in self._measures])
            for name in self._measures[0]
        }
        return Replay(together, np.array(self._seconds), self.n_labels)


def replay(
    ranker: StreamedRanker,
    X: Any,
    Y: Any,
    n_labels: int | None = None,
    groups: ArrayLike | None = None,
) -> Replay:
    """Rank, measure and learn the documents in their order.

    X : shape (n, features);  Y : labels in any shape;  n_labels : how many labels are
    ranked from the start; without it, those seen so far and the document's own.
    groups : shape (n,); neighbours of one group (near copies) are all ranked before
    any of them is learned.

    >>> from classmark.rankers.online import CategoryPerceptron
    >>> result = replay(CategoryPerceptron(), [[1.0, 0.0]] * 3, [[1]] * 3, 2)
    >>> result.measures["inspected"].tolist()
    [2.0, 1.0, 1.0]
    """
    rows = rows_from(X)
    labels = labels_from(Y, len(rows), n_labels)
    follower = Follower(ranker)
    width = n_labels or 1
    names = np.arange(len(rows)) if groups is None else np.asarray(groups)
    if names.shape != (len(rows),):
        raise Mistake(
            f"groups has shape {names.shape}: give one name for each document"
        )
    ends = np.flatnonzero(names[1:] != names[:-1]) + 1
    blocks = np.split(np.arange(len(rows)), ends) if len(rows) else []
    for which in track(blocks, "replaying the stream"):
        block = take(labels, which)
        if n_labels is None:
            width = max(width, int(block.columns.max(initial=0)) + 1)
        block = Rows(block.starts, block.columns, block.values, width)
        follower.see(take(rows, which), block)
    return follower.result()


def narrowed(rows: Rows, width: int) -> Rows:
    """Only the first ``width`` columns.

    >>> narrowed(rows_from([[1.0, 2.0], [0.0, 3.0]]), 1).values.tolist()
    [1.0]
    """
    first = keep_values(rows, rows.columns < width)
    return Rows(first.starts, first.columns, first.values, width)
