"""How much reading does an order save, when most of the relevant must be found?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def recall_curve(relevant: ArrayLike) -> Floats:
    """Return the recall after reading 0, 1, … n documents in the order given.

    relevant : shape (n,), whether the documents are relevant, in reading order (from
    scores: ``relevant[order(scores)]``). The result has shape (n + 1,).

    >>> recall_curve([1, 0, 1]).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    found = np.asarray(relevant).astype(bool)
    if found.ndim != 1 or not found.any():
        raise Mistake(
            "relevant: give one flag a document, in reading order, at least one true"
        )
    return np.concatenate([[0.0], np.cumsum(found) / found.sum()])


def documents_read(relevant: ArrayLike, recall: float = 0.95) -> int:
    """Return how many documents are read until the recall is reached.

    >>> documents_read([1, 0, 1, 0], recall=0.5)
    1
    """
    if not 0 < recall <= 1:
        raise Mistake(f"recall is {recall}: give a share above 0 and up to 1")
    found = np.cumsum(np.asarray(relevant).astype(bool))
    recall_curve(relevant)
    wanted = math.ceil(round(recall * int(found[-1]), 9))
    return int(np.searchsorted(found, wanted)) + 1


def work_saved(relevant: ArrayLike, recall: float = 0.95) -> float:
    """Return the work saved over sampling, WSS@recall [CohenHersh06].

    WSS@r = (n − read)/n − (1 − r), read = documents read until the recall is r. Reading
    at random saves 0 on average.

    >>> round(work_saved([1, 1, 0, 0, 0, 0, 0, 0, 0, 0], recall=0.95), 2)
    0.75
    """
    n = len(np.asarray(relevant))
    return (n - documents_read(relevant, recall)) / n - (1 - recall)
