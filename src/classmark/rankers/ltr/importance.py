"""Which features does an order come from?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake
from classmark.progress import track
from classmark.randomness import Seed, generator
from classmark.rankers.ltr.judged import numbers, query_numbers
from classmark.rankers.ltr.judging import order_measured
from classmark.rankers.ltr.scoring import QueryRanker
from classmark.sparse import rows_from


@dataclass(frozen=True, slots=True)
class Importance:
    """Of each feature, (features,).

    pull : |w| · its standard deviation within queries, what it moves scores by; None
    where scores are not linear;  drop : how much the measure falls when its values are
    exchanged at random among the rows of each query;  error : the standard error of
    ``drop`` over queries.
    """

    pull: Floats | None
    drop: Floats
    error: Floats


def importance(
    ranker: QueryRanker,
    X: Any,
    y: ArrayLike,
    qid: Any,
    *,
    measure: str = "ndcg@10",
    rounds: int = 3,
    random_state: Seed = 0,
) -> Importance:
    """Ask a fitted ranker what each feature is worth, best on rows it has not seen.

    rounds : random exchanges, over which ``drop`` is a mean.
    """
    if rounds < 1:
        raise Mistake(f"rounds is {rounds}: give 1 or more")
    table = rows_from(X).to_scipy().toarray().astype(np.float64)
    grades = numbers(y, len(table), "y")
    queries, random = query_numbers(qid, len(table)), generator(random_state)
    before = _measured(ranker, table, grades, queries, measure)
    by_query = np.argsort(queries, kind="stable")
    orders = [np.lexsort((random.random(len(table)), queries)) for _ in range(rounds)]
    drop, error = np.empty((2, table.shape[1]))
    for at in track(range(table.shape[1]), "exchanging values", table.shape[1]):
        falls, column = np.zeros(len(before)), table[:, at].copy()
        for order in orders:
            table[by_query, at] = column[order]
            falls += before - _measured(ranker, table, grades, queries, measure)
        table[:, at] = column
        drop[at] = falls.mean() / rounds
        spread = falls.std(ddof=1) if len(falls) > 1 else 0.0
        error[at] = spread / rounds / np.sqrt(len(falls))
    weights = getattr(ranker, "coef_", None)
    pull = None if weights is None else np.abs(weights) * _within(table, queries)
    return Importance(pull, drop, error)


def _measured(
    ranker: QueryRanker,
    table: Floats,
    grades: Floats,
    queries: Ints,
    measure: str,
) -> Floats:
    scores = ranker.decision_function(table)
    return order_measured(scores, grades, queries, [measure])[measure]


def _within(table: Floats, queries: Ints) -> Floats:
    """The standard deviation of each column within queries, pooled."""
    sums = np.zeros((int(queries.max(initial=-1)) + 1, table.shape[1]))
    np.add.at(sums, queries, table)
    apart = table - (sums / np.bincount(queries)[:, np.newaxis])[queries]
    return np.asarray(np.sqrt((apart**2).mean(axis=0)), np.float64)
