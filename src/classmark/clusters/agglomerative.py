"""Agglomerative merging until few groups are left, and near-duplicates by cosine."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from classmark.arrays import Floats, Ints, Rows, take, transpose
from classmark.clusters.kmeans import (
    Clusterer,
    SphericalKMeans,
    in_order,
    require_count,
    sums_of,
    unit_rows,
)
from classmark.estimator import parameters
from classmark.problems import Mistake
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
        return in_order(parent[:n])


def dendrogram_of(
    left: Ints, right: Ints, heights: Floats, sizes: Floats
) -> Dendrogram:
    """Put merges of slots in order of height; a merge is kept in its right slot."""
    n = len(sizes)
    parent = np.arange(2 * n - 1)
    pairs = np.empty((n - 1, 2), np.int64)
    order = np.argsort(heights, kind="stable")

    def top(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = int(parent[node])
        return node

    for merge, m in enumerate(order):
        pairs[merge] = sorted((top(int(left[m])), top(int(right[m]))))
        parent[pairs[merge]] = n + merge
    return Dendrogram(pairs, heights[order], sizes)


USUAL = 8  # clusters, where neither a number nor a height is given
LINKAGES = ("average", "ward")
PASSES = 5  # of k-means, where it only makes small clusters


@parameters()
class Agglomerative(Clusterer):
    """A hierarchy of clusters over cosines, cut at a number or at a height.

    linkage "average": the mean of 1 − cosine over the pairs of two clusters; "ward":
    √(2|A||B|/(|A|+|B|)) ‖mean of A − mean of B‖ of unit rows [Ward63]. Found along
    chains of nearest neighbours [Murtagh83] in O(n²) time and 8 n² bytes of memory.
    Above ``limit`` documents, spherical k-means first makes ``micro`` small clusters,
    and these are merged, by the same distances between their documents; with ``micro``
    None, so many are refused.

    n_clusters, threshold : give one of them; without either, there are eight clusters,
    or as many as documents.
    labels_ (n,) : numbered in order of first appearance;  tree_ : a ``Dendrogram``;
    groups_ (n,) : its group of each document.

    >>> X = [[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]]
    >>> model = Agglomerative(2, linkage="average").fit(X)
    >>> model.labels_.tolist(), model.tree_.heights.round(3).tolist()
    ([0, 1, 0], [0.2, 0.7])
    """

    n_clusters: int | None = None
    _: KW_ONLY
    threshold: float | None = None
    linkage: str = "ward"
    limit: int = 5000
    micro: int | None = 1000
    random_state: Seed = 0

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's manner)
        """Cluster documents X, shape (n, features); their lengths do not matter."""
        rows = unit_rows(self._taught_rows(X)).rows
        self._require(len(rows))
        self.groups_ = np.arange(len(rows))
        if len(rows) > self.limit and self.micro is not None:
            small = SphericalKMeans(
                self.micro, n_init=1, max_iter=PASSES, random_state=self.random_state
            )
            self.groups_ = small.fit_predict(rows)
        self.tree_ = merged(rows, self.groups_, self.linkage)
        if self.threshold is None:
            count = min(USUAL, len(self.tree_))
            cut = self.tree_.cut(count if self.n_clusters is None else self.n_clusters)
        else:
            cut = self.tree_.cut_at(self.threshold)
        self.labels_ = in_order(cut[self.groups_])
        return self

    def _require(self, n: int) -> None:
        if self.n_clusters is not None and self.threshold is not None:
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


ROUNDING = 1e-6  # of a cosine of float32 rows


def near_duplicates(X: Any, threshold: float = 0.8, *, linkage: str = "single") -> Ints:
    """The group of each document, (n,): numbers from 0 in order of first appearance.

    linkage "single": two documents with a cosine of ``threshold`` or more are in one
    group, and so is whoever is joined by a chain of such pairs; "average": such a group
    is merged only as long as the mean cosine between the parts is ``threshold`` or
    more, so that long chains fall apart. Exact, not estimated: pairs are found by the
    lists of rare terms. A document without terms is a group of its own.

    >>> near_duplicates([[3.0, 1.0], [0.0, 1.0], [3.0, 1.1]]).tolist()
    [0, 1, 0]
    """
    if not isinstance(threshold, Real) or not 0 < threshold <= 1:
        raise Mistake(f"threshold is {threshold!r}: give a cosine above 0, up to 1")
    if linkage not in {"single", "average"}:
        raise Mistake(f"linkage is {linkage!r}: use single or average")
    rows = unit_rows(X).rows
    distinct, inverse = np.unique(_same(rows), return_inverse=True)
    groups = _linked(take(rows, distinct), threshold)[inverse]
    if linkage == "single":
        return in_order(groups)
    parts, order = np.zeros(len(groups), np.int64), np.argsort(groups, kind="stable")
    model = Agglomerative(threshold=1.0 - threshold + ROUNDING, linkage="average")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if len(members) > 2:
            parts[members] = model.fit_predict(take(rows, members))
    return in_order(groups * len(groups) + parts)


def _same(rows: Rows) -> Ints:
    """For each row the first that is the same; one without terms is like no other."""
    first_seen: dict[tuple[bytes, bytes], int] = {}
    representative = np.arange(len(rows))
    for i in range(len(rows)):
        columns, values = rows.row(i)
        if len(columns):
            representative[i] = first_seen.setdefault(
                (columns.tobytes(), values.tobytes()), i
            )
    return representative


def _linked(rows: Rows, threshold: float) -> Ints:
    """The first row of the group of each, by chains of pairs."""
    from classmark.clusters.kernels import link

    often = np.bincount(rows.columns, minlength=rows.width)
    number = np.empty(rows.width, np.uint32)
    number[np.argsort(often, kind="stable")] = np.arange(rows.width, dtype=np.uint32)
    mixed = Rows(rows.starts, number[rows.columns], rows.values, rows.width)
    ordered = transpose(transpose(mixed))  # those of few documents first
    parent = np.arange(len(rows), dtype=np.uint32)
    link(
        ordered.starts,
        ordered.columns,
        ordered.values.astype(np.float64),
        ordered.width,
        threshold - ROUNDING,
        parent,
    )
    roots = parent.astype(np.int64)
    for i in range(len(roots)):
        roots[i] = roots[roots[i]]
    return roots
