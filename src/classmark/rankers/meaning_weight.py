"""How much meaning counts beside words: chosen by rankings of documents held out."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from classmark.arrays import Floats, Ints, Rows, rows_from, take
from classmark.corpus.documents import cross_validate, folds
from classmark.measures.categories import category_ranking_per_document
from classmark.preferences.labels import labels_from
from classmark.rankers.linear import LinearRanker
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer

WEIGHTS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
ENOUGH = 200  # documents with labels; with fewer, the source's own weight stays
SAMPLE = 2000  # documents that are looked at, at most
JUDGED = 600  # documents held out, about
FOLDS = 3


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
    may have are rescaled as X is. Without vectors all stays as it is.
    """
    block = vectorizer.meaning_
    if block is None:
        return X, ranker
    rows, first = rows_from(X), vectorizer.meaning_columns.start
    weight = choose_weight(ranker, rows, Y, first, block.weight)
    vectorizer.meaning_ = replace(block, weight=weight)
    factor = weight / block.weight
    return rescaled(rows, first, factor).to_scipy(), _at(ranker, first, factor)


def choose_weight(
    ranker: LinearRanker, X: Any, Y: Any, first: int, weight: float
) -> float:
    """The one of ``WEIGHTS`` at which the ranker ranks documents held out best.

    By mean average precision, on about 600 of at most 2,000 documents with labels; with
    fewer than 200 of them it is ``weight``.

    X : (n, features), columns from ``first`` on being meaning of length ``weight``.
    """
    rows = rows_from(X)
    labels = labels_from(Y, len(rows))
    known = np.flatnonzero(np.diff(labels.starts))
    if len(known) < ENOUGH:
        return weight
    if len(known) > SAMPLE:
        known = np.sort(generator(0).choice(known, SAMPLE, replace=False))
    splits = list(folds(len(known), FOLDS))[: -(-JUDGED * FOLDS // len(known))]
    tasks = [(*split, other) for other in WEIGHTS for split in splits]
    shared = (ranker, take(rows, known), take(labels, known), first, weight)
    _, precisions = cross_validate(_precisions, tasks, shared, "weights of meaning")
    means = precisions.reshape(-1, len(WEIGHTS)).mean(axis=0)
    return WEIGHTS[int(np.argmax(means))]


def _precisions(
    task: tuple[Ints, Ints, float],
    ranker: LinearRanker,
    rows: Rows,
    labels: Rows,
    first: int,
    weight: float,
) -> Floats:
    """Average precision of each document held out, learned at another weight."""
    learn, out, other = task
    factor = other / weight
    scaled, fitted = rescaled(rows, first, factor), _at(ranker, first, factor)
    fitted.fit(take(scaled, learn), take(labels, learn))
    scores = fitted.decision_function(take(scaled, out))
    return category_ranking_per_document(scores, take(labels, out))["average_precision"]


def _at(ranker: LinearRanker, first: int, factor: float) -> LinearRanker:
    """A copy whose descriptions, if it has any, are rescaled as documents are."""
    other = copy(ranker)
    if (said := getattr(ranker, "descriptions", None)) is not None:
        other.descriptions = rescaled(said, first, factor)  # type: ignore[attr-defined]
    return other
