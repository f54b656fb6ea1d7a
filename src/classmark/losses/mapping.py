"""What a ranking costs under a cost mapping: how many groups have a violated edge."""

from __future__ import annotations

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.sparse import Rows


def violated_groups(scores: Floats, levels: Rows, mapping: str) -> Floats:
    """Per document, the groups of the mapping with an unsatisfied preference.

    scores : (n, labels), for "svm" with the thresholds taken off;  levels : Rows of
    levels 1, 2, … as :func:`classmark.preferences.levels.levels_from` gives them
    [AiolliSebastianiSperduti08]. Ties are violations.

    >>> from classmark.preferences.levels import levels_from
    >>> violated_groups(np.array([[1.0, 2.0, 0.0]]), levels_from([[0, 2]]), "dom")
    array([2.])
    """
    place = levels.to_scipy().toarray()
    if mapping == "svm":
        wrong = np.where(place > 0, scores <= 0, scores >= 0)
        return np.asarray(wrong.sum(axis=1), dtype=np.float64)
    if mapping not in _PARTS:
        raise Mistake(
            f"mapping {mapping!r} has no count of its own: use {list(_PARTS)}"
        )
    total = np.zeros(len(scores))
    for part in _PARTS[mapping]:
        total += part(scores, place)
    return total


def _dominating(scores: Floats, place: Floats) -> Floats:
    """Labels that are not above all labels of lower levels."""
    wrong = np.zeros(len(scores))
    for level in _levels(place):
        best_below = np.where(place < level, scores, -np.inf).max(axis=1)
        here = place == level
        wrong += (here & (scores <= best_below[:, None])).sum(axis=1)
    return wrong


def _dominated(scores: Floats, place: Floats) -> Floats:
    """Labels that are not below all labels of higher levels."""
    wrong = np.zeros(len(scores))
    for level in [0.0, *_levels(place)[:-1]]:
        worst_above = np.where(place > level, scores, np.inf).min(axis=1)
        here = place == level
        wrong += (here & (scores >= worst_above[:, None])).sum(axis=1)
    return wrong


def _pairs(scores: Floats, place: Floats) -> Floats:
    """Pairs in the wrong order."""
    wrong = np.zeros(len(scores))
    for i in range(len(scores)):
        for label in np.flatnonzero(place[i] > 0):
            below = place[i] < place[i, label]
            wrong[i] += (scores[i, below] >= scores[i, label]).sum()
    return wrong


_PARTS = {
    "dis": (_pairs,),
    "dom": (_dominating,),
    "dme": (_dominated,),
    "dom-dme": (_dominating, _dominated),
}


def _levels(place: Floats) -> list[float]:
    return [float(level) for level in np.unique(place) if level > 0]
