"""Ranking: which item stands where for which query, and the one tie-break rule.

The rule, everywhere: the higher score first; among equal scores the lower item number
(for documents their number or order of arrival, for categories the label index).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Array, Floats, Ints
from classmark.problems import Mistake

BLOCK = 1 << 22  # scores looked at together: what `top` needs in memory beside them


@dataclass(frozen=True, slots=True)
class Ranking:
    """Items in order, query after query.

    queries : int64, increasing;  items : int64;  scores : float, all of shape (m,);
    within a query by decreasing score, ties by increasing item.
    """

    queries: Ints
    items: Ints
    scores: Array

    def __len__(self) -> int:
        return len(self.items)

    def of(self, query: int) -> tuple[Ints, Array]:
        """Items of one query, best first, and their scores."""
        start, end = np.searchsorted(self.queries, [query, query + 1])
        return self.items[start:end], self.scores[start:end]

    def ranks(self) -> Ints:
        """Return the place of each item in its query, the first being 1.

        >>> rank([0, 0, 1], [4, 2, 4], [0.5, 0.9, 0.1]).ranks().tolist()
        [1, 2, 1]
        """
        first = np.searchsorted(self.queries, self.queries)
        return np.arange(1, len(self) + 1) - first


def rank(queries: ArrayLike, items: ArrayLike, scores: ArrayLike) -> Ranking:
    """Put triples (query, item, score) in order.

    >>> rank([0, 0, 0], [7, 3, 5], [1.0, 1.0, 2.0]).items.tolist()
    [5, 3, 7]
    """
    query = np.asarray(queries, dtype=np.int64)
    item = np.asarray(items, dtype=np.int64)
    score = numbers(scores)
    if not query.shape == item.shape == score.shape or query.ndim != 1:
        raise Mistake(
            f"queries, items and scores have shapes {query.shape}, {item.shape} and "
            f"{score.shape}: give three flat arrays of one length"
        )
    place = np.lexsort((item, -score, query))
    return Ranking(query[place], item[place], score[place])


def order(scores: ArrayLike) -> Ints:
    """Return item numbers, best first, along the last axis: ties by number.

    scores : shape (k,) or (n, k).

    >>> order([0.2, 0.9, 0.9, 0.5]).tolist()
    [1, 2, 3, 0]
    """
    return np.argsort(-numbers(scores), axis=-1, kind="stable")


def rank_of(scores: Floats, item: int) -> int:
    """The place of an item, best first from 1: ties by number.

    >>> rank_of(np.array([2.0, 5.0, 2.0]), 2)
    3
    """
    score = scores[item]
    return 1 + int((scores > score).sum() + (scores[:item] == score).sum())


def top(scores: ArrayLike, k: int) -> Ints:
    """Return the ``k`` best item numbers of each row: ``order(scores)[..., :k]``.

    Exactly that, ties included, but only the best ``k`` are sorted: O(items) a row.
    Fewer items than ``k``: all of them.

    >>> top([[0.2, 0.9, 0.9, 0.5], [0.0, 0.0, 0.0, 0.0]], 2).tolist()
    [[1, 2], [0, 1]]
    """
    if k < 0:
        raise Mistake(f"k is {k}: give 0 or more")
    table = numbers(scores)
    if table.ndim == 1:
        best: Ints = top(table[np.newaxis], k)[0]
        return best
    n, width = table.shape
    if k >= width or k == 0:
        return order(table)[:, :k]
    best = np.empty((n, k), dtype=np.int64)
    step = max(1, BLOCK // width)
    for first in range(0, n, step):
        rows = slice(first, first + step)
        cost = -table[rows]
        limit = np.partition(cost, k - 1, axis=1)[:, k - 1 : k]
        chosen = cost <= limit
        for row in np.flatnonzero(chosen.sum(axis=1) > k):  # ties across the limit
            tied = np.flatnonzero(cost[row] == limit[row])
            chosen[row, tied[k - int((cost[row] < limit[row]).sum()) :]] = False
        items = np.nonzero(chosen)[1].reshape(len(cost), k)
        costs = np.take_along_axis(cost, items, axis=1)
        place = np.argsort(costs, axis=1, kind="stable")
        best[rows] = np.take_along_axis(items, place, axis=1)
    return best


def cut(ranking: Ranking, k: int) -> Ranking:
    """Return the first ``k`` items of each query.

    >>> cut(rank([0, 0, 1], [4, 2, 4], [0.5, 0.9, 0.1]), 1).items.tolist()
    [2, 4]
    """
    if k < 0:
        raise Mistake(f"k is {k}: give 0 or more")
    mask = ranking.ranks() <= k
    return Ranking(ranking.queries[mask], ranking.items[mask], ranking.scores[mask])


def numbers(scores: ArrayLike, *, name: str = "scores") -> Array:
    """Scores as floats: float32 stays, the rest is float64; NaN has no place."""
    values = np.asarray(scores)
    if values.dtype != np.float32:
        values = values.astype(np.float64, copy=False)
    if values.ndim not in {1, 2}:
        raise Mistake(
            f"{name} has {values.ndim} dimensions: give one row of items per query"
        )
    if values.size and np.isnan(values.min()):
        where = np.argwhere(np.isnan(values))[0]
        raise Mistake(
            f"{name}, {'row' if values.ndim == 2 else 'place'} {where[0]}: a score is "
            "not a number: replace NaN, for instance by -inf to put the item last"
        )
    return values
