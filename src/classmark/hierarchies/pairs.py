"""Which of two classes, by classifiers that see as much of one as of the other?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.progress import track
from classmark.solvers.hinge.ascent import ascend
from classmark.solvers.hinge.problem import Hinges
from classmark.sparse import Rows, take, transpose

Entries = tuple[NDArray[np.uint32], Array]
KEPT = 4096  # pairs whose classifiers are kept
COST, TOL = 1.0, 1e-2


class Voters(NamedTuple):
    """Binary classifiers of a pair: feature ``columns[i]`` has the weights ``[i]``.

    columns : (m,), increasing;  weights : (m, votes), positive for the first class.
    """

    columns: NDArray[np.uint32]
    weights: Floats


class Doubts(NamedTuple):
    """The two best classes of each document, and how near they are.

    first, second : (n,) class numbers;  gap : (n,) p̂(first) − p̂(second);
    odds : (n,) how many times as large the first is, inf if the second has nothing.
    """

    first: Ints
    second: Ints
    gap: Floats
    odds: Floats

    def open(self, delta: float, ratio: float) -> Bools:
        """Which documents are to be predicted again."""
        return (self.gap <= delta) & (self.odds >= ratio) & np.isfinite(self.odds)


class PairVotes:
    """Votes between two classes, each of an SVM over a balanced draw of documents.

    For a pair {a, b}, ``votes`` times: as many documents of the larger class as the
    smaller one has are drawn, without putting back, and ½‖w‖² + Σ hinge is minimised.
    Documents of both classes are left out. The draws of a pair depend on the seed and
    the pair alone; the classifiers of the last pairs are kept. [Babbar14]
    """

    def __init__(self, rows: Rows, labels: Rows, votes: int, seed: int) -> None:
        self.rows = rows
        self.owned = transpose(labels)
        self.votes = votes
        self.seed = seed
        self.kept: dict[tuple[int, int], Voters | None] = {}

    def turned(self, rows: Rows, doubts: Doubts, asking: Bools) -> Bools:
        """For which documents, of those asked again, the second class wins."""
        found = np.zeros(len(rows), np.bool_)
        which = np.flatnonzero(asking)
        for at in track(which, "predicting again", len(which)):
            pair = int(doubts.first[at]), int(doubts.second[at])
            found[at] = self._second_wins(rows.row(int(at)), *pair)
        return found

    def _second_wins(self, document: Entries, first: int, second: int) -> bool:
        """Whether most say ``second``; a draw, or nothing to learn from, says no."""
        a = min(first, second)
        voters = self._voters(a, max(first, second))
        if voters is None:
            return False
        columns, values = document
        place = np.searchsorted(voters.columns, columns)
        place = np.minimum(place, len(voters.columns) - 1)
        shared = voters.columns[place] == columns
        scores = values[shared].astype(np.float64) @ voters.weights[place[shared]]
        against = scores if second == a else -scores
        return int((against > 0.0).sum()) * 2 > self.votes

    def _voters(self, a: int, b: int) -> Voters | None:
        if (a, b) not in self.kept:
            if len(self.kept) >= KEPT:
                self.kept.pop(next(iter(self.kept)))
            self.kept[a, b] = self._learned(a, b)
        return self.kept[a, b]

    def _learned(self, a: int, b: int) -> Voters | None:
        of_a, of_b = (self.owned.row(c)[0].astype(np.int64) for c in (a, b))
        only_a = np.setdiff1d(of_a, of_b, assume_unique=True)
        only_b = np.setdiff1d(of_b, of_a, assume_unique=True)
        size = min(len(only_a), len(only_b))
        if not size:
            return None
        drawn = take(self.rows, np.concatenate((only_a, only_b)))
        columns, compact = np.unique(drawn.columns, return_inverse=True)
        if not len(columns):
            return None
        narrow = compact.ravel().astype(np.uint32)
        both = Rows(drawn.starts, narrow, drawn.values, len(columns))
        random = np.random.default_rng((self.seed, a, b))
        weights = np.empty((len(columns), self.votes))
        for vote in range(self.votes):
            first = random.permutation(len(only_a))[:size]
            second = len(only_a) + random.permutation(len(only_b))[:size]
            weights[:, vote] = _separated(both, first, second)
        return Voters(columns, weights)


def _separated(rows: Rows, first: Ints, second: Ints) -> Floats:
    """The weights of a binary SVM, the first documents being positive."""
    n = len(first) + len(second)
    signs = np.concatenate((np.ones(len(first)), -np.ones(len(second))))
    which = np.concatenate((first, second)).astype(np.uint32)
    hinges = Hinges(which, signs, np.full(n, COST), np.ones(n))
    return ascend([rows], hinges, tol=TOL).weights
