"""Judged: rows of queries with grades, by query and by rising grade."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake
from classmark.solvers.pairs.graded import Runs
from classmark.sparse import Rows, rows_from, take


@dataclass(frozen=True, slots=True)
class Judged:
    """What a ranker learns from, in an order of its own.

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


def judged(X: Any, y: ArrayLike, qid: Any, weights: ArrayLike | None = None) -> Judged:
    """Take in rows of any order; a ``Mistake`` names the argument that does not fit.

    weights : (n,), at least 0: what a row counts where it should be above others, as
    the inverse of its chance to be looked at.
    """
    rows = rows_from(X)
    grades = numbers(y, len(rows), "y")
    counts = np.ones(len(rows)) if weights is None else _weights(weights, len(rows))
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

    >>> query_numbers(["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    names: Iterable[Any] = qid.tolist() if isinstance(qid, np.ndarray) else qid
    seen: dict[Any, int] = {}
    try:
        found = np.array([seen.setdefault(name, len(seen)) for name in names], np.int64)
    except TypeError as problem:
        raise Mistake(
            "qid: give one hashable name of a query for each row"
        ) from problem
    if len(found) != n:
        raise Mistake(f"qid names {len(found)} rows, X has {n}: give one for each row")
    return found


def numbers(values: ArrayLike, n: int, name: str) -> Floats:
    """Take in one finite number for each of n rows."""
    found = np.asarray(values)
    if found.dtype.kind not in "biuf":
        raise Mistake(f"{name} holds {found.dtype}: give one number for each row")
    if found.shape != (n,):
        raise Mistake(f"{name} has shape {found.shape}: give one number for {n} rows")
    if not np.isfinite(found).all():
        at = int(np.argmin(np.isfinite(found)))
        raise Mistake(f"{name}, row {at}: {found[at]} is not finite: leave the row out")
    return found.astype(np.float64)


def _weights(weights: ArrayLike, n: int) -> Floats:
    found = numbers(weights, n, "weights")
    if (found < 0.0).any():
        at = int(np.argmax(found < 0.0))
        raise Mistake(f"weights, row {at}: {found[at]} is below 0: give 0 or more")
    return found


def require_pairs(count: int) -> None:
    """Refuse judgments that say nothing about order."""
    if count == 0:
        raise Mistake(
            "y: no query has rows of two different grades: there is no order to learn"
        )
