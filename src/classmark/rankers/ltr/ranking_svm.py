"""Ranking SVM: every document above those of lower grades, by a margin."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Ints
from classmark.problems import Mistake
from classmark.rankers.ltr.discounting import drops, query_shares
from classmark.rankers.ltr.judged import Judged, judged, numbers, require_pairs
from classmark.rankers.ltr.scoring import LinearQueryRanker
from classmark.solvers.pairs.graded import GradedPairs
from classmark.solvers.pairs.listed import ListedPairs
from classmark.solvers.pairs.newton import Pairs, hinges_of_pairs
from classmark.sparse import Rows, rows_from

WEIGHTINGS = (None, "ir")


class RankingSVM(LinearQueryRanker):
    """½‖w‖² + C Σ t · max(0, 1 − w·(x_i − x_j)), over pairs of a query with y_i > y_j.

    t is 1 [Joachims02] or, with ``weighting="ir"``, τ · μ: what exchanging two such
    grades costs in nDCG@10, and what makes queries count alike [Cao06]. Pairs are never
    listed: a query of n rows costs O(n log n) a look [Joachims06], with τ O(n log n + R
    n) for R grades.

    gap_ : at most so much is the objective above the optimum;  tol : of the gap,
    relative.

    >>> X, y = [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [2, 1, 0]
    >>> ranker = RankingSVM(C=10.0).fit(X, y, ["q", "q", "q"])
    >>> ranker.coef_.round(2).tolist(), round(ranker.objective_, 2)
    ([1.0, -1.0], 1.0)
    """

    def __init__(
        self,
        C: float = 1.0,
        weighting: Literal["ir"] | None = None,
        tol: float = 1e-3,
    ) -> None:
        self.C = C
        self.weighting = weighting
        self.tol = tol

    def fit(
        self, X: Any, y: ArrayLike, qid: Any, *, weights: ArrayLike | None = None
    ) -> Self:
        """Learn from rows X, (n, features), grades y, (n,), and their queries, (n,).

        qid : any hashables, in any order;  weights : (n,), what a pair counts that the
        row should win.
        """
        given = judged(X, y, qid, weights)
        pairs = self._pairs(given)
        require_pairs(len(pairs))
        return self._learn(given.rows, pairs, float(pairs.prices.max()))

    def fit_preferences(
        self,
        X: Any,
        winners: ArrayLike,
        losers: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Learn from preferences between rows, as clicks give them.

        winners, losers : row numbers, (pairs,);  weights : of each pair, (pairs,).

        >>> ranker = RankingSVM().fit_preferences([[0.0], [2.0]], [1], [0])
        >>> ranker.coef_.round(2).tolist()
        [0.5]
        """
        if self.weighting is not None:
            raise Mistake(
                f"weighting={self.weighting!r} needs grades: give weights, or fit"
            )
        rows = rows_from(X)
        above, below = _places(winners, losers, len(rows))
        counts = np.ones(len(above))
        if weights is not None:
            counts = numbers(weights, len(above), "weights")
        if (counts < 0.0).any():
            raise Mistake("weights: one is below 0: give 0 or more for each pair")
        top = float(counts.max(initial=0.0))
        return self._learn(rows, ListedPairs(above, below, counts), top)

    def _pairs(self, given: Judged) -> GradedPairs:
        if self.weighting not in WEIGHTINGS:
            raise Mistake(
                f"weighting {self.weighting!r} is not known: use None or 'ir'"
            )
        if self.weighting is None:
            shares = np.ones(len(given.starts) - 1)
            return GradedPairs(given.runs, given.counts, shares)
        shares = query_shares(given)
        return GradedPairs(given.runs, given.counts, shares, drops(given))

    def _learn(self, rows: Rows, pairs: Pairs, most: float) -> Self:
        if not most > 0.0:
            raise Mistake("weights: no preference counts anything: give one above 0")
        found = hinges_of_pairs(rows, pairs, float(self.C), tol=self.tol)
        self.coef_, self.objective_ = found.weights, found.objective
        self.gap_, self.steps_ = found.gap, found.steps
        return self


def _places(winners: ArrayLike, losers: ArrayLike, n: int) -> tuple[Ints, Ints]:
    above, below = np.asarray(winners), np.asarray(losers)
    for name, rows in (("winners", above), ("losers", below)):
        if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "ui"):
            raise Mistake(f"{name}: give a flat list of row numbers")
        if len(rows) and not (rows.min() >= 0 and rows.max() < n):
            at = int(np.argmax((rows < 0) | (rows >= n)))
            raise Mistake(f"{name}[{at}] is {rows[at]}, but X has {n} rows")
    if len(above) != len(below) or not len(above):
        raise Mistake(
            f"{len(above)} winners and {len(below)} losers: give as many of each, at "
            "least one"
        )
    if (above == below).any():
        at = int(np.argmax(above == below))
        raise Mistake(f"winners[{at}] and losers[{at}] are the same row: leave it out")
    return above.astype(np.int64), below.astype(np.int64)
