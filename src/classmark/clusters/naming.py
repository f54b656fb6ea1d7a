"""What is a cluster about? The terms that tell it from its sisters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from classmark.clusters.rows import scaled, sums_of, unit_rows
from classmark.problems import Mistake
from classmark.validation import renamed, require_k


@renamed(top="k")
def name_clusters(
    X: Any, labels: Any, feature_names: Sequence[str], k: int = 5
) -> list[tuple[str, ...]]:
    """The terms of each cluster, weightiest first, from cluster 0 to the last.

    weight of t in c = mean of x_t over the cluster − mean of x_t over the rest, of unit
    rows: what is common to all sisters counts for none. Terms that are no more frequent
    in the cluster than in the rest are left out, so there may be fewer than ``k``.
    labels : numbers from 0.

    >>> X = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    >>> name_clusters(X, [0, 1], ["library", "bees", "bread"], k=2)
    [('bees',), ('bread',)]
    """
    unit, clusters = unit_rows(X), np.asarray(labels)
    if len(clusters) != len(unit.rows):
        raise Mistake(
            f"labels are {len(clusters)} for {len(unit.rows)} documents: give one each"
        )
    if len(feature_names) != unit.width:
        raise Mistake(
            f"feature_names are {len(feature_names)} for {unit.width} features: give "
            "one each"
        )
    if clusters.dtype.kind not in "iu" or clusters.min() < 0:
        raise Mistake("labels are to be whole numbers from 0 up, as labels_ are")
    require_k(k, "term")
    n_clusters = int(clusters.max()) + 1
    sums = sums_of(unit.rows, clusters, n_clusters).tocsr()
    sizes = np.bincount(clusters, minlength=n_clusters)
    total = np.asarray(sums.sum(axis=0)).ravel()
    means = scaled(sums, 1.0 / np.maximum(sizes, 1))
    named = []
    for cluster in range(n_clusters):
        begin, end = sums.indptr[cluster : cluster + 2]
        terms, here = sums.indices[begin:end], sums.data[begin:end]
        rest = (total[terms] - here) / max(len(clusters) - int(sizes[cluster]), 1)
        weights = means.data[begin:end] - rest
        best = np.lexsort((terms, -weights))[:k]
        chosen = [int(unit.used[terms[t]]) for t in best if weights[t] > 1e-9]
        named.append(tuple(str(feature_names[column]) for column in chosen))
    return named
