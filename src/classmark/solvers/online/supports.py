"""Supports: the documents that moved a prototype, in place of the prototypes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.scores.similarity import Kernel
from classmark.solvers.online.rounds import Rounds
from classmark.sparse import Rows, stack, take

BLOCK = 256  # documents whose similarities are computed together


class Supports:
    """⟨w_r, x⟩ as Σ_s τ_{s,r} k(x_s, x) over the documents x_s that led to an update.

    average : score with the mean of the prototypes after each round: τ_s counts for
        the share of the rounds since.
    vote : score with the votes of all prototypes, each weighted by the rounds it was in
        force; a vote is a ranking, the label in place p of k gets k − p points
        [FreundSchapire99].
    budget : how many supports are kept; beyond, one is forgotten. With the graded
        losses 2 and 3 it is that of the smallest update ‖τ_s‖² k(x_s, x_s); where every
        mistake counts alike (loss 1, perceptron) the oldest. On Reuters, each was the
        better of the two for its rule.
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        average: bool = False,
        vote: bool = False,
        budget: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.average = average
        self.vote = vote
        self.budget = budget
        self.labels = 0
        self.rounds = Rounds()
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
        self.documents = _widened(self.documents, max(self.features, features))
        self.labels = max(self.labels, labels)
        missing = self.labels - self.steps.shape[1]
        self.steps = np.pad(self.steps, ((0, 0), (0, missing)))

    def _learn_block(self, rule: int, rows: Rows, labels: Rows) -> None:
        from classmark.solvers.online.kernels import support_pass

        both = stack([self.documents, rows])
        seen = len(self.rounds)
        steps = np.concatenate([self.steps, np.zeros((len(rows), self.labels))])
        when = np.concatenate([self.when, np.full(len(rows), -1, np.int64)])
        sizes = np.concatenate([self._sizes, np.zeros(len(rows))])
        limit = np.iinfo(np.int64).max if self.budget is None else self.budget
        support_pass(
            rule, self._similar(rows, both), labels.starts, labels.columns, steps, when,
            sizes, limit, seen, self.rounds.extend(len(rows)),
        )  # fmt: skip
        kept = when >= 0
        self.documents = take(both, kept)
        self.steps, self.when, self._sizes = steps[kept], when[kept], sizes[kept]

    def scores(self, rows: Rows) -> Floats:
        """Scores (or mean points) of all labels, shape (documents, labels)."""
        scores = np.zeros((len(rows), self.labels))
        for part in _blocks(len(rows)):
            similar = self._similar(take(rows, part), self.documents)
            scores[part] = self._votes(similar) if self.vote else similar @ self._sum()
        return scores

    def _sum(self) -> Floats:
        """The steps, or for the mean their shares of the rounds."""
        if not self.average:
            return self.steps
        shares = 1.0 - self.when / max(len(self.rounds), 1)
        return np.asarray(self.steps * shares[:, np.newaxis])

    def _votes(self, similar: Floats) -> Floats:
        from classmark.solvers.online.kernels import vote_pass

        survived = np.diff(np.concatenate([[0], self.when, [len(self.rounds)]]))
        points = np.zeros((len(similar), self.labels))
        vote_pass(similar, self.steps, survived / max(len(self.rounds), 1), points)
        return points

    def _similar(self, rows: Rows, others: Rows) -> Floats:
        if not len(others):
            return np.empty((len(rows), 0))
        width = max(rows.width, others.width)
        one, other = _widened(rows, width), _widened(others, width)
        return self.kernel(one.to_scipy(), other.to_scipy())


def _widened(rows: Rows, width: int) -> Rows:
    return Rows(rows.starts, rows.columns, rows.values, width)


def _blocks(n: int) -> Iterator[Ints]:
    return (np.arange(n)[start : start + BLOCK] for start in range(0, n, BLOCK))
