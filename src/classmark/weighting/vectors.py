"""Counts and statistics become weighted rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints
from classmark.corpus.statistics import Statistics
from classmark.problems import Mistake
from classmark.sparse import Rows
from classmark.weighting import formulas

WEIGHTINGS = ("binary", "count", "tf", "log", "tfidf", "log-tfidf", "pivoted")
NORMS = ("l2", None)
_BLOCK = 1 << 16


def weigh(
    counts: Rows,
    statistics: Statistics,
    weighting: str = "tfidf",
    *,
    norm: str | None = "l2",
    slope: float = 0.3,
    into: NDArray[np.float32] | None = None,
) -> Rows:
    """Weigh counts; the statistics are those of the training documents.

    weighting : "binary", "count", "tf" (count over length), "log" (1 + ln tf), "tfidf"
    (tf · (ln((1+N)/(1+df)) + 1)), "log-tfidf" (the same with 1 + ln tf), or "pivoted"
    [Singhal96].  norm : "l2" makes each row a unit vector.  slope : of "pivoted".
    Returns float32 rows of the same shape, sharing columns with the counts; ``into`` is
    where the values go (also the counts' own values, when they are no longer needed).

    >>> from classmark.corpus.statistics import statistics
    >>> from classmark.sparse import rows_from
    >>> counts = rows_from([[3.0, 4.0], [0.0, 1.0]])
    >>> weigh(counts, statistics(counts), "count").values.round(1).tolist()
    [0.6000000238418579, 0.800000011920929, 1.0]
    """
    require_weighting(weighting, norm, slope)
    if len(statistics.document_frequency) != counts.width:
        raise Mistake(
            f"counts have {counts.width} columns, the statistics "
            f"{len(statistics.document_frequency)}: use those of the same vocabulary"
        )
    values = np.empty(counts.nnz, np.float32) if into is None else into
    column = None
    if is_many := counts.nnz >= counts.width:
        column = column_factor(statistics, weighting)
    for first, last in _blocks(counts.starts):
        low, high = counts.starts[first], counts.starts[last]
        starts = counts.starts[first : last + 1] - low
        tf = counts.values[low:high].astype(np.float64)
        weights = local_weights(tf, starts, weighting, slope, statistics.average_unique)
        here = counts.columns[low:high]
        if not is_many:
            factor = column_factor(statistics, weighting, here)
        else:
            factor = None if column is None else column[here]
        if factor is not None:
            weights *= factor
        if norm == "l2":
            weights *= per_row(inverse_norms(weights, starts), starts)
        values[low:high] = weights
    return Rows(counts.starts, counts.columns, values, counts.width)


def require_weighting(weighting: str, norm: str | None, slope: float) -> None:
    """Refuse settings that no formula knows."""
    if weighting not in WEIGHTINGS:
        known = ", ".join(map(repr, WEIGHTINGS))
        raise Mistake(f"weighting is {weighting!r}: choose one of {known}")
    if norm not in NORMS:
        raise Mistake(f"norm is {norm!r}: choose 'l2' or None")
    if not 0.0 <= slope <= 1.0:
        raise Mistake(f"slope is {slope!r}: give a number between 0 and 1")


def column_factor(
    statistics: Statistics, weighting: str, columns: NDArray[np.uint32] | None = None
) -> Floats | None:
    """Return the factor of each term, where the weighting has one; of all, or some."""
    df, n = statistics.document_frequency, statistics.documents
    df = df if columns is None else df[columns]
    if weighting in {"tfidf", "log-tfidf"}:
        return np.asarray(formulas.smooth_idf(df, n))
    if weighting == "pivoted":
        return np.asarray(formulas.plain_idf(np.maximum(df, 1), max(n, 1)))
    return None


def local_weights(
    tf: Floats,
    starts: Ints,
    weighting: str,
    slope: float,
    average_unique: float,
) -> Floats:
    """Weigh the counts of a block by what its documents alone tell."""
    if weighting == "pivoted":
        unique = np.diff(starts)
        total = _sums(tf, starts)
        average_tf = np.divide(
            total, unique, out=np.ones(len(unique)), where=unique > 0
        )
        factor = formulas.pivoted_length(unique, max(average_unique, 1e-300), slope)
        dampened = formulas.pivoted_tf(tf, per_row(average_tf, starts))
        return np.asarray(dampened * per_row(factor, starts))
    if weighting == "tf":
        return np.asarray(formulas.relative(tf, per_row(_sums(tf, starts), starts)))
    chosen: Any = {
        "binary": formulas.binary,
        "log": formulas.logarithmic,
        "log-tfidf": formulas.logarithmic,
    }.get(weighting, np.asarray)
    return np.asarray(chosen(tf))


def _blocks(starts: Ints) -> Iterator[tuple[int, int]]:
    """Cut rows into runs of about ``_BLOCK`` entries, which stay in the cache."""
    first, n = 0, len(starts) - 1
    while first < n:
        last = int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1
        last = min(max(last, first + 1), n)
        yield first, last
        first = last


def _sums(values: Floats, starts: Ints) -> Floats:
    """Sum each row; an empty row has 0."""
    full = np.flatnonzero(np.diff(starts))
    sums = np.zeros(len(starts) - 1)
    if len(full):
        sums[full] = np.add.reduceat(values, starts[full])
    return sums


def per_row(values: Floats, starts: Ints) -> Floats:
    """Repeat a row's value for each of its entries."""
    return np.repeat(values, np.diff(starts))


def inverse_norms(weights: Floats, starts: Ints) -> Floats:
    """Return 1 / ‖row‖, or 0 for a row without weight."""
    norms = np.sqrt(_sums(weights * weights, starts))
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
