"""How much meaning counts beside words: chosen by rankings of documents held out."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from classmark.arrays import Floats, Ints, Rows, rows_from, take
from classmark.corpus.documents import cross_validate, folds
from classmark.measures.categories import category_ranking_per_document
from classmark.preferences.labels import labels_from
from classmark.rankers.linear import LinearRanker
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer

Ranker = TypeVar("Ranker", bound=LinearRanker)
WEIGHTS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
ENOUGH = 200  # documents with labels; with fewer, the source's own weight stays
SAMPLE = 1600  # documents that are looked at, at most
JUDGED = 400  # documents held out, about
FOLDS = 3
TOL = 0.05  # of the duality gap; a trial need not be learned more exactly
SCORES = 5_000_000  # of documents held out, at most


def rescaled(X: Any, first: int, factor: float) -> Rows:
    """The same rows, values from column ``first`` on multiplied by a factor.

    >>> rescaled([[1.0, 2.0]], 1, 0.5).values.tolist()
    [1.0, 1.0]
    """
    rows = rows_from(X)
    scale = np.where(rows.columns >= first, factor, 1.0).astype(rows.values.dtype)
    return replace(rows, values=rows.values * scale)


def weigh_meaning(
    vectorizer: Vectorizer, ranker: LinearRanker, X: Any, Y: Any
) -> tuple[Any, LinearRanker]:
    """Choose the weight of meaning for a ranker; return its rows and the ranker.

    vectorizer : fitted, X being the rows of its texts and Y their labels; its weight
    becomes the chosen one;  ranker : unfitted; the descriptions of categories that it
    may have are rescaled as X is. Where there is enough to choose by, what the ranker
    leaves open is chosen first, at the weight there is, and not once more. Without
    vectors, and where scores are no sum over columns, all stays as it is.
    """
    block = vectorizer.meaning_
    if block is None or not ranker.weighs_columns:
        return X, ranker
    rows, first = rows_from(X), vectorizer.meaning_columns.start
    labels = labels_from(Y, len(rows))
    if _with_labels(labels) < ENOUGH:
        return X, ranker
    ranker = settled(ranker, rows, labels)
    weight = choose_weight(ranker, rows, labels, first, block.weight)
    if weight == block.weight:
        return X, ranker
    vectorizer.meaning_ = replace(block, weight=weight)
    factor = weight / block.weight
    return rescaled(rows, first, factor).to_scipy(), _at(ranker, first, factor)


def settled(ranker: Ranker, rows: Rows, labels: Rows) -> Ranker:
    """A copy that has what ``fit`` would choose for these documents, if anything."""
    choose = getattr(ranker, "chosen", None)
    if choose is None:
        return ranker
    return copy(ranker).set_params(**choose(rows, labels)._asdict())


def choose_weight(
    ranker: LinearRanker, X: Any, Y: Any, first: int, weight: float
) -> float:
    """The one of ``WEIGHTS`` at which the ranker ranks documents held out best.

    By mean average precision, on about 400 of at most 1,600 documents with labels; with
    fewer than 200 of them it is ``weight``. The ranker learns once for each part held
    out, at ``weight``, and s = s_words + (v / weight)² s_meaning stands for its scores
    at another weight v: so they are where prototypes are sums of rows, and nearly so
    where margins are learned.

    X : (n, features), columns from ``first`` on being meaning of length ``weight``.
    """
    rows = rows_from(X)
    labels = labels_from(Y, len(rows))
    if _with_labels(labels) < ENOUGH:
        return weight
    labelled = np.flatnonzero(np.diff(labels.starts))
    if len(labelled) > SAMPLE:
        labelled = np.sort(generator(0).choice(labelled, SAMPLE, replace=False))
    most = max(SCORES // labels.width, 1)
    splits = list(folds(len(labelled), FOLDS))[: -(-JUDGED * FOLDS // len(labelled))]
    tasks = [(learn, out[:most]) for learn, out in splits]
    trial = copy(ranker)
    if hasattr(ranker, "chosen"):
        trial.set_params(tol=TOL)
    shared = (trial, take(rows, labelled), take(labels, labelled), first, weight)
    _, precisions = cross_validate(_precisions, tasks, shared, "weights of meaning")
    return WEIGHTS[int(np.argmax(precisions.mean(axis=0)))]


def _with_labels(labels: Rows) -> int:
    """How many documents have a label."""
    return int(np.count_nonzero(np.diff(labels.starts)))


def _precisions(
    task: tuple[Ints, Ints],
    ranker: LinearRanker,
    rows: Rows,
    labels: Rows,
    first: int,
    weight: float,
) -> Floats:
    """Average precision of documents held out at each weight, shape (n, weights)."""
    learn, out = task
    fitted = copy(ranker).fit(take(rows, learn), take(labels, learn))
    documents, truth = take(rows, out), take(labels, out)
    words = fitted.decision_function(rescaled(documents, first, 0.0))
    meaning = fitted.decision_function(documents) - words
    return np.column_stack(
        [
            category_ranking_per_document(
                words + (other / weight) ** 2 * meaning, truth
            )["average_precision"]
            for other in WEIGHTS
        ]
    )


def _at(ranker: LinearRanker, first: int, factor: float) -> LinearRanker:
    """A copy whose descriptions, if it has any, are rescaled as documents are."""
    other = copy(ranker)
    if (said := getattr(ranker, "descriptions", None)) is not None:
        other.descriptions = rescaled(said, first, factor)  # type: ignore[attr-defined]
    return other
