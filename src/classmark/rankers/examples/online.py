"""A query by examples at once: learned from them alone, answered by an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats
from classmark.index.products import Products
from classmark.index.unit_vectors import mean_vector, vectors_of
from classmark.problems import Mistake
from classmark.rankers.examples.query import ExampleQuery
from classmark.ranking import top

if TYPE_CHECKING:
    from classmark.index.directory import Index
    from classmark.index.searching import Hit

ONLINE = ("auto", "centroid", "one-class", "rocchio")
TERMS = 3000  # of the heaviest are asked for


class Online:
    """Learns queries from documents of an index, which knows the mean of all.

    One field is learned from: the only one, or the one with most words. Its mean is
    computed once, and kept.

    >>> from tempfile import TemporaryDirectory
    >>> from classmark import Index
    >>> with TemporaryDirectory() as folder:
    ...     index = Index.build(folder, [("a", "bee hive"), ("b", "hive"), ("c", "ox")])
    ...     Online(index).find(["a"], k=1).ids
    ['b']
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        fields = index.searcher.fields.values()
        self.field = max(fields, key=lambda field: field.field.total_length)
        self.products = Products(self.field)
        self.mean: Floats | None = None

    def learn(
        self,
        examples: Sequence[str],
        rejected: Sequence[str] = (),
        *,
        method: str = "auto",
        C: float | None = None,
    ) -> ExampleQuery:
        """A query from documents' ids, its columns being the field's terms."""
        if method not in ONLINE:
            known = ", ".join(ONLINE)
            raise Mistake(f"{method} reads the whole collection: online use {known}")
        if self.mean is None:
            self.mean = mean_vector(self.field)
        P = vectors_of(self.field, self._numbers(examples))
        N = vectors_of(self.field, self._numbers(rejected)) if rejected else None
        return ExampleQuery(method, C=C).fit(P, N=N, mean=self.mean)

    def find(
        self,
        examples: Sequence[str],
        k: int = 10,
        rejected: Sequence[str] = (),
        method: str = "auto",
        C: float | None = None,
        terms: int = TERMS,
    ) -> Found:
        """The best ``k`` documents that are not given, by the heaviest terms.

        The query's weights, cut to ``terms`` of them, are an exact ``search_vector``.
        """
        query = self.learn(examples, rejected, method=method, C=C).cut(terms)
        weights = {
            self.field.field.term(int(at)): float(query.coef_[at])
            for at in np.flatnonzero(query.coef_)
        }
        given = {*examples, *rejected}
        kept = [
            hit for hit in self._hits(weights, k + len(given)) if hit.id not in given
        ]
        return Found([h.id for h in kept[:k]], [h.score for h in kept[:k]], weights)

    def reasons(self, found: Found, n: int) -> list[dict[str, float]]:
        """For each document found, its ``n`` greatest parts: term → weight · value."""
        rows = vectors_of(self.field, self._numbers(found.ids))
        told = []
        for i in range(len(rows)):
            columns, values = rows.row(i)
            terms = [self.field.field.term(int(column)) for column in columns]
            parts = [found.weights.get(term, 0.0) for term in terms] * values
            best = [at for at in top(parts, n) if parts[at] > 0.0]
            told.append({terms[at]: float(parts[at]) for at in best})
        return told

    def _numbers(self, ids: Sequence[str]) -> list[int]:
        found = [self.index.number(name) for name in ids]
        for name, number in zip(ids, found, strict=True):
            if number is None:
                raise Mistake(
                    f"document {name!r} is not in the index: give an id it has"
                )
        return [number for number in found if number is not None]

    def _hits(self, weights: dict[str, float], k: int) -> list[Hit]:
        searcher = self.index.searcher
        scratch = searcher.scratch()
        found = self.products.find(self.products.weigh(weights), k, False, scratch.acc)
        searcher.release(scratch)
        return searcher.hits(*found)


class Found(NamedTuple):
    """What an online query found, best first; weights : of its terms."""

    ids: list[str]
    scores: list[float]
    weights: dict[str, float]
