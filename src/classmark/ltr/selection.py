"""Parameters by cross-validation over queries; which features an order comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints, Rows, rows_from, take
from classmark.corpus.documents import cross_validate
from classmark.corpus.documents import folds as parted
from classmark.evaluation.retrieval import settings_of
from classmark.ltr.judged import QueryRanker, numbers, order_measured, query_numbers
from classmark.problems import Mistake
from classmark.progress import track
from classmark.validation import Seed, generator


@dataclass(frozen=True, slots=True)
class SelectedParams:
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
) -> SelectedParams:
    """Choose parameters by k-fold cross-validation over whole queries.

    grid : values by the parameter's name, all combinations being tried, or values of C;
    of equals the first is chosen, so begin with the simplest;  one_standard_error : the
    first that is less than the best's standard error below the best.

    >>> from classmark.ltr import RankingSVM
    >>> X, y, qid = [[1.0], [0.0]] * 4, [1, 0] * 4, [0, 0, 1, 1, 2, 2, 3, 3]
    >>> select_over_queries(RankingSVM(), X, y, qid, [0.1, 1.0], folds=2).parameters
    {'C': 0.1}
    """
    named = grid if isinstance(grid, Mapping) else {"C": grid}
    rows, tried = rows_from(X), tuple(settings_of(named))
    if not tried or not named:
        raise Mistake("grid is empty: give at least one value to try")
    grades, queries = numbers(y, len(rows), "y"), query_numbers(qid, len(rows))
    count = int(queries.max(initial=-1)) + 1
    if not 2 <= folds <= count:
        raise Mistake(
            f"folds is {folds}: give from 2 to {count}, the queries there are"
        )
    parts = parted(count, folds, random_state)
    tasks = [(*part, chosen) for part in parts for chosen in tried]
    fresh = type(ranker)(**ranker.get_params(deep=False))
    shared = (fresh, (rows, grades, queries), measure)
    _, measured = cross_validate(_fold_measured, tasks, shared)
    values = np.ascontiguousarray(measured.reshape(count, len(tried)).T)
    means = values.mean(axis=1)
    errors = values.std(axis=1, ddof=1) / np.sqrt(count)
    best = int(np.argmax(means))
    if one_standard_error:
        best = int(np.argmax(means >= means[best] - errors[best]))
    return SelectedParams(tried[best], tried, means, errors, values)


def _fold_measured(
    task: tuple[Ints, Ints, dict[str, Any]],
    ranker: QueryRanker,
    judged: tuple[Rows, Floats, Ints],
    measure: str,
) -> Floats:
    """Learn from some queries, rank the others, and return their measure."""
    *parts, parameters = task
    rows, grades, queries = judged
    train, test = (np.flatnonzero(np.isin(queries, part)) for part in parts)
    fitted = type(ranker)(**ranker.get_params(deep=False)).set_params(**parameters)
    fitted.fit(take(rows, train), grades[train], queries[train])
    scores = fitted.decision_function(take(rows, test))
    return order_measured(scores, grades[test], queries[test], [measure])[measure]


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

    def measured() -> Floats:
        scores = ranker.decision_function(table)
        return order_measured(scores, grades, queries, [measure])[measure]

    before = measured()
    by_query = np.argsort(queries, kind="stable")
    orders = [np.lexsort((random.random(len(table)), queries)) for _ in range(rounds)]
    drop, error = np.empty((2, table.shape[1]))
    for at in track(range(table.shape[1]), "exchanging values", table.shape[1]):
        falls, column = np.zeros(len(before)), table[:, at].copy()
        for order in orders:
            table[by_query, at] = column[order]
            falls += before - measured()
        table[:, at] = column
        drop[at] = falls.mean() / rounds
        spread = falls.std(ddof=1) if len(falls) > 1 else 0.0
        error[at] = spread / rounds / np.sqrt(len(falls))
    weights = getattr(ranker, "coef_", None)
    if weights is None:
        return Importance(None, drop, error)
    means = np.zeros((len(before), table.shape[1]))
    np.add.at(means, queries, table)
    means /= np.bincount(queries)[:, np.newaxis]
    within = np.sqrt(((table - means[queries]) ** 2).mean(axis=0))
    return Importance(np.abs(weights) * within, drop, error)
