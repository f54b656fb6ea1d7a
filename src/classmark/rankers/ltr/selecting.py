"""Which parameters? Cross-validation over queries, none of which is ever split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.corpus.splits import folds as parted
from classmark.problems import Mistake
from classmark.randomness import Seed
from classmark.rankers.ltr.judged import numbers, query_numbers
from classmark.rankers.ltr.judging import order_measured
from classmark.rankers.ltr.scoring import QueryRanker
from classmark.sparse import Rows, rows_from, take
from classmark.spreading import spread


@dataclass(frozen=True, slots=True)
class Selected:
    """The parameters with the best mean over held-out queries, and all means.

    tried : the grid;  means, errors : (grid,), of the measure and its standard error;
    values : (grid, queries), queries by when they first appear.
    """

    parameters: dict[str, Any]
    tried: tuple[dict[str, Any], ...]
    means: Floats
    errors: Floats
    values: Floats


def select_over_queries(
    ranker: QueryRanker,
    X: Any,
    y: ArrayLike,
    qid: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[float],
    *,
    folds: int = 5,
    measure: str = "ndcg@10",
    one_standard_error: bool = False,
    random_state: Seed = 0,
) -> Selected:
    """Choose parameters by k-fold cross-validation over whole queries.

    grid : values by the parameter's name, all combinations being tried, or values of C;
    of equals the first is chosen, so begin with the simplest;  one_standard_error : the
    first that is less than the best's standard error below the best.

    >>> from classmark.rankers.ltr import RankingSVM
    >>> X, y, qid = [[1.0], [0.0]] * 4, [1, 0] * 4, [0, 0, 1, 1, 2, 2, 3, 3]
    >>> select_over_queries(RankingSVM(), X, y, qid, [0.1, 1.0], folds=2).parameters
    {'C': 0.1}
    """
    rows, tried = rows_from(X), _combinations(grid)
    grades, queries = numbers(y, len(rows), "y"), query_numbers(qid, len(rows))
    count = int(queries.max(initial=-1)) + 1
    if not 2 <= folds <= count:
        raise Mistake(
            f"folds is {folds}: give from 2 to {count}, the queries there are"
        )
    values = np.empty((len(tried), count))
    split = list(parted(count, folds, random_state))
    jobs = [(fold, at) for fold in split for at in range(len(tried))]
    fresh = type(ranker)(**ranker.get_params(deep=False))
    shared = (fresh, tried, (rows, grades, queries), measure)
    found = spread(_asked, jobs, shared, "cross-validating")
    for (_, at), (asked, own) in zip(jobs, found, strict=True):
        values[at, asked] = own
    means = values.mean(axis=1)
    errors = values.std(axis=1, ddof=1) / np.sqrt(count)
    best = int(np.argmax(means))
    if one_standard_error:
        best = int(np.argmax(means >= means[best] - errors[best]))
    return Selected(tried[best], tried, means, errors, values)


def _asked(
    job: tuple[tuple[Ints, Ints], int],
    ranker: QueryRanker,
    tried: Sequence[dict[str, Any]],
    judged: tuple[Rows, Floats, Ints],
    measure: str,
) -> tuple[Ints, Floats]:
    """Learn from some queries and ask the others: their numbers, and the measure."""
    (learn, ask), at = job
    rows, grades, queries = judged
    mine, theirs = (np.flatnonzero(np.isin(queries, part)) for part in (learn, ask))
    fitted = type(ranker)(**ranker.get_params(deep=False)).set_params(**tried[at])
    fitted.fit(take(rows, mine), grades[mine], queries[mine])
    scores = fitted.decision_function(take(rows, theirs))
    found = order_measured(scores, grades[theirs], queries[theirs], [measure])
    return queries[theirs][np.sort(_first(queries[theirs]))], found[measure]


def _first(values: Ints) -> Ints:
    return np.unique(values, return_index=True)[1]


def _combinations(
    grid: Mapping[str, Sequence[Any]] | Sequence[float],
) -> tuple[dict[str, Any], ...]:
    named = grid if isinstance(grid, Mapping) else {"C": grid}
    tried = tuple(
        dict(zip(named, chosen, strict=True)) for chosen in product(*named.values())
    )
    if not tried or not named:
        raise Mistake("grid is empty: give at least one value to try")
    return tried
