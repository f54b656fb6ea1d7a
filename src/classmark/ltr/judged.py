"""Judged rows of queries: grades, features and order; parameters chosen by them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints, Rows, rows_from, take
from classmark.corpus.documents import cross_validate
from classmark.corpus.documents import folds as parted
from classmark.estimator import Estimator, renamed
from classmark.evaluation.retrieval import settings_of
from classmark.measures.retrieval import JudgedRun, Measure, measured
from classmark.problems import Mistake
from classmark.progress import track
from classmark.ranking import rank
from classmark.solvers.pairs import Runs
from classmark.validation import Seed, generator, numbers, weights_of


@dataclass(frozen=True, slots=True)
class Judged:
    """Judged rows that a ranker learns from, sorted by query and grade.

    rows : (n, features);  grades, counts : (n,);  queries : (n,), numbered 0 … q − 1;
    starts : (q + 1,), bounds of the queries;  runs : bounds of query and grade;
    distinct : all grades, rising.
    """

    rows: Rows
    grades: Floats
    counts: Floats
    queries: Ints
    starts: Ints
    runs: Runs
    distinct: Floats


def judged(
    X: Any, y: ArrayLike, qid: Any = None, weights: ArrayLike | None = None
) -> Judged:
    """Take in rows of any order; a ``Mistake`` names the argument that does not fit.

    qid : None where all rows are of one query.

    weights : (n,), at least 0: what a row counts where it should be above others, as
    the inverse of its chance to be looked at.
    """
    rows = rows_from(X)
    if y is None:
        raise Mistake(
            "y requires y to be passed, but the target y is None: give grades"
        )
    grades = numbers(y, len(rows), "y")
    counts = weights_of(np.ones(len(rows)) if weights is None else weights, len(rows))
    if len(rows) == 1:
        raise Mistake("X has 1 sample: there is no order to learn")
    number = query_numbers(qid, len(rows))
    distinct, level = np.unique(grades, return_inverse=True)
    order = np.lexsort((level, number))
    queries, level = number[order], level[order]
    key = queries * max(len(distinct), 1) + level
    first = np.flatnonzero(np.diff(key, prepend=-1))
    bounds = np.append(first, len(rows)).astype(np.int64)
    return Judged(
        take(rows, order),
        grades[order],
        counts[order],
        queries,
        np.searchsorted(queries, np.arange(queries.max(initial=-1) + 2)),
        Runs(bounds, queries[first], level[first].astype(np.int64)),
        distinct,
    )


def query_numbers(qid: Any, n: int) -> Ints:
    """Number the queries by when they first appear; any hashable names one.

    None : all rows are of one query.

    >>> query_numbers(["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    names: Iterable[Any] = qid.tolist() if isinstance(qid, np.ndarray) else qid
    if qid is None:
        names = np.zeros(n, np.int64).tolist()
    seen: dict[Any, int] = {}
    try:
        numbers = np.array(
            [seen.setdefault(name, len(seen)) for name in names], np.int64
        )
    except TypeError as problem:
        raise Mistake(
            "qid: give one hashable name of a query for each row"
        ) from problem
    if len(numbers) != n:
        raise Mistake(
            f"qid names {len(numbers)} rows, X has {n}: give one for each row"
        )
    return numbers


def require_pairs(count: int) -> None:
    """Refuse judgments that say nothing about order."""
    if count == 0:
        raise Mistake(
            "y: no query has rows of two different grades: there is no order to learn"
        )


def order_measured(
    scores: ArrayLike, y: ArrayLike, qid: Any, measures: Sequence[str | Measure]
) -> dict[str, Floats]:
    """Values of each measure, (queries,), queries by when they first appear.

    A grade above 0 is relevant; a query without any counts 0. Of equal scores the row
    given first stands first.

    >>> order_measured([1.0, 2.0], [1, 0], ["q", "q"], ["map", "ndcg@1"])
    {'map': array([0.5]), 'ndcg@1': array([0.])}
    """
    grades = np.asarray(y)
    grades = np.maximum(numbers(grades, len(grades), "y"), 0.0)
    query = query_numbers(qid, len(grades))
    rows = np.arange(len(grades))
    ranked = rank(query, rows, scores)
    ideal = rank(query, rows, grades)
    names = tuple(map(str, range(int(query.max(initial=-1)) + 1)))
    run = JudgedRun(names, ranked, grades[ranked.items], ideal, grades[ideal.items])
    return measured(run, measures)


WAYS = ("minmax", "zscore", None)


def normalise_per_query(
    X: Any, qid: Any, how: Literal["minmax", "zscore"] | None = "minmax"
) -> Floats:
    """Each feature, within each query, to 0 … 1, or to mean 0 and deviation 1.

    A feature that does not vary in a query is 0 there. None: dense, as it is.

    X : (n, features);  qid : (n,), any hashables, in any order.

    >>> normalise_per_query([[1.0], [3.0], [5.0], [7.0]], ["a", "a", "a", "b"]).tolist()
    [[0.0], [0.5], [1.0], [0.0]]
    """
    if how not in WAYS:
        raise Mistake(f"how={how!r} is not known: use 'minmax', 'zscore' or None")
    table = rows_from(X).to_scipy().toarray().astype(np.float64)
    if how is None or not len(table):
        return np.asarray(table)
    numbers = query_numbers(qid, len(table))
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], np.arange(numbers.max() + 1))
    sizes = np.bincount(numbers)[:, np.newaxis]
    ordered = table[order]
    if how == "minmax":
        low = np.minimum.reduceat(ordered, starts)
        wide = np.maximum.reduceat(ordered, starts) - low
    else:
        low = np.add.reduceat(ordered, starts) / sizes
        apart = ordered - np.repeat(low, sizes[:, 0], axis=0)
        wide = np.sqrt(np.add.reduceat(apart**2, starts) / sizes)
    varies = wide > 1e-12 * np.maximum(1.0, np.abs(low))
    scale = np.divide(1.0, wide, out=np.zeros_like(wide), where=varies)
    return np.asarray((table - low[numbers]) * scale[numbers], np.float64)


