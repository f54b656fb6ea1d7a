"""Searcher: the best k items of a query, under any model, exactly.

An item that matches in any field takes the document's part of every field (a length of
0 where the item lacks the field). Exhaustive: every posting is added.

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
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.index.feedback import Feedback, TopDocuments, expand, main_field
from classmark.index.kernels_models import Heap
from classmark.index.kernels_search import Ready, Scratch
from classmark.index.plans import Choice, Plan, Prepared, Query, Terms
from classmark.index.postings import Field
from classmark.index.vectors import Products, WeightedQuery
from classmark.problems import Mistake
from classmark.ranking import Ranking


class Prior(NamedTuple):
    """What is added to every item's score: shape (items,), and the largest of it."""

    parts: Floats
    most: float


def log_prior(probabilities: ArrayLike, weight: float = 1.0) -> Prior:
    """Make weight · ln(probability) of each item, to be added to its scores.

    >>> round(log_prior([0.5, 0.25], 2.0).most, 6)
    -1.386294
    """
    values = np.asarray(probabilities, np.float64)
    if values.ndim != 1:
        raise Mistake(f"prior has {values.ndim} dimensions: give one number per item")
    bad = np.flatnonzero(~((values > 0.0) & np.isfinite(values)))
    if len(bad):
        raise Mistake(f"prior of item {bad[0]} is {values[bad[0]]}: give one above 0")
    if not np.isfinite(weight):
        raise Mistake(f"weight of the prior is {weight!r}: give a number")
    parts = np.log(values) * weight
    return Prior(parts, float(parts.max(initial=-np.inf)))


def with_prior(plan: Plan, prior: Prior, query: Query) -> Ready:
    """Join the prior to the items' own parts, which the model scales by the query."""
    ready, n = plan.ready, len(plan.ready.x)
    if len(prior.parts) != n:
        raise Mistake(f"prior has {len(prior.parts)} items: the index has {n}")
    if not plan.model.has_document_part:
        return ready._replace(extra=prior.parts, most_extra=prior.most)
    scale = float(query.weights.sum()) if plan.model.name == "dirichlet" else 1.0
    joined = ready.extra + prior.parts / scale if scale else prior.parts
    most = float(joined.max(initial=-np.inf))
    return ready._replace(extra=joined, most_extra=most)


Weights = Mapping[str, float] | None


def weighted_fields(
    fields: Mapping[str, Prepared], weights: Weights
) -> list[tuple[str, Prepared, float]]:
    """Return the fields with their weights; refuse unknown and negative ones."""
    field_weights = dict.fromkeys(fields, 1.0) if weights is None else weights
    for name, weight in field_weights.items():
        if name not in fields:
            raise Mistake(f"field {name!r} is not there: there is {', '.join(fields)}")
        if not 0.0 <= weight < np.inf:
            raise Mistake(f"weight of field {name!r} is {weight!r}: give 0 or more")
    return [
        (name, fields[name], float(weight)) for name, weight in field_weights.items()
    ]


def find_in_fields(
    searcher: Searcher,
    terms: Terms,
    k: int,
    choice: Choice,
    extras: tuple[Weights, Prior | None],
) -> tuple[Ints, Floats]:
    """Return the best items and their scores over weighted fields and a prior."""
    from classmark.index.kernels_models import Final, Heap
    from classmark.index.kernels_search import accumulate
    from classmark.index.kernels_topk import select_all

    weights, prior = extras
    fields = weighted_fields(searcher.fields, weights)
    document_parts, offset = np.zeros(searcher.n_items), 0.0
    if prior is not None:
        document_parts += prior.parts
    scratch = searcher.scratch()
    for _, field, weight in fields:
        field_query = field.ask(terms, choice, weight)
        accumulate(field_query.scoring, scratch.acc)
        offset += field_query.offset
        if field_query.plan.model.has_document_part:
            document_parts += field_query.scale * field_query.plan.ready.extra
    k = min(k, searcher.n_items)
    items, scores = np.empty(k, np.int64), np.empty(k)
    alive = next(iter(searcher.fields.values())).alive
    final = Final(alive, document_parts, 1.0, offset)
    n = select_all(scratch.acc, False, final, Heap(items, scores))
    searcher.release(scratch)
    return items[:n], scores[:n]


class Part(NamedTuple):
    """What one term of the query adds to an item's score, in one field."""

    field: str
    term: str
    weight: float
    part: float


class Explanation(NamedTuple):
    """A score taken apart: the parts and ``own`` add up to it.

    own : what the item scores whatever it contains: the model's document part, the
    query's constant, and the prior.  found : whether any term occurs in it; an item in
    which none does is not ranked.
    """

    score: float
    parts: tuple[Part, ...]
    own: float
    found: bool


def explain(
    searcher: Searcher,
    terms: Terms,
    item: int,
    choice: Choice,
    extras: tuple[Weights, Prior | None],
) -> Explanation:
    """Take apart the score of one item: terms of the query in order, field by field."""
    from classmark.index.kernels_search import parts_of

    if not 0 <= item < searcher.n_items:
        raise Mistake(f"item {item} is not there: give 0 to {searcher.n_items - 1}")
    weights, prior = extras
    parts: list[Part] = []
    document_part = 0.0 if prior is None else float(prior.parts[item])
    score, matched = 0.0, False
    for name, field, weight in weighted_fields(searcher.fields, weights):
        field_query = field.ask(terms, choice, weight)
        out = np.empty(len(field_query.query.numbers))
        matched |= parts_of(field_query.scoring, item, out)
        rows = zip(*(a.tolist() for a in (*field_query.query, out)), strict=True)
        parts += [Part(name, field.field.term(t), w, value) for t, w, value in rows]
        score += float(sum(out.tolist()))
        document_part += field_query.offset
        if field_query.plan.model.has_document_part:
            extra = field_query.plan.ready.extra[item]
            document_part += field_query.scale * float(extra)
    return Explanation(
        score + document_part, tuple(parts), document_part, bool(matched)
    )


