"""VotedRanker: a ranker in service whose close calls are made again on equal terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.hierarchies.pairs import Doubts, PairVotes
from classmark.hierarchies.posterior import fitted_scale, posterior
from classmark.problems import Mistake
from classmark.rankers.linear import Evidence, LinearRanker
from classmark.ranking import top as best_of
from classmark.sparse import Rows, rows_from

Arrays = dict[str, Array]


@dataclass(frozen=True)
class Votes:
    """What is needed to vote between two categories [Babbar14].

    rows : the documents learned from;  labels : Rows (n, categories);  scale : of the
    softmax that makes probabilities of scores;  delta, ratio, count : Δ, R and t of
    ``RareCategoryReranker``.
    """

    rows: Rows
    labels: Rows
    scale: float
    delta: float = 0.1
    ratio: float = 2.0
    count: int = 5

    @classmethod
    def fit(cls, rows: Rows, labels: Rows, held_out: Floats, wanted: Rows) -> Votes:
        """Votes over documents; the scale by held-out scores and their labels."""
        return cls(rows, labels, fitted_scale(held_out, wanted))

    @cached_property
    def sizes(self) -> Floats:
        """How many documents each category has, shape (categories,)."""
        found = np.bincount(self.labels.columns, minlength=self.labels.width)
        return found.astype(np.float64)

    @cached_property
    def pairs(self) -> PairVotes:
        """The classifiers of pairs, learned when they are asked for."""
        return PairVotes(self.rows, self.labels, self.count, 0)

    def settled(self, rows: Rows, scores: Floats, numbers: Ints) -> Floats:
        """The scores, those of two categories exchanged where the votes say so.

        numbers : the label number of each column of ``scores``, −1 if it has none.
        """
        if scores.shape[1] < 2 or not len(scores):
            return scores
        columns = best_of(scores, 2)
        doubts = self._doubts(scores, columns, numbers)
        asking = doubts.open(self.delta, self.ratio)
        found = scores.copy()
        for at in np.flatnonzero(self.pairs.turned(rows, doubts, asking)):
            high, low = scores[at, columns[at]]
            apart = np.nextafter(low, np.inf) if high == low else high
            found[at, columns[at]] = low, apart
        return found

    def asked_again(self, scores: Floats, numbers: Ints) -> Bools:
        """Which documents are voted on: the two best are near, and the first larger."""
        if scores.shape[1] < 2 or not len(scores):
            return np.zeros(len(scores), np.bool_)
        doubts = self._doubts(scores, best_of(scores, 2), numbers)
        return doubts.open(self.delta, self.ratio)

    def _doubts(self, scores: Floats, columns: Ints, numbers: Ints) -> Doubts:
        every = np.arange(len(scores))
        p = posterior(scores, self.scale)
        first, second = numbers[columns].T
        sizes = np.append(self.sizes, 0.0)  # the last: of what was never learned
        odds = np.full(len(scores), np.inf)
        np.divide(sizes[first], sizes[second], out=odds, where=sizes[second] > 0)
        gap = p[every, columns[:, 0]] - p[every, columns[:, 1]]
        return Doubts(first, second, gap, odds)

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """What was learned, as arrays and settings."""
        arrays: Arrays = {}
        for name, part in (("rows", self.rows), ("labels", self.labels)):
            arrays |= {
                f"{name}_starts": part.starts,
                f"{name}_columns": part.columns,
                f"{name}_values": part.values,
            }
        return arrays, {
            "width": self.rows.width,
            "categories": self.labels.width,
            "scale": self.scale,
            "delta": self.delta,
            "ratio": self.ratio,
            "count": self.count,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any]) -> Votes:
        """The votes that :meth:`to_arrays` described."""
        rows = _rows(arrays, "rows", settings["width"])
        labels = _rows(arrays, "labels", settings["categories"])
        limits = {name: settings[name] for name in ("scale", "delta", "ratio", "count")}
        return cls(rows, labels, **limits)


def _rows(arrays: Arrays, name: str, width: int) -> Rows:
    starts, columns, values = (
        arrays[f"{name}_{part}"] for part in ("starts", "columns", "values")
    )
    return Rows(starts, columns, values, width)


class VotedRanker(LinearRanker):
    """A fitted ranker, with votes between its two best categories where they are close.

    numbers : the label number, in ``votes``, of each category of the ranker; −1 for
    those that were not there when the votes were learned.
    """

    def __init__(
        self, ranker: LinearRanker, votes: Votes, numbers: Sequence[int]
    ) -> None:
        self.ranker = ranker
        self.votes = votes
        self.numbers = numbers

    def fit(self, X: Any, Y: Any) -> Self:  # noqa: ARG002 (the manners of a ranker)
        """Refuse: the ranker inside is fitted already."""
        raise Mistake("a VotedRanker holds a fitted ranker: fit that one")

    def decision_function(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories)."""
        rows = rows_from(X)
        numbers = np.asarray(self.numbers, np.int64)
        scores = self.ranker.decision_function(rows)
        return self.votes.settled(rows, scores, numbers)

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the score of ``category`` for the one row of ``X``."""
        return self.ranker.evidence(X, category)
