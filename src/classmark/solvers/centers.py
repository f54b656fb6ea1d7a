"""What was learned before and is never written to: scores that documents add to.

Weights of very many labels (``SparseCenter``), or classifiers at the nodes of a tree
(``hierarchies``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from classmark.arrays import Array, Bools, Csr, Floats, Ints, ranges

T = TypeVar("T")
Merges = Sequence[tuple[int, int]]  # the first label is read as the second


class FixedScores(Protocol):
    """Scores of one document by what was learned before, computed as they are asked."""

    def every(self) -> Floats:
        """Of all labels, (labels,); −inf: nothing was learned of the label."""

    def best(self, k: int) -> tuple[Ints, float]:
        """The labels of the k highest scores, and what no other label's is above."""

    def of(self, labels: Ints) -> Floats:
        """Of some labels, as ``every`` has them."""


class Center(Protocol):
    """What was learned before, and is never written to."""

    @property
    def shape(self) -> tuple[int, int]:
        """Features and labels."""

    @property
    def start(self) -> float:
        """The score of a label that nothing was learned of, once documents teach it."""

    def scores(
        self, columns: Array, values: Array, n_labels: int, joined: Merges
    ) -> FixedScores:
        """Of a document, by these words."""

    def knows(self, labels: Ints) -> Bools:
        """Of which labels anything was learned."""


class EveryScore(NamedTuple):
    """All scores of a document, computed at once; shape (labels,)."""

    scores: Floats

    def every(self) -> Floats:
        """All of them."""
        return self.scores

    def best(self, k: int) -> tuple[Ints, float]:
        """The labels of the k highest, and the lowest of these scores."""
        if k >= len(self.scores):
            return np.arange(len(self.scores)), -np.inf
        labels = np.argpartition(-self.scores, k - 1)[:k]
        return labels, float(self.scores[labels].min())

    def of(self, labels: Ints) -> Floats:
        """Those of some labels."""
        return self.scores[labels]


class RememberedScores:
    """Scores of one document, each computed once: the center never changes.

    compute : makes them.
    """

    def __init__(self, compute: Callable[[], FixedScores]) -> None:
        self._compute = compute
        self._source: FixedScores | None = None
        self._once: dict[Any, Any] = {}
        self._labels, self._scores = np.empty(0, np.int64), np.empty(0)

    def once(self, of: Hashable, compute: Callable[[], T]) -> T:
        """What follows from the center and the document alone, by its name."""
        if of not in self._once:
            self._once[of] = compute()
        result: T = self._once[of]
        return result

    @property
    def source(self) -> FixedScores:
        """What computes them."""
        if self._source is None:
            self._source = self._compute()
        return self._source

    def release(self) -> None:
        """Give up what computes them: it may have computed those of all labels."""
        self._source = None

    def every(self) -> Floats:
        """Of all labels; these are not remembered, because they are many."""
        return self.source.every()

    def best(self, k: int) -> tuple[Ints, float]:
        """The labels of the k highest scores, and what no other label's is above."""
        return self.once(k, lambda: self.source.best(k))

    def of(self, labels: Ints) -> Floats:
        """Of some labels."""
        new = np.setdiff1d(labels, self._labels)
        if len(new):
            every = np.append(self._labels, new)
            scores = np.append(self._scores, self.source.of(new))
            order = np.argsort(every)
            self._labels, self._scores = every[order], scores[order]
        return self._scores[np.searchsorted(self._labels, labels)]


class SparseCenter(NamedTuple):
    """Sparse weights, (features, labels), and what is taken off the scores, or None."""

    weights: Csr
    offset: Floats | None = None

    @property
    def start(self) -> float:
        """None begins: all are known."""
        return 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """Features and labels."""
        features, labels = self.weights.shape
        return features, labels

    def knows(self, labels: Ints) -> Bools:
        """All: a label without weights has the score 0."""
        return np.ones(len(labels), bool)

    def scores(
        self, columns: Array, values: Array, n_labels: int, joined: Merges
    ) -> EveryScore:
        """Of a document, by these words; those never seen add nothing."""
        weights, known = self.weights, columns < self.weights.shape[0]
        columns, values = columns[known].astype(np.int64), values[known]
        starts = weights.indptr[columns].astype(np.int64)
        counts = weights.indptr[columns + 1] - starts
        entries = ranges(starts, counts)
        parts = weights.data[entries] * np.repeat(values.astype(np.float64), counts)
        scores: Floats = np.zeros(n_labels)
        if len(entries):
            scores += np.bincount(weights.indices[entries], parts, n_labels)
        if self.offset is not None:
            scores[: len(self.offset)] -= self.offset
        for label, into in joined:
            scores[into] += scores[label]
            scores[label] = 0.0
        return EveryScore(scores)

    def weights_of(self, columns: Ints, n_labels: int, joined: Merges) -> Csr:
        """The weights of some features, csr (columns, labels), read as joined."""
        from scipy.sparse import csr_matrix, vstack

        known = columns < self.weights.shape[0]
        own: Any = csr_matrix(self.weights[columns[known]])
        own.resize(len(own.indptr) - 1, n_labels)
        place = np.full(len(columns), own.shape[0])
        place[known] = np.arange(own.shape[0])
        none: Any = csr_matrix((1, n_labels))
        weights: Any = vstack([own, none], format="csr")[place]
        for label, into in joined:
            weights.indices[weights.indices == label] = into
        weights.sum_duplicates()
        read: Csr = weights
        return read
