"""How many clusters? As many as keep documents nearest to their own."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.clusters.kmeans import SphericalKMeans, meet
from classmark.clusters.rows import directions, lengths_of, squares, sums_of, unit_rows
from classmark.problems import Mistake
from classmark.randomness import Seed
from classmark.sparse import Rows, take

TRIED = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)
LEAST = 5  # documents a cluster should have on average


def silhouette(X: Any, labels: Any) -> float:
    """How much nearer documents are to their own cluster than to the next, −1 to 1.

    The mean of (b − a)/max(a, b): a = 1 − the cosine to the sum of the *other*
    documents of the own cluster, b = 1 − the greatest cosine to another centre; 0 for
    a document alone in its cluster. This is the simplified silhouette [Hruschka04] with
    the document left out of its own centre, or small clusters would always win.

    >>> silhouette([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0, 0, 1, 1])
    1.0
    """
    rows = unit_rows(X).rows
    names, own = np.unique(np.asarray(labels), return_inverse=True)
    if len(own) != len(rows):
        raise Mistake(f"labels are {len(own)} for {len(rows)} documents: give one each")
    if len(names) < 2:
        raise Mistake("labels name one cluster: a silhouette needs two or more")
    sums = sums_of(rows, own, len(names))
    met = meet(rows, directions(sums))
    other = np.where(met.which == own, met.second, met.best)
    near = 1.0 - _to_the_rest(rows, own, sums)
    far = 1.0 - other
    widest = np.maximum(np.maximum(near, far), 1e-12)
    alone = np.bincount(own)[own] == 1
    return float(np.where(alone, 0.0, (far - near) / widest).mean())


def choose_n_clusters(
    X: Any, candidates: Iterable[int] | None = None, *, random_state: Seed = 0
) -> int:
    """The number of clusters, of a few, with the greatest silhouette.

    Each is tried with one start of spherical k-means. candidates : by default 2 to 20,
    as long as a cluster has five documents on average; the smallest of equal ones.
    """
    n = unit_rows(X).rows.shape[0]
    usual = [k for k in TRIED if k == 2 or k * LEAST <= n]
    given = usual if candidates is None else candidates
    able = isinstance(given, Iterable) and not isinstance(given, str)
    tried = list(dict.fromkeys(given)) if able else []
    if not tried or not all(isinstance(k, Integral) and 2 <= k <= n for k in tried):
        raise Mistake(
            f"candidates are {given!r} for {n} documents: give a list of whole numbers "
            f"from 2 to {n}"
        )
    tried = sorted(int(k) for k in tried)
    worth = [
        silhouette(
            X, SphericalKMeans(k, n_init=1, random_state=random_state).fit(X).labels_
        )
        for k in tried
    ]
    return tried[int(np.argmax(worth))]


def _to_the_rest(rows: Rows, own: Ints, sums: Any) -> Floats:
    """Cosine of each row with the sum of its cluster without it."""
    dots = np.zeros(len(rows))
    for cluster in range(sums.shape[0]):
        members = np.flatnonzero(own == cluster)
        center = np.asarray(sums[cluster].todense()).ravel()
        dots[members] = take(rows, members).to_scipy() @ center
    own_squares = squares(rows)
    left = lengths_of(sums)[own] ** 2 - 2.0 * dots + own_squares
    length = np.sqrt(np.maximum(left, 0.0))
    return np.divide(
        dots - own_squares, length, out=np.zeros(len(rows)), where=length > 1e-6
    )
