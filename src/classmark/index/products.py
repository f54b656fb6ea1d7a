"""Products: the items with the largest dot product with a signed vector of terms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints
from classmark.index.lookup.words import Words
from classmark.index.plans import Prepared, Query
from classmark.index.vectors.runs import Runs, runs_of
from classmark.problems import Mistake

_NONE = np.empty(0)


class WeightedQuery(NamedTuple):
    """A signed vector made ready for one generation of one field.

    products : who made it;  places : uint32, of the terms, the most frequent first;
    coefficients : float64, weight · idf of each.
    """

    products: Products
    places: NDArray[np.uint32]
    coefficients: Floats


class Products:
    """Dot products with a field's items, which are unit vectors of tf · idf.

    >>> from classmark.index.collection import field_of
    >>> from classmark.sparse import rows_from
    >>> field = Prepared(field_of(rows_from([[3, 4], [1, 0]]), ["ant", "bee"]))
    >>> products = Products(field)
    >>> query = products.weigh({"bee": 1.0, "ant": -1.0})
    >>> items, scores = products.find(query, 2, False, np.full(2, -0.0))
    >>> items.tolist(), scores.round(3).tolist()
    ([0, 1], [0.411, -1.0])
    """

    def __init__(self, field: Prepared) -> None:
        self.field = field

    @cached_property
    def runs(self) -> Runs | None:
        """The lists laid out for products; None: they are read as they are."""
        whole, room = self.field.whole, self.field.field.room
        return None if whole is None else runs_of(whole, self.order, room)

    @cached_property
    def order(self) -> Ints:
        """The terms, the most frequent first, ties by number.

        What a query needs of frequent terms lies together so, and stays in the caches.
        """
        return np.argsort(-self.field.df.astype(np.int64), kind="stable")

    @cached_property
    def _words(self) -> Words:
        return self.field.field.words.reordered(self.order)

    @cached_property
    def _idf(self) -> Floats:
        return self.field.idf[self.order]

    @cached_property
    def _n_alive(self) -> int:
        """How many terms are in items alive: the first, in that order."""
        return int(np.count_nonzero(self.field.df))

    def weigh(self, weights: Mapping[str, float]) -> WeightedQuery:
        """Find the terms of a vector; those that no item alive has drop out."""
        from classmark.index.vectors.kernels import arrange

        asked = np.fromiter(weights.values(), np.float64, len(weights))
        if not np.all(np.isfinite(asked)):
            raise Mistake("weights: a weight is not finite: give numbers")
        found, m = self._words.numbers(weights.keys()), len(weights)
        keys, kept = np.empty((2, m), np.uint32), np.empty((2, m), np.int64)
        n = arrange(found, asked, self._n_alive, keys, kept)
        places = keys[0, :n]
        return WeightedQuery(self, places, asked[kept[0, :n]] * self._idf[places])

    def find(
        self, query: WeightedQuery, k: int, every: bool, acc: Floats
    ) -> tuple[Ints, Floats]:
        """Return the best ``k`` items and their products; ties by number."""
        from classmark.index.vectors import kernels

        if query.products is not self:
            raise Mistake("weights were made ready for another index: weigh them anew")
        k, field = min(k, len(acc)), self.field
        items, scores = np.empty(k, np.int64), np.empty(k)
        if self.runs is not None:
            n = kernels.find_in_runs(
                query.coefficients,
                query.places,
                *self.runs,
                (field.inverse_norms, field.alive, every),
                acc,
                items,
                scores,
            )
            return items[:n], scores[:n]
        numbers = self.order[query.places]
        lists, places = field.lists(Query(numbers, query.coefficients))
        n = kernels.find_vector(
            query.coefficients,
            places,
            *lists,
            field.inverse_norms,
            field.alive,
            _NONE,
            every,
            acc,
            items,
            scores,
        )
        return items[:n], scores[:n]
