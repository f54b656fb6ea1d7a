"""Prototypes and support documents of the on-line algorithms.

They are relatives of the exact step without memory: docs/mathematics.md, section 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from classmark.arrays import (
    LINE,
    Array,
    Floats,
    Growing,
    Ints,
    Rows,
    stack,
    take,
    with_room,
)
from classmark.solvers.hinge import KernelFunction
from classmark.solvers.kernels_online import online_pass, support_pass, vote_pass


class Prototypes:
    """Weights of shape (features, labels) that a stream of documents moves.

    New features and labels begin with zeros; the room for features doubles, so that a
    vocabulary growing word by word copies each weight O(1) times. The weights are
    float32 where the first documents are.

    average : score with the mean of the prototypes after each round, kept lazily.
    rounds : losses 1 to 3 of each round so far, shape (rounds, 3).
    """

    def __init__(self, *, average: bool = False) -> None:
        self.average = average
        self.features = self.labels = 0
        self.rounds = Growing(np.empty((0, 3)))
        self._last: Array = np.empty((0, 0))
        self._timed: Floats = np.empty((0, 0))
        self._mean: Floats | None = None

    @classmethod
    def of(cls, weights: Array, *, average: bool = False) -> Prototypes:
        """Prototypes to go on from, shape (features, labels); copied when they move."""
        prototypes = cls(average=average)
        prototypes.features, prototypes.labels = weights.shape
        prototypes._last = weights
        return prototypes

    def learn(self, rule: int, rows: Rows, labels: Rows) -> None:
        """Rank each document, then learn from it, once and in order."""
        self._grow(rows.width, labels.width, rows.values.dtype)
        self._mean, seen = None, len(self.rounds)
        values = rows.values.astype(self._last.dtype, copy=False)
        online_pass(
            rule, (rows.starts, rows.columns, values), (labels.starts, labels.columns),
            self._last, self._timed, self.labels, seen, self.rounds.extend(len(rows)),
        )  # fmt: skip

    def scores(self, rows: Rows) -> Floats:
        """Scores of all labels, shape (documents, labels); rows of ``features``."""
        scores = _product(rows, self._last[: self.features])
        if self._timed.size:
            timed = _product(rows, self._timed[: self.features])
            scores -= timed / max(len(self.rounds), 1)
        return scores[:, : self.labels]

    def weights(self) -> Array:
        """Shape (features, labels): the mean, or a view of the last prototypes."""
        last = self._used(self._last)
        if not self._timed.size:
            return last
        if self._mean is None:
            self._mean = last - self._used(self._timed) / max(len(self.rounds), 1)
        return self._mean

    def _grow(self, features: int, labels: int, kind: Any) -> None:
        """Make room for the labels and features, old and new."""
        features, labels = max(features, self.features), max(labels, self.labels)
        kind = self._last.dtype if self._last.size else kind
        height, width = self._last.shape
        if features > height:
            height = max(features, 2 * height)
        if labels > width:  # whole cache lines, where that adds a quarter at most
            size = np.dtype(kind).itemsize
            whole = -(-labels * size // LINE) * LINE // size
            width = whole if 4 * whole <= 5 * labels else labels
        room = height, width
        if room != self._last.shape or not self._last.flags.writeable:
            self._last = with_room(self._used(self._last), room, kind)
        if self.average and room != self._timed.shape:
            self._timed = with_room(self._used(self._timed), room, np.float64)
        self.features, self.labels = features, labels

    def _used(self, table: Array) -> Array:
        return table[: self.features, : self.labels]


def _product(rows: Rows, weights: Array) -> Floats:
    values = rows.values.astype(weights.dtype, copy=False)
    documents = replace(rows, values=values).to_scipy()
    return np.asarray(documents @ weights, dtype=np.float64)


BLOCK = 256  # documents whose similarities are computed together


@dataclass(eq=False)
class Supports:
    """⟨w_r, x⟩ as Σ_s τ_{s,r} k(x_s, x) over the documents x_s that led to an update.

    average : score with the mean of the prototypes after each round: τ_s counts for
        the share of the rounds since.
    vote : score with the votes of all prototypes, each weighted by the rounds it was in
        force; a vote is a ranking, the label in place p of k gets k − p points
        [FreundSchapire99].
    max_documents : supports at most; beyond, one is forgotten. With the graded
        losses 2 and 3 it is that of the smallest update ‖τ_s‖² k(x_s, x_s); where every
        mistake counts alike (loss 1, perceptron) the oldest. On Reuters, each was the
        better of the two for its rule.
    """

    kernel: KernelFunction
    average: bool = False
    vote: bool = False
    max_documents: int | None = None

    def __post_init__(self) -> None:
        self.labels = 0
        self.rounds = Growing(np.empty((0, 3)))
        self.documents = stack([])
        self.steps: Floats = np.empty((0, 0))
        self.when: Ints = np.empty(0, np.int64)
        self._sizes: Floats = np.empty(0)

    @property
    def features(self) -> int:
        """How many features the documents have."""
        return self.documents.width

    def learn(self, rule: int, rows: Rows, labels: Rows) -> None:
        """Rank each document, then learn from it, once and in order."""
        self._grow(rows.width, labels.width)
        for part in _blocks(len(rows)):
            self._learn_block(rule, take(rows, part), take(labels, part))

    def _grow(self, features: int, labels: int) -> None:
        """New features and labels begin with zeros."""
        self.documents = replace(self.documents, width=max(self.features, features))
        self.labels = max(self.labels, labels)
        missing = self.labels - self.steps.shape[1]
        self.steps = np.pad(self.steps, ((0, 0), (0, missing)))

    def _learn_block(self, rule: int, rows: Rows, labels: Rows) -> None:
        both = stack([self.documents, rows])
        seen = len(self.rounds)
        steps = np.concatenate([self.steps, np.zeros((len(rows), self.labels))])
        when = np.concatenate([self.when, np.full(len(rows), -1, np.int64)])
        sizes = np.concatenate([self._sizes, np.zeros(len(rows))])
        most = np.iinfo(np.int64).max
        limit = most if self.max_documents is None else self.max_documents
        support_pass(
            rule, self._similar(rows, both), (labels.starts, labels.columns), steps,
            when, sizes, limit, seen, self.rounds.extend(len(rows)),
        )  # fmt: skip
        mask = when >= 0
        self.documents = take(both, mask)
        self.steps, self.when, self._sizes = steps[mask], when[mask], sizes[mask]

    def scores(self, rows: Rows) -> Floats:
        """Scores (or mean points) of all labels, shape (documents, labels)."""
        scores, steps = np.zeros((len(rows), self.labels)), self.steps
        if self.average:  # what a step counts is its share of the rounds
            shares = 1.0 - self.when / max(len(self.rounds), 1)
            steps = np.asarray(steps * shares[:, np.newaxis])
        for part in _blocks(len(rows)):
            similar = self._similar(take(rows, part), self.documents)
            scores[part] = self._votes(similar) if self.vote else similar @ steps
        return scores

    def _votes(self, similar: Floats) -> Floats:
        survived = np.diff(np.concatenate([[0], self.when, [len(self.rounds)]]))
        points = np.zeros((len(similar), self.labels))
        vote_pass(similar, self.steps, survived / max(len(self.rounds), 1), points)
        return points

    def _similar(self, rows: Rows, others: Rows) -> Floats:
        if not len(others):
            return np.empty((len(rows), 0))
        width = max(rows.width, others.width)
        left, right = (replace(each, width=width).to_scipy() for each in (rows, others))
        return self.kernel(left, right)


def _blocks(n: int) -> Iterator[Ints]:
    return (np.arange(n)[start : start + BLOCK] for start in range(0, n, BLOCK))
