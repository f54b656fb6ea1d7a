"""Products: the items with the largest dot product with a signed vector of terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Floats, Ints, Rows, bounds_of, ranges, transpose
from classmark.index.feedback import terms_of
from classmark.index.kernels_models import Final, Heap
from classmark.index.kernels_vectors import arrange, find_in_runs, find_vector, lay_runs
from classmark.index.models import Prepared, Query, strides
from classmark.index.postings import Lists, Words
from classmark.problems import Mistake

_LARGEST = (1 << 16) - 1
_PER_POSTING, _PER_TERM = 6, 40  # bytes: at most, about


class ListRuns(NamedTuple):
    """Lists as ``lay_runs`` writes them."""

    slots: NDArray[np.uint16]
    runs: NDArray[np.uint16]
    edges: Ints


def runs_of(lists: Lists, order: Ints, room: int) -> ListRuns | None:
    """Lay lists out, in some order of terms, for ``find_in_runs``.

    None where they might not fit ``room`` bytes, or where a count has over 16 bits.

    >>> items, counts = np.arange(3, dtype=np.uint32), np.array([2, 9, 2], np.uint32)
    >>> lists = Lists(items, counts, np.array([0]), np.array([3]))
    >>> runs = runs_of(lists, np.array([0]), 1 << 20)
    >>> runs.slots.tolist(), runs.runs.tolist()
    ([0, 2, 1, 9], [[0, 2, 1], [0, 0, 0]])
    """
    n, n_terms = int((lists.ends - lists.begins).sum()), len(order)
    if _PER_POSTING * n + _PER_TERM * n_terms > room:
        return None
    if n and int(lists.counts.max()) > _LARGEST:
        return None
    slots, runs = np.empty(2 * n, np.uint16), np.empty((n, 3), np.uint16)
    edges = np.empty((n_terms + 1, 2), np.int64)
    used, n_runs = lay_runs(order, tuple(lists), slots, runs, edges)
    slots.resize(used, refcheck=False)
    runs.resize((n_runs, 3), refcheck=False)
    return ListRuns(slots, runs, edges)


def vectors_of(field: Prepared, items: Sequence[int] | NDArray[np.integer]) -> Rows:
    """The vectors of some documents, one column a term of the field.

    They are those that ``search_vector`` multiplies with, a row for each item in the
    order given. All lists are gone through once.

    >>> from classmark.index.postings import field_of
    >>> field = Prepared(field_of([[3, 4], [1, 0]], ["ant", "bee"]))
    >>> vectors_of(field, [1]).to_scipy().toarray().tolist()
    [[1.0, 0.0]]
    """
    documents = np.asarray(items, np.int64)
    postings = terms_of(field.field, documents)
    values = (
        postings.counts
        * field.idf[postings.terms]
        * field.inverse_norms[postings.items]
    )
    distinct, slots = np.unique(documents, return_inverse=True)
    bounds = np.searchsorted(postings.items, np.append(distinct, field.field.n_items))
    sizes = np.diff(bounds)[slots]
    entries = ranges(bounds[slots], sizes)
    columns = postings.terms[entries].astype(np.uint32)
    return Rows(bounds_of(sizes), columns, values[entries], field.field.n_terms)


def mean_vector(field: Prepared) -> Floats:
    """The mean of the vectors of all documents that are not deleted, (terms,).

    mean_t = idf_t/N · Σ over the term's list of tf/‖d‖: one pass over the postings.

    >>> from classmark.index.postings import field_of
    >>> field = Prepared(field_of([[3, 0], [1, 0]], ["ant", "bee"]))
    >>> mean_vector(field).tolist()
    [1.0, 0.0]
    """
    each = field.inverse_norms.copy()
    if field.field.alive is not None:
        each[~field.field.alive] = 0.0
    sums: list[Array] = [np.empty(0)]
    for numbers, terms, items, counts in _postings(field):
        parts = counts * each[items]
        sums.append(np.bincount(terms - numbers[0], parts, minlength=len(numbers)))
    total = np.concatenate(sums)
    return np.asarray(total * field.idf / max(field.field.n_alive, 1))


def _postings(field: Prepared) -> Iterator[tuple[Ints, Ints, Array, Array]]:
    """Yield some terms, and the term, item and count of each of their postings."""
    for first, lists in strides(field.field):
        numbers, sizes = first + np.arange(len(lists.ends)), lists.ends - lists.begins
        entries = ranges(lists.begins, sizes)
        terms = np.repeat(numbers, sizes)
        yield numbers, terms, lists.items[entries], lists.counts[entries]


def unit_rows(field: Prepared, first: int, last: int) -> Rows:
    """The vectors of documents ``first`` to before ``last``, in order.

    A document that is deleted has an empty row. All lists are gone through once; bit
    for bit they are those of ``vectors_of``.

    >>> from classmark.index.postings import field_of
    >>> field = Prepared(field_of([[3, 4], [1, 0]], ["ant", "bee"]))
    >>> unit_rows(field, 1, 2).to_scipy().toarray().tolist()
    [[1.0, 0.0]]
    """
    sizes, columns, values = [np.zeros(1, np.int64)], [np.empty(0, np.uint32)], []
    for numbers, terms, items, counts in _postings(field):
        inside = (items >= first) & (items < last)
        if field.field.alive is not None:
            inside &= field.field.alive[items]
        term, item = terms[inside], items[inside]
        sizes.append(np.bincount(term - numbers[0], minlength=len(numbers)))
        columns.append((item - first).astype(np.uint32))
        values.append(counts[inside] * field.idf[term] * field.inverse_norms[item])
    starts = np.cumsum(np.concatenate(sizes))
    weights = np.concatenate([np.empty(0), *values])
    return transpose(Rows(starts, np.concatenate(columns), weights, last - first))


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

    >>> from classmark.index.postings import field_of
    >>> field = Prepared(field_of([[3, 4], [1, 0]], ["ant", "bee"]))
    >>> products = Products(field)
    >>> query = products.weigh({"bee": 1.0, "ant": -1.0})
    >>> items, scores = products.find(query, 2, False, np.full(2, -0.0))
    >>> items.tolist(), scores.round(3).tolist()
    ([0, 1], [0.411, -1.0])
    """

    def __init__(self, field: Prepared) -> None:
        self.field = field

    @cached_property
    def runs(self) -> ListRuns | None:
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
        """The rarity of the terms in that order, of those that items alive have."""
        return self.field.idf[self.order[: np.count_nonzero(self.field.df)]]

    def weigh(self, weights: Mapping[str, float]) -> WeightedQuery:
        """Find the terms of a vector; those that no item alive has drop out."""
        values = np.fromiter(weights.values(), np.float64, len(weights))
        if not np.all(np.isfinite(values)):
            raise Mistake("weights: a weight is not finite: give numbers")
        numbers, m = self._words.numbers(weights.keys()), len(weights)
        keys, positions = np.empty((2, m), np.uint32), np.empty((2, m), np.int64)
        n = arrange(numbers, values, len(self._idf), keys, positions)
        places = keys[0, :n]
        return WeightedQuery(self, places, values[positions[0, :n]] * self._idf[places])

    def find(
        self, query: WeightedQuery, k: int, every: bool, acc: Floats
    ) -> tuple[Ints, Floats]:
        """Return the best ``k`` items and their products; ties by number."""
        k, field = min(k, len(acc)), self.field
        heap = Heap(np.empty(k, np.int64), np.empty(k))
        x, weights = field.inverse_norms, query.coefficients
        if self.runs is not None:
            vector, rule = (weights, query.places), (x, field.alive, every)
            n = find_in_runs(vector, tuple(self.runs), rule, acc, heap)
        else:
            numbers = self.order[query.places]
            lists, places, _ = field.lists(Query(numbers, weights))
            final = Final(field.alive, _NONE, 1.0, 0.0)
            terms = (weights, places)
            n = find_vector(terms, tuple(lists), x, final, every, acc, heap)
        return heap.items[:n], heap.scores[:n]
