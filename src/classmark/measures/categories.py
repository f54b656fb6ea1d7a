"""Where do a document's own categories stand among all the ranked ones?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.judgments.labels import labels_from
from classmark.problems import Mistake
from classmark.ranking import numbers, order
from classmark.sparse import Rows

BLOCK = 1 << 18  # scores looked at together
FEW = 64  # up to so many labels, counting for each is faster than sorting all scores


@dataclass(frozen=True, slots=True)
class RelevantRanks:
    """The ranks of the relevant labels of each document: all that the measures need.

    sizes : (n,), relevant labels a document;  ranks : (m,), increasing in each
    document, the first rank being 1, ties by label index;  above : (m,), irrelevant
    labels with a score at least as high;  n_labels : k.
    """

    sizes: Ints
    ranks: Ints
    above: Ints
    n_labels: int

    def __len__(self) -> int:
        return len(self.sizes)


def rank_relevant(scores: ArrayLike, Y: Any) -> RelevantRanks:
    """Find the ranks of the relevant labels, without sorting all the scores.

    scores : (n, k);  Y : n×k indicator, sparse or not, lists of label indices, or Rows
    of grades, relevant where the grade is above 0.

    >>> rank_relevant([[0.1, 0.9, 0.5]], [[0, 2]]).ranks.tolist()
    [2, 3]
    """
    table = numbers(scores)
    if table.ndim != 2:
        raise Mistake("scores has 1 dimension: give one row of label scores a document")
    n, k = table.shape
    labels = relevant(Y, n, k)
    ranks, above = relevant_ranks(table, labels.starts, labels.columns)
    return RelevantRanks(np.diff(labels.starts), ranks, above, k)


def relevant_ranks(
    scores: Array, starts: Ints, columns: NDArray[np.uint32]
) -> tuple[Ints, Ints]:
    """Rank of each relevant label, and how many irrelevant ones are not below it.

    scores : (n, k);  starts : (n + 1,), columns : (m,), the relevant labels of each
    document. Both results are (m,), best first in each document: the rank of y,
    1 + #{j : s_j > s_y, or s_j = s_y and j < y}, and #{j irrelevant : s_j ≥ s_y}.
    """
    sizes, k = np.diff(starts), scores.shape[1]
    document = np.repeat(np.arange(len(scores)), sizes)
    ranks, reached = np.empty((2, len(columns)), np.int64)
    few, step = np.flatnonzero(sizes[document] <= FEW), max(1, BLOCK // max(1, k))
    for first in range(0, len(few), step):
        part = few[first : first + step]
        ranks[part], reached[part] = _by_counting(scores[document[part]], columns[part])
    for i in np.flatnonzero(sizes > FEW):
        own = slice(starts[i], starts[i + 1])
        ranks[own], reached[own] = _by_sorting(scores[i], columns[own])
    best_first = np.argsort(document * (k + 1) + ranks)
    ranks, reached = ranks[best_first], reached[best_first]
    tied = document * (k + 1) + reached  # the same for labels of one score
    relevant_reached = np.searchsorted(tied, tied, side="right") - starts[document]
    return ranks, reached - relevant_reached


def _by_counting(scores: Array, labels: NDArray[np.uint32]) -> tuple[Ints, Ints]:
    """Compare one label of each row with all: its rank, and #{j : s_j ≥ s_y}."""
    own = scores[np.arange(len(scores)), labels][:, np.newaxis]
    reached = _counted(scores >= own)
    equal = scores == own
    if np.count_nonzero(equal) == len(scores):
        return reached, reached
    tied = np.flatnonzero(_counted(equal) > 1)
    behind = np.arange(scores.shape[1], dtype=np.uint32) > labels[tied, np.newaxis]
    ranks = reached.copy()
    ranks[tied] -= _counted(equal[tied] & behind)
    return ranks, reached


def _counted(true: Bools) -> Ints:
    """How many are true in each row, in half the time of ``np.count_nonzero``."""
    counts = true.view(np.uint8).sum(axis=1, dtype=np.uint32)
    return np.asarray(counts, np.int64)


def _by_sorting(scores: Array, labels: NDArray[np.uint32]) -> tuple[Ints, Ints]:
    """Sort the scores of one document: its labels' ranks, and #{j : s_j ≥ s_y}."""
    k = len(scores)
    best_first = order(scores)
    rank = np.empty(k, np.int64)
    rank[best_first] = np.arange(1, k + 1)
    rising = scores[best_first[::-1]]
    return rank[labels], k - np.searchsorted(rising, scores[labels])


def relevant(
    Y: Any, n_documents: int | None = None, n_labels: int | None = None
) -> Rows:
    """Read labels of any form and keep those with a grade above 0."""
    labels = labels_from(Y, n_documents, n_labels)
    kept = labels.values > 0
    if kept.all():
        return labels
    counted = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    columns, values = labels.columns[kept], labels.values[kept]
    return Rows(counted[labels.starts], columns, values, labels.width)


def per_document(found: RelevantRanks) -> dict[str, Floats]:
    """Every measure of every document, NaN where it is left out of the mean.

    With Y the relevant labels of k, E = {(r, s) : r ∈ Y, s ∉ Y, score r ≤ score s}:
    Loss1 = [E ≠ ∅], Loss2 = #E, Loss3 = #E / (#Y·(k − #Y)), 0 when all labels are
    relevant; OneError = [the first label ∉ Y]; Coverage = largest rank of Y − 1;
    AP = mean over y ∈ Y of #{y' ∈ Y : rank y' ≤ rank y} / rank y; MaxF1 = the largest
    over r of 2·P(r)·R(r) / (P(r) + R(r)) [CrammerSinger03]. Domination = share of Y not
    above all others, Dominated = share of the others not below all of Y
    [DekelManningSinger03]. Each value has shape (n,).
    """
    some = found.sizes > 0
    m = found.sizes[some]
    starts = np.cumsum(m) - m
    place = np.arange(1, len(found.ranks) + 1) - np.repeat(starts, m)
    ends = starts + m - 1
    pairs = _at(some, np.add.reduceat(found.above, starts) if m.size else m, 0.0)
    others = np.maximum(found.n_labels - m, 1)
    f1 = 2 * place / (found.ranks + np.repeat(m, m))
    return {
        "Loss1": (pairs > 0).astype(np.float64),
        "Loss2": pairs,
        "Loss3": _at(some, pairs[some] / (m * others)),
        "Domination": _at(some, _mean(found.above > 0, starts, m)),
        "Dominated": _at(some, found.above[ends] / others),
        "OneError": _at(some, found.ranks[starts] > 1, 1.0),
        "Coverage": _at(some, found.ranks[ends] - 1.0),
        "AP": _at(some, _mean(place / found.ranks, starts, m)),
        "MaxF1": _at(some, np.maximum.reduceat(f1, starts) if m.size else f1),
    }


def _at(some: Bools, values: Array, rest: float = np.nan) -> Floats:
    """Values of the documents that have labels, ``rest`` for those that have none."""
    filled = np.full(len(some), rest)
    filled[some] = values
    return filled


def _mean(values: Array, starts: Array, sizes: Array) -> Floats:
    if not sizes.size:
        return np.empty(0)
    return np.asarray(np.add.reduceat(values.astype(np.float64), starts) / sizes)
