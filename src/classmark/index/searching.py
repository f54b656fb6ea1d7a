"""Searcher: the best k items of a query, under any model, exactly.

The score of an item is, field by field, the weighted sum of the model's score in that
field, plus a weight times the logarithm of the item's prior where one is given. Only
items that share a term with the query are ranked; ties go to the lower number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints
from classmark.index.combining import find_in_fields
from classmark.index.explaining import Explanation, explain
from classmark.index.feedback import Feedback, Found, expand, main_field
from classmark.index.plans import Choice, Plan, Prepared, Terms
from classmark.index.priors import Prior, with_prior
from classmark.index.products import Products, WeightedQuery
from classmark.index.reading import Field, Lists
from classmark.problems import Mistake
from classmark.ranking import Ranking

_NONE = np.empty(0)
_INT = np.dtype(np.int64)
_new = tuple.__new__  # a third of the time of Hit(...): ten a query


class Hit(NamedTuple):
    """An item that was found: its id, its score, its number."""

    id: str
    score: float
    number: int


class Scratch(NamedTuple):
    """Accumulators, all −0.0 between queries, and room for a list of items."""

    acc: Floats
    touched: NDArray[np.uint32]


class Searcher:
    """Answers queries over the fields of one generation of an index.

    fields : one ``Field``, or several by name, over the same items.  names : from an
    item's number to its id; without it the number itself, as a string.

    A query is a sequence of analysed terms, repeats counting, or a mapping from term to
    weight. Threads may share a searcher.

    >>> from classmark.index.collection import field_of
    >>> from classmark.sparse import rows_from
    >>> field = field_of(rows_from([[2, 0], [1, 1], [0, 3]]), ["ant", "bee"])
    >>> [hit.number for hit in Searcher(field).search(["bee"], k=2)]
    [2, 1]
    """

    def __init__(
        self,
        fields: Field | Mapping[str, Field],
        *,
        names: Callable[[int], str] = str,
    ) -> None:
        from classmark.index.finding import kernels

        given = fields if isinstance(fields, Mapping) else {"text": fields}
        if len({field.n_items for field in given.values()}) != 1:
            raise Mistake("fields differ in their number of items: give one index's")
        self.fields = {name: Prepared(field) for name, field in given.items()}
        self.names = names
        self.n_items = next(iter(given.values())).n_items
        self._only = next(iter(self.fields.values())) if len(given) == 1 else None
        self._kernels = kernels
        self._scratch: list[Scratch] = []

    def search(
        self,
        terms: Terms,
        k: int = 10,
        model: str = "bm25",
        *,
        fields: Mapping[str, float] | None = None,
        prior: Prior | None = None,
        **parameters: float | str,
    ) -> list[Hit]:
        """Return the best ``k`` items, best first.

        fields : the weight of each field; None: 1 for each there is.
        """
        _require_size(k)
        if self._only is not None and fields is None:
            found = self._find(self._only, terms, k, (model, parameters), prior)
        else:
            found = find_in_fields(self, terms, k, (model, parameters), (fields, prior))
        return self.hits(*found)

    def rank(
        self,
        queries: Sequence[Terms],
        k: int = 10,
        model: str = "bm25",
        **parameters: float | str,
    ) -> Ranking:
        """Answer many queries of a one-field index in one call, as a ``Ranking``."""
        _require_size(k)
        field = self.one_field("rank")
        plan = field.plan(model, parameters)
        k = min(k, self.n_items)
        whole = field.whole
        if whole is None:
            choice = (model, parameters)
            found = [self._find(field, terms, k, choice, None) for terms in queries]
            sizes = np.array([len(items) for items, _ in found], np.int64)
            items = np.concatenate([np.empty(0, np.int64), *(i for i, _ in found)])
            scores = np.concatenate([_NONE, *(s for _, s in found)])
            return Ranking(np.repeat(np.arange(len(queries)), sizes), items, scores)
        return self._rank_whole(field, whole, plan, queries, k)

    def search_many(
        self,
        queries: Sequence[Terms],
        k: int = 10,
        model: str = "bm25",
        **parameters: float | str,
    ) -> list[list[Hit]]:
        """Return what ``search`` does for each of many queries."""
        found = self.rank(queries, k, model, **parameters)
        ends = np.searchsorted(found.queries, np.arange(1, len(queries) + 1)).tolist()
        hits = self.hits(found.items, found.scores)
        return [hits[a:b] for a, b in pairwise([0, *ends])]

    def search_vector(
        self,
        weights: Mapping[str, float] | WeightedQuery,
        k: int = 10,
        *,
        every: bool = False,
    ) -> list[Hit]:
        """Return the items with the largest dot product with ``weights``.

        weights : analysed term → weight, any sign, any number of terms, or what
        ``weigh`` made of it.  The items are unit vectors of tf · (ln((1 + N)/(1 + df))
        + 1): those of ``Vectorizer``. Items that share no term with the query have
        product 0, and are ranked if ``every``.
        """
        _require_size(k)
        query = self.weigh(weights) if isinstance(weights, Mapping) else weights
        scratch = self.scratch()
        found = self.products.find(query, k, every, scratch.acc)
        self.release(scratch)
        return self.hits(*found)

    def weigh(self, weights: Mapping[str, float]) -> WeightedQuery:
        """Make a vector ready for ``search_vector``, to be asked more than once."""
        return self.products.weigh(weights)

    @cached_property
    def products(self) -> Products:
        """What multiplies the items of the only field with vectors."""
        return Products(self.one_field("search_vector"))

    def explain(
        self,
        terms: Terms,
        item: int,
        model: str = "bm25",
        *,
        fields: Mapping[str, float] | None = None,
        prior: Prior | None = None,
        **parameters: float | str,
    ) -> Explanation:
        """Take apart the score that ``search`` gives an item."""
        return explain(self, terms, item, (model, parameters), (fields, prior))

    def lengthen(
        self,
        queries: Sequence[Mapping[str, float]],
        found: Sequence[Found],
        feedback: Feedback,
    ) -> list[dict[str, float]]:
        """Return each query made longer by the first documents found for it."""
        field, pairs = main_field(self.fields), zip(queries, found, strict=True)
        return [expand(field, terms, best, feedback) for terms, best in pairs]

    def one_field(self, act: str) -> Prepared:
        """Return the only field, or say that there are several."""
        if self._only is None:
            known = ", ".join(map(repr, self.fields))
            raise Mistake(f"{act} needs an index of one field; this one has {known}")
        return self._only

    def hits(self, items: Ints, scores: Floats) -> list[Hit]:
        """Name items that were found."""
        return named_hits(self.names, items, scores)

    def scratch(self) -> Scratch:
        """Take accumulators; put them back, wiped, by ``release``."""
        try:
            return self._scratch.pop()
        except IndexError:
            n = self.n_items
            return Scratch(np.full(n, -0.0), np.empty(n + 1, np.uint32))

    def release(self, scratch: Scratch) -> None:
        """Put accumulators back, every one −0.0."""
        self._scratch.append(scratch)

    def _find(
        self,
        field: Prepared,
        terms: Terms,
        k: int,
        choice: Choice,
        prior: Prior | None,
    ) -> tuple[Ints, Floats]:
        plan, k = field.plan(*choice), min(k, self.n_items)
        extra, most = plan.extra, plan.most_extra
        if prior is not None:
            extra, most = with_prior(plan, prior, field.query(terms))
        items, scores = np.empty(k, _INT), np.empty(k)
        asked, postings, counts, table = field.located(terms)
        scratch = self.scratch()
        n = self._kernels.find(
            plan.model.code,
            asked,
            np.array([len(asked)]),
            postings,
            counts,
            table,
            plan.world,
            plan.x,
            field.blocks.max_counts,
            field.blocks.min_lengths,
            field.alive,
            extra,
            most,
            plan.peaks,
            plan.way,
            *scratch,
            items,
            scores,
        )
        self._scratch.append(scratch)
        return (items, scores) if n == k else (items[:n], scores[:n])

    def _rank_whole(
        self,
        field: Prepared,
        whole: Lists,
        plan: Plan,
        queries: Sequence[Terms],
        k: int,
    ) -> Ranking:
        n, (sizes, asked) = len(queries), field.queries(queries)
        items, scores = np.empty((n, k), np.int64), np.empty((n, k))
        scratch = self.scratch()
        self._kernels.find(
            plan.model.code,
            asked,
            sizes,
            whole.items,
            whole.counts,
            field.table,
            plan.world,
            plan.x,
            field.blocks.max_counts,
            field.blocks.min_lengths,
            field.alive,
            plan.extra,
            plan.most_extra,
            plan.peaks,
            plan.way,
            *scratch,
            items.reshape(-1),
            scores.reshape(-1),
        )
        self._scratch.append(scratch)
        kept = np.arange(k) < sizes[:, np.newaxis]
        return Ranking(np.repeat(np.arange(n), sizes), items[kept], scores[kept])


def named_hits(names: Callable[[int], str], items: Ints, scores: Floats) -> list[Hit]:
    """Make hits of items that were found; names : from number to id."""
    numbers = items.tolist()
    found = zip(map(names, numbers), scores.tolist(), numbers, strict=True)
    return list(map(_new, repeat(Hit), found))


def _require_size(k: int) -> None:
    whole = type(k) is int or isinstance(k, np.integer)
    if not whole or k < 0:
        raise Mistake(f"k is {k!r}: give a whole number, 0 or more")
