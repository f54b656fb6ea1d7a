"""Features made comparable between queries."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.rankers.ltr.judged import query_numbers
from classmark.sparse import rows_from

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
    held = table[order]
    if how == "minmax":
        low = np.minimum.reduceat(held, starts)
        wide = np.maximum.reduceat(held, starts) - low
    else:
        low = np.add.reduceat(held, starts) / sizes
        apart = held - np.repeat(low, sizes[:, 0], axis=0)
        wide = np.sqrt(np.add.reduceat(apart**2, starts) / sizes)
    varies = wide > 1e-12 * np.maximum(1.0, np.abs(low))
    scale = np.divide(1.0, wide, out=np.zeros_like(wide), where=varies)
    return np.asarray((table - low[numbers]) * scale[numbers], np.float64)