_NONE = np.empty(0)
_INT = np.dtype(np.int64)
_new = tuple.__new__  # a third of the time of Hit(...): ten a query


class Hit(NamedTuple):
    """An item of an answer: its id, its score, its number."""

    id: str
    score: float
    number: int


class Searcher:
    """Answers queries over the fields of one generation of an index.

    fields : one ``Field``, or several by name, over the same items.  names : from an
    item's number to its id; without it the number itself, as a string.

    A query is a sequence of analysed terms, repeats counting, or a mapping from term to
    weight. Threads may share a searcher.

    >>> from classmark.index.in_memory import field_of
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
        from classmark.index.kernels_search import find

        fields_by_name = fields if isinstance(fields, Mapping) else {"text": fields}
        if len({field.n_items for field in fields_by_name.values()}) != 1:
            raise Mistake("fields differ in their number of items: give one index's")
        self.fields = {name: Prepared(field) for name, field in fields_by_name.items()}
        self.names = names
        self.n_items = next(iter(fields_by_name.values())).n_items
        self._only = (
            next(iter(self.fields.values())) if len(fields_by_name) == 1 else None
        )
        self._find_kernel = find
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
            best = self._find(self._only, terms, k, (model, parameters), prior)
        else:
            best = find_in_fields(self, terms, k, (model, parameters), (fields, prior))
        return self.hits(*best)

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
        if field.whole is None:
            choice = (model, parameters)
            answers = [self._find(field, terms, k, choice, None) for terms in queries]
            sizes = np.array([len(items) for items, _ in answers], np.int64)
            items = np.concatenate([np.empty(0, np.int64), *(i for i, _ in answers)])
            scores = np.concatenate([_NONE, *(s for _, s in answers)])
            return Ranking(np.repeat(np.arange(len(queries)), sizes), items, scores)
        return self._rank_whole(field, plan, queries, k)

    def search_many(
        self,
        queries: Sequence[Terms],
        k: int = 10,
        model: str = "bm25",
        **parameters: float | str,
    ) -> list[list[Hit]]:
        """Return what ``search`` does for each of many queries."""
        ranking = self.rank(queries, k, model, **parameters)
        ends = np.searchsorted(ranking.queries, np.arange(1, len(queries) + 1)).tolist()
        hits = self.hits(ranking.items, ranking.scores)
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
        best = self.products.find(query, k, every, scratch.acc)
        self.release(scratch)
        return self.hits(*best)

    def weigh(self, weights: Mapping[str, float]) -> WeightedQuery:
        """Prepare a vector for ``search_vector``, to be used more than once."""
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
        top_documents: Sequence[TopDocuments],
        feedback: Feedback,
    ) -> list[dict[str, float]]:
        """Return each query expanded by terms of its best documents."""
        field, pairs = main_field(self.fields), zip(queries, top_documents, strict=True)
        return [expand(field, terms, best, feedback) for terms, best in pairs]

    def one_field(self, act: str) -> Prepared:
        """Return the only field, or say that there are several."""
        if self._only is None:
            names = ", ".join(map(repr, self.fields))
            raise Mistake(f"{act} needs an index of one field; this one has {names}")
        return self._only

    def hits(self, items: Ints, scores: Floats) -> list[Hit]:
        """Return hits with the ids of items."""
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
        model = plan.ready
        if prior is not None:
            model = with_prior(plan, prior, field.query(terms))
        query, postings = field.located(terms)
        items, scores = np.empty(k, _INT), np.empty(k)
        sizes, scratch = np.array([len(query)]), self.scratch()
        n = self._find_kernel(
            query, sizes, postings, model, scratch, Heap(items, scores)
        )
        self._scratch.append(scratch)
        return (items, scores) if n == k else (items[:n], scores[:n])

    def _rank_whole(
        self,
        field: Prepared,
        plan: Plan,
        queries: Sequence[Terms],
        k: int,
    ) -> Ranking:
        n, (sizes, packed) = len(queries), field.queries(queries)
        items, scores = np.empty((n, k), np.int64), np.empty((n, k))
        scratch, best = self.scratch(), Heap(items.reshape(-1), scores.reshape(-1))
        self._find_kernel(packed, sizes, field.postings, plan.ready, scratch, best)
        self._scratch.append(scratch)
        filled = np.arange(k) < sizes[:, np.newaxis]
        return Ranking(np.repeat(np.arange(n), sizes), items[filled], scores[filled])


def named_hits(names: Callable[[int], str], items: Ints, scores: Floats) -> list[Hit]:
    """Make hits of items and scores; names : from number to id."""
    numbers = items.tolist()
    entries = zip(map(names, numbers), scores.tolist(), numbers, strict=True)
    return list(map(_new, repeat(Hit), entries))


def _require_size(k: int) -> None:
    whole = type(k) is int or isinstance(k, np.integer)
    if not whole or k < 0:
        raise Mistake(f"k is {k!r}: give a whole number, 0 or more")
