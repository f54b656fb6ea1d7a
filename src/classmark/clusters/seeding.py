"""Where do the clusters begin? At documents that are far from each other."""

from __future__ import annotations

from math import log

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.clusters.rows import squares
from classmark.sparse import Rows, transpose

MANY = 100  # clusters, from which on one document is tried at each step


def spread_documents(rows: Rows, k: int, rng: np.random.Generator) -> Ints:
    """Numbers of k documents, by k-means++ on the cosine [ArthurVassilvitskii07].

    Each is drawn with chances as 1 − (greatest cosine to those before it), which is
    half the squared distance of unit rows; of 2 + ln k drawn, that one is taken which
    leaves the least of it. A document meets all others by the lists of its terms.
    """
    from classmark.clusters.kernels import products

    lists = transpose(rows)
    met = np.zeros(len(rows), rows.values.dtype)

    def left_after(document: int, far: Floats) -> Floats:
        columns, values = rows.row(document)
        products(columns, values, lists.starts, lists.columns, lists.values, met)
        return np.minimum(far, np.maximum(1.0 - met, 0.0))

    tried = 1 if k >= MANY else 2 + int(log(k))
    filled = squares(rows) > 0
    chosen = [_any(filled, rng)]
    far = left_after(chosen[0], filled.astype(np.float64))
    free = np.ones(len(rows), bool)
    for _ in range(1, k):
        far[chosen[-1]], free[chosen[-1]] = 0.0, False
        if far.sum() > 0:
            drawn = rng.choice(len(rows), tried, p=far / far.sum())
            after = [left_after(int(document), far) for document in drawn]
            place = int(np.argmin([rest.sum() for rest in after]))
            chosen.append(int(drawn[place]))
            far = after[place]
        else:
            chosen.append(_any(free, rng))
    return np.array(chosen, np.int64)


def _any(
    mask: np.ndarray[tuple[int], np.dtype[np.bool_]], rng: np.random.Generator
) -> int:
    """One of the documents of a mask; of all, where it has none."""
    places = np.flatnonzero(mask if mask.any() else ~mask)
    return int(rng.choice(places))
