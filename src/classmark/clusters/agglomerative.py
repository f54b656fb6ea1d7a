"""Agglomerative: the two nearest groups become one, until few are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.clusters.kmeans import SphericalKMeans
from classmark.clusters.rows import require_count, sums_of, unit_rows
from classmark.estimator import Estimator
from classmark.problems import Mistake
from classmark.sparse import Rows
from classmark.validation import Seed, require_numbers


@dataclass(frozen=True, slots=True)
class Dendrogram:
    """n groups merged two by two, in order of height, as scipy's linkage says it.

    pairs : (n − 1, 2), the groups joined by each merge: below n the first ones, n + m
    what merge m has made;  heights : (n − 1,), never falling;  sizes : (n,) of the
    first groups.
    """

    pairs: Ints
    heights: Floats
    sizes: Floats

    def __len__(self) -> int:
        return len(self.sizes)

    def cut(self, k: int) -> Ints:
        """The clusters when k are left: numbers from 0 in order of first appearance.

        >>> pairs, heights = np.array([[0, 2], [1, 3]]), np.array([0.1, 0.9])
        >>> tree = Dendrogram(pairs, heights, np.ones(3))
        >>> tree.cut(2).tolist()
        [0, 1, 0]
        """
        require_count("k", k, len(self))
        return self._after(len(self) - k)

    def cut_at(self, height: float) -> Ints:
        """The clusters when all merges up to a height are made."""
        if not height >= 0:
            raise Mistake(f"height is {height}: give a distance from 0 up")
        return self._after(int(np.searchsorted(self.heights, height, side="right")))

    def _after(self, merges: int) -> Ints:
        n = len(self)
        parent = np.arange(n + merges)
        for merge in range(merges):
            parent[self.pairs[merge]] = n + merge
        for node in range(n + merges - 1, -1, -1):
            parent[node] = parent[parent[node]]
        _, first, inverse = np.unique(
            parent[:n], return_index=True, return_inverse=True
        )
        return np.argsort(np.argsort(first))[inverse]


def dendrogram_of(
    left: Ints, right: Ints, heights: Floats, sizes: Floats
) -> Dendrogram:
    """Put merges of slots in order of height; a merge is kept in its right slot."""
    n = len(sizes)
    parent = np.arange(2 * n - 1)
    pairs = np.empty((n - 1, 2), np.int64)
    order = np.argsort(heights, kind="stable")
    for merge, m in enumerate(order):
        pair = sorted((_top(parent, int(left[m])), _top(parent, int(right[m]))))
        pairs[merge] = pair
        parent[pair] = n + merge
    return Dendrogram(pairs, heights[order], sizes)


def _top(parent: Ints, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = int(parent[node])
    return node


LINKAGES = ("average", "ward")
PASSES = 5  # of k-means, where it only makes small clusters


class Agglomerative(Estimator):
    """A hierarchy of clusters over cosines, cut at a number or at a height.

    linkage "average": the mean of 1 − cosine over the pairs of two clusters; "ward":
    √(2|A||B|/(|A|+|B|)) ‖mean of A − mean of B‖ of unit rows [Ward63]. Found along
    chains of nearest neighbours [Murtagh83] in O(n²) time and 8 n² bytes of memory.
    Above ``limit`` documents, spherical k-means first makes ``micro`` small clusters,
    and these are merged, by the same distances between their documents; with ``micro``
    None, so many are refused.

    n_clusters, threshold : give one of them.
    labels_ (n,) : numbered in order of first appearance;  tree_ : a ``Dendrogram``;
    groups_ (n,) : its group of each document.

    >>> X = [[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]]
    >>> model = Agglomerative(2, linkage="average").fit(X)
    >>> model.labels_.tolist(), model.tree_.heights.round(3).tolist()
    ([0, 1, 0], [0.2, 0.7])
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        threshold: float | None = None,
        linkage: str = "ward",
        limit: int = 5000,
        micro: int | None = 1000,
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.threshold = threshold
        self.linkage = linkage
        self.limit = limit
        self.micro = micro
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's manner)
        """Cluster documents X, shape (n, features); their lengths do not matter."""
        rows = unit_rows(X).rows
        self._require(len(rows))
        self.groups_ = self._groups(rows)
        self.tree_ = merged(rows, self.groups_, self.linkage)
        if self.threshold is None:
            cut = self.tree_.cut(self.n_clusters or 1)
        else:
            cut = self.tree_.cut_at(self.threshold)
        _, first, labels = np.unique(
            cut[self.groups_], return_index=True, return_inverse=True
        )
        self.labels_: Ints = np.argsort(np.argsort(first))[labels]
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Ints:
        """Cluster documents and return the cluster of each, shape (n,)."""
        return self.fit(X, y).labels_

    def _require(self, n: int) -> None:
        if (self.n_clusters is None) == (self.threshold is None):
            raise Mistake("give n_clusters or threshold, one of them")
        require_numbers(self, "limit", whole=True)
        require_numbers(self, "n_clusters", "micro", whole=True, or_none=True)
        require_numbers(self, "threshold", or_none=True)
        if self.linkage not in LINKAGES:
            raise Mistake(f"linkage is {self.linkage!r}: use {', '.join(LINKAGES)}")
        if n <= self.limit:
            groups = n
        elif self.micro is None:
            raise Mistake(
                f"X has {n} documents, and {8 * n * n / 2**30:.1f} GiB of distances: "
                f"raise limit ({self.limit}), or let micro clusters be merged"
            )
        else:
            require_count("micro", self.micro, n)
            groups = self.micro
        if self.n_clusters is not None:
            require_count("n_clusters", self.n_clusters, groups)

    def _groups(self, rows: Rows) -> Ints:
        if len(rows) <= self.limit or self.micro is None:
            return np.arange(len(rows))
        small = SphericalKMeans(
            self.micro, n_init=1, max_iter=PASSES, random_state=self.random_state
        )
        return small.fit(rows).labels_


def merged(rows: Rows, groups: Ints, linkage: str = "average") -> Dendrogram:
    """Merge groups of unit rows, numbered from 0, until one is left."""
    from classmark.clusters.kernels import chain

    ward = linkage == "ward"
    sizes = np.bincount(groups).astype(np.float64)
    D = _distances(rows, groups, sizes, ward)
    n = len(sizes)
    left, right = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64)
    heights = np.empty(n - 1)
    chain(D, sizes.copy(), ward, left, right, heights)
    heights = np.maximum(heights, 0.0)
    return dendrogram_of(left, right, np.sqrt(heights) if ward else heights, sizes)


def _distances(rows: Rows, groups: Ints, sizes: Floats, ward: bool) -> Any:
    """Distances of all groups, (n, n); of "ward", their squares."""
    n = len(sizes)
    if n == len(rows):
        sums = rows.to_scipy().astype(np.float64)
    else:
        sums = sums_of(rows, groups, n)
    D = (sums @ sums.T).toarray()
    D /= sizes[:, None]
    D /= sizes[None, :]
    if ward:
        squares = D.diagonal().copy()
        np.multiply(D, -2.0, out=D)
        D += squares[:, None]
        D += squares[None, :]
        D *= 2.0 * sizes[:, None]
        D *= sizes[None, :] / (sizes[:, None] + sizes[None, :])
    else:
        np.subtract(1.0, D, out=D)
    np.fill_diagonal(D, np.inf)
    return D