class QueryRanker(Estimator, ABC):
    """Learns from graded rows of queries, then scores rows."""

    _needs_y = True

    @renamed(weights="sample_weight")
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows X, (n, features), grades y, (n,), and their queries, (n,).

        qid : any hashables, in any order; None: one query.
        sample_weight : (n,), what a row counts where it should be above others.
        """
        self._learn(judged(self._taught_rows(X), y, qid, sample_weight))
        return self

    @abstractmethod
    def _learn(self, training: Judged) -> None:
        """Learn from judged rows."""

    def decision_function(self, X: Any) -> Floats:
        """Scores of rows, (n,): within a query, the higher the better."""
        return self._scores(self._rows_as_taught(X))

    def predict(self, X: Any) -> Floats:
        """The scores of ``decision_function``, by the name that tools call."""
        return self.decision_function(X)

    def score(self, X: Any, y: ArrayLike, qid: Any = None) -> float:
        """Mean nDCG@10 over queries: what scikit-learn's tools compare."""
        scores = self.decision_function(X)
        queries = query_numbers(qid, len(scores))
        return float(order_measured(scores, y, queries, ["ndcg@10"])["ndcg@10"].mean())

    @abstractmethod
    def _scores(self, rows: Rows) -> Floats:
        """Scores of rows of the features learned from."""


class LinearQueryRanker(QueryRanker):
    """The score is ⟨w, x⟩.

    coef_ : w, (features,);  objective_ : the value that was minimised.
    """

    coef_: Floats
    objective_: float

    def _scores(self, rows: Rows) -> Floats:
        return np.asarray(rows.to_scipy() @ self.coef_, np.float64)


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
