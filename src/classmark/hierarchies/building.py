"""A tree for categories that have none: by what their documents say, or share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np

from classmark.arrays import Ints, Rows, keep_columns, rows_from, take
from classmark.clusters.agglomerative import Agglomerative
from classmark.clusters.kmeans import SphericalKMeans, name_clusters
from classmark.hierarchies.flat import owners_of
from classmark.hierarchies.taxonomy_ranker import unit_rows
from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy

TERMS = 5  # that describe a group
BRANCHING = 10  # daughters that a node may have


@dataclass(frozen=True, eq=False)
class CategoryGroups:
    """Groups of categories, and groups of groups.

    categories : all that were to be grouped;  group_of : the group of each, −1 at the
    top, shape (categories,);  parents : the group above each group, −1 at the top,
    always one with a smaller number;  terms : what tells each from its sisters.
    """

    categories: list[Any]
    group_of: Ints
    parents: tuple[int, ...]
    terms: tuple[tuple[str, ...], ...]

    def members(self, group: int) -> list[Any]:
        """The categories right below a group."""
        return [self.categories[at] for at in np.flatnonzero(self.group_of == group)]

    def taxonomy(self) -> Taxonomy:
        """The tree; a group is named by its terms, numbered where that is taken."""
        in_use, names = set(self.categories), list[Any]()
        for at, terms in enumerate(self.terms):
            name = first = ", ".join(terms) or f"group {at + 1}"
            count = 2
            while name in in_use:
                name, count = f"{first} ({count})", count + 1
            names.append(name)
            in_use.add(name)
        above = [
            (names[up], names[at]) for at, up in enumerate(self.parents) if up >= 0
        ]
        below = zip(self.group_of.tolist(), self.categories, strict=True)
        edges = [*above, *((names[g], category) for g, category in below if g >= 0)]
        return Taxonomy(edges, nodes=[*names, *self.categories])


def group_categories(
    X: Any,
    y: Iterable[Any],
    *,
    by: str = "content",
    branching: int = BRANCHING,
    feature_names: Sequence[str] | None = None,
    random_state: int = 0,
) -> CategoryGroups:
    """Group categories from the top down until a node has ``branching`` daughters.

    by : "content", spherical k-means over prototypes, the sums of the categories'
    documents [DhillonModha01]; "co-occurrence", Ward's merging of the sets of their
    documents, whose cosine is |A ∩ B| / √(|A||B|) [Ward63]: for documents of several
    categories.  feature_names : of the columns of X, for the terms of the groups; or of
    the first ones, where those behind them are no terms, as columns of meaning are.

    A set of n categories is parted into min(branching, ⌈n / branching⌉); a category
    that is alone in its part stays beside the groups, as do, at the top, those
    that have no documents or, by co-occurrence, share none.
    """
    if not isinstance(branching, Integral) or branching < 2:
        raise Mistake(f"branching is {branching!r}: give a whole number from 2 up")
    if by not in CLUSTERERS:
        raise Mistake(f"by is {by!r}: use {' or '.join(CLUSTERERS)}")
    rows = rows_from(X)
    categories, owners = owners_of(y, len(rows))
    belong = owners.to_scipy().T.tocsr()
    content = rows_from((belong @ unit_rows(rows.to_scipy())).tocsr())
    vectors = content if by == "content" else rows_from(belong)
    alone = np.diff(vectors.starts) == 0
    if by == "co-occurrence":
        shared = belong @ belong.T
        alone |= np.diff(shared.tocsr().indptr) < 2
        if alone.all():
            raise Mistake(
                "y: no two categories share a document: group them by content"
            )
    part = CLUSTERERS[by]
    groups = _Groups(len(categories))
    groups.part(
        np.flatnonzero(~alone),
        int(branching),
        lambda members, k: part(take(vectors, members), k, random_state),
    )
    terms = groups.terms(content, feature_names)
    return CategoryGroups(
        list(categories), groups.group_of, tuple(groups.parents), terms
    )


def build_taxonomy(X: Any, y: Iterable[Any], **options: Any) -> Taxonomy:
    """Build a tree over the categories of y, as ``group_categories`` groups them.

    options : its own, by name. The inner nodes are named by their weightiest terms.

    >>> X = [[1.0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0]] * 2
    >>> names = ["hive", "dough", "rye", "bee"]
    >>> y = ["bees", "wasps", "bread", "cakes"] * 2
    >>> tree = build_taxonomy(X, y, branching=2, feature_names=names)
    >>> sorted(tree.siblings("bees")), tree.path("bread")[0]
    (['wasps'], 'dough, rye')
    """
    return group_categories(X, y, **options).taxonomy()


def _by_content(vectors: Rows, k: int, seed: int) -> Ints:
    return SphericalKMeans(k, n_init=5, random_state=seed).fit(vectors).labels_


def _by_co_occurrence(vectors: Rows, k: int, seed: int) -> Ints:
    return Agglomerative(k, random_state=seed).fit(vectors).labels_


CLUSTERERS: dict[str, Callable[[Rows, int, int], Ints]] = {
    "content": _by_content,
    "co-occurrence": _by_co_occurrence,
}


class _Groups:
    """Groups while they are made: those that were parted, and into what."""

    def __init__(self, count: int) -> None:
        self.group_of = np.full(count, -1, np.int64)
        self.parents: list[int] = []
        self.parted: list[tuple[Ints, Ints, dict[int, int]]] = []

    def part(
        self, members: Ints, branching: int, cluster: Callable[[Ints, int], Ints]
    ) -> None:
        """Part members, and each part of more than ``branching`` of them again."""
        waiting = [(-1, members)]
        for above, some in waiting:
            self.group_of[some] = above
            if len(some) <= branching:
                continue
            labels = cluster(some, min(branching, ceil(len(some) / branching)))
            sizes = np.bincount(labels)
            if (sizes > 0).sum() < 2:
                continue
            groups: dict[int, int] = {}
            for label in np.flatnonzero(sizes > 1).tolist():
                groups[label] = len(self.parents)
                self.parents.append(above)
                waiting.append((groups[label], some[labels == label]))
            self.parted.append((some, labels, groups))

    def terms(
        self, content: Rows, names: Sequence[str] | None
    ) -> tuple[tuple[str, ...], ...]:
        """The weightiest terms of each group among its sisters; none without names."""
        terms: list[tuple[str, ...]] = [()] * len(self.parents)
        if names is None:
            return tuple(terms)
        if len(names) < content.width:
            content = keep_columns(content, np.arange(len(names)))
        for some, labels, groups in self.parted:
            named = name_clusters(take(content, some), labels, names, TERMS)
            for label, group in groups.items():
                terms[group] = named[label]
        return tuple(terms)
