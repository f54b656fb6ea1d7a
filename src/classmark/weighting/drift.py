"""How far have the statistics drifted, and what does a text take out of them?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.sparse import Rows


class Drift(NamedTuple):
    """How far what was learned is from the weights in force.

    documents : how many were learned since the last re-weighting (less those forgotten)
    new_terms : share of the terms that came since, so have no statistics in force
    shift : Σ_t cf_t |f_t − f'_t| / Σ_t cf_t: by how much re-weighting would change the
        factor (idf) of a term, on average over all occurrences; 0 without idf
    """

    documents: int
    new_terms: float
    shift: float


def restricted(counts: Rows, columns: NDArray[np.uint32], most: Any) -> Rows:
    """The counts of one text in these columns only: at least 1 each, at most ``most``.

    >>> one = np.array([0, 2]), np.array([3, 5], np.uint32), np.array([2.0, 1.0])
    >>> restricted(Rows(*one, 9), np.array([1, 3], np.uint32), [1, 5]).values.tolist()
    [1.0, 2.0]
    """
    times = np.ones(len(columns))
    _, mine, other = np.intersect1d(columns, counts.columns, return_indices=True)
    times[mine] = counts.values[other]
    ends = np.array([0, len(columns)])
    times = np.minimum(times, most).astype(np.float32)
    return Rows(ends, columns, times, counts.width)
