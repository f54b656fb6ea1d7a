"""Choosing: how far may a taxonomy ranker move from its prototypes?"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats
from classmark.corpus.splits import folds
from classmark.sparse import Rows, take
from classmark.spreading import spread

if TYPE_CHECKING:
    from classmark.hierarchies.ranker import TaxonomyRanker


class Setting(NamedTuple):
    """C, the price of a margin missed, and how long the prototypes are."""

    C: float
    center: float


FEW = 8.0  # documents per label: below, margins are not to be trusted
NEAR = Setting(0.03, 5.0)
FREE = Setting(1.0, 2.0)
BETWEEN = Setting(0.3, 5.0)
JUDGED = 2000  # documents held out, about
FOLDS = 3


def chosen(ranker: TaxonomyRanker, rows: Rows, labels: Rows) -> Setting:
    """Choose C and center from documents (n, features) and their labels (n, k).

    With fewer than 8 documents per label that has any, stay near the prototypes: C .03,
    center 5. Margins learned from so few do not carry over to other texts, and holding
    some of them out would leave too few to learn from. With more, C 1 and center 2,
    which leaves the margins free; unless C .3 or C .03 with center 5 ranks a right
    label first for more of about 2,000 documents held out, by more than the standard
    error of the difference. A value the ranker was given stays.
    """
    used = np.unique(labels.columns)
    tried = [_given(ranker, setting) for setting in (FREE, BETWEEN, NEAR)]
    if len(labels.columns) < FEW * max(len(used), 1) or len(rows) < 2 * FOLDS:
        return tried[-1]
    distinct = list(dict.fromkeys(tried))
    if len(distinct) == 1:
        return distinct[0]
    fresh = type(ranker)(**ranker.get_params(deep=False))
    hits = spread(_tried, distinct, (fresh, rows, labels), "settings")
    best = max(range(len(distinct)), key=lambda at: hits[at].sum())
    gain = hits[best] - hits[0]
    error = gain.std() * np.sqrt(len(gain))
    return distinct[best] if gain.sum() > error else distinct[0]


def _given(ranker: TaxonomyRanker, setting: Setting) -> Setting:
    return Setting(
        setting.C if ranker.C is None else ranker.C,
        setting.center if ranker.center is None else ranker.center,
    )


def _tried(
    setting: Setting, ranker: TaxonomyRanker, rows: Rows, labels: Rows
) -> Floats:
    return first_is_right(ranker, setting, rows, labels)


def first_is_right(
    ranker: TaxonomyRanker, setting: Setting, rows: Rows, labels: Rows
) -> Floats:
    """1 where the first label of a document held out is one of its own."""
    count = len(rows)
    share = min(count // FOLDS, JUDGED)
    splits = folds(count, count // share, random_state=ranker.random_state)
    hits: list[Floats] = []
    for _, (kept, out) in zip(range(-(-JUDGED // share)), splits, strict=False):
        fitted = copy(ranker).set_params(C=setting.C, center=setting.center)
        fitted.fit(take(rows, kept), take(labels, kept))
        first = fitted.rank(take(rows, out), top=1)[:, 0]
        wanted = take(labels, out)
        own = np.repeat(np.arange(len(wanted)), np.diff(wanted.starts))
        right = np.bincount(own, wanted.columns == first[own], minlength=len(wanted))
        hits.append(right[np.diff(wanted.starts) > 0].astype(np.float64))
    return np.concatenate(hits)
