"""Prototypes: one weight vector per label, which grow with the words and the labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.arrays import Array, Floats
from classmark.solvers.lines import LINE, with_room
from classmark.solvers.online.rounds import Rounds
from classmark.sparse import Rows


class Prototypes:
    """Weights of shape (features, labels) that a stream of documents moves.

    New features and labels begin with zeros; the room for features doubles, so that a
    vocabulary growing word by word copies each weight O(1) times. The weights are
    float32 where the first documents are.

    average : score with the mean of the prototypes after each round, kept lazily.
    """

    def __init__(self, *, average: bool = False) -> None:
        self.average = average
        self.features = self.labels = 0
        self.rounds = Rounds()
        self._last: Array = np.empty((0, 0))
        self._timed: Floats = np.empty((0, 0))
        self._mean: Floats | None = None

    @classmethod
    def of(cls, weights: Array, *, average: bool = False) -> Prototypes:
        """Prototypes to go on from, shape (features, labels); copied when they move."""
        known = cls(average=average)
        known.features, known.labels = weights.shape
        known._last = weights
        return known

    def learn(self, rule: int, rows: Rows, labels: Rows) -> None:
        """Rank each document, then learn from it, once and in order."""
        from classmark.solvers.online.kernels import online_pass

        self._grow(rows.width, labels.width, rows.values.dtype)
        self._mean, seen = None, len(self.rounds)
        online_pass(
            rule, rows.starts, rows.columns,
            rows.values.astype(self._last.dtype, copy=False),
            labels.starts, labels.columns, self._last, self._timed, self.labels, seen,
            self.rounds.extend(len(rows)),
        )  # fmt: skip

    def scores(self, rows: Rows) -> Floats:
        """Scores of all labels, shape (documents, labels); rows of ``features``."""
        found = _product(rows, self._last[: self.features])
        if self._timed.size:
            timed = _product(rows, self._timed[: self.features])
            found -= timed / max(len(self.rounds), 1)
        return found[:, : self.labels]

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
        if labels > width:
            width = _padded(labels, np.dtype(kind).itemsize)
        room = height, width
        if room != self._last.shape or not self._last.flags.writeable:
            self._last = with_room(self._used(self._last), room, kind)
        if self.average and room != self._timed.shape:
            self._timed = with_room(self._used(self._timed), room, np.float64)
        self.features, self.labels = features, labels

    def _used(self, table: Array) -> Array:
        return table[: self.features, : self.labels]


def _padded(labels: int, size: int) -> int:
    """Labels to fill whole cache lines, where that adds a quarter at most."""
    whole = -(-labels * size // LINE) * LINE // size
    return whole if 4 * whole <= 5 * labels else labels


def _product(rows: Rows, weights: Array) -> Floats:
    values = rows.values.astype(weights.dtype, copy=False)
    documents = Rows(rows.starts, rows.columns, values, rows.width).to_scipy()
    return np.asarray(documents @ weights, dtype=np.float64)
