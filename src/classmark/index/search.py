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
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Floats, Ints
from classmark.index.feedback import Feedback, Found, expand, main_field
from classmark.index.plans import Choice, Plan, Prepared, Query, Terms
from classmark.index.postings import Field, Lists
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
    given = np.asarray(probabilities, np.float64)
    if given.ndim != 1:
        raise Mistake(f"prior has {given.ndim} dimensions: give one number per item")
    bad = np.flatnonzero(~((given > 0.0) & np.isfinite(given)))
    if len(bad):
        raise Mistake(f"prior of item {bad[0]} is {given[bad[0]]}: give one above 0")
    if not np.isfinite(weight):
        raise Mistake(f"weight of the prior is {weight!r}: give a number")
    parts = np.log(given) * weight
    return Prior(parts, float(parts.max(initial=-np.inf)))


def with_prior(plan: Plan, prior: Prior, query: Query) -> tuple[Floats, float]:
    """Join the prior to the items' own parts, which the model scales by the query."""
    if len(prior.parts) != len(plan.x):
        raise Mistake(
            f"prior has {len(prior.parts)} items: the index has {len(plan.x)}"
        )
    if not plan.model.has_document_part:
        return prior.parts, prior.most
    scale = float(query.weights.sum()) if plan.model.name == "dirichlet" else 1.0
    joined = plan.extra + prior.parts / scale if scale else prior.parts
    return joined, float(joined.max(initial=-np.inf))


Weights = Mapping[str, float] | None


def weighted_fields(
    known: Mapping[str, Prepared], weights: Weights
) -> list[tuple[str, Prepared, float]]:
    """Return the fields asked for with their weights; refuse unknown and negative."""
    wanted = dict.fromkeys(known, 1.0) if weights is None else weights
    for name, weight in wanted.items():
        if name not in known:
            raise Mistake(f"field {name!r} is not there: there is {', '.join(known)}")
        if not 0.0 <= weight < np.inf:
            raise Mistake(f"weight of field {name!r} is {weight!r}: give 0 or more")
    return [(name, known[name], float(weight)) for name, weight in wanted.items()]


def find_in_fields(
    searcher: Searcher,
    terms: Terms,
    k: int,
    choice: Choice,
    extras: tuple[Weights, Prior | None],
) -> tuple[Ints, Floats]:
    """Return the best items and their scores over weighted fields and a prior."""
    from classmark.index.kernels_search import accumulate
    from classmark.index.kernels_topk import select_all

    weights, prior = extras
    fields = weighted_fields(searcher.fields, weights)
    own, offset = np.zeros(searcher.n_items), 0.0
    if prior is not None:
        own += prior.parts
    scratch = searcher.scratch()
    for _, field, weight in fields:
        asked = field.ask(terms, choice, weight)
        code, world = asked.plan.model.code, asked.plan.world
        accumulate(code, world, asked.terms, asked.data, scratch.acc)
        offset += asked.offset
        if asked.plan.model.has_document_part:
            own += asked.scale * asked.plan.extra
    k = min(k, searcher.n_items)
    items, scores = np.empty(k, np.int64), np.empty(k)
    alive = next(iter(searcher.fields.values())).alive
    rule = (alive, own, 1.0, offset)
    n = select_all(scratch.acc, False, rule, items, scores)
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
    own, score, found = 0.0 if prior is None else float(prior.parts[item]), 0.0, False
    for name, field, weight in weighted_fields(searcher.fields, weights):
        asked = field.ask(terms, choice, weight)
        out = np.empty(len(asked.query.numbers))
        code, world = asked.plan.model.code, asked.plan.world
        found |= parts_of(code, world, asked.terms, asked.data, item, out)
        rows = zip(*(a.tolist() for a in (*asked.query, out)), strict=True)
        parts += [Part(name, field.field.term(t), w, value) for t, w, value in rows]
        score += float(sum(out.tolist()))
        own += asked.offset
        if asked.plan.model.has_document_part:
            own += asked.scale * float(asked.plan.extra[item])
    return Explanation(score + own, tuple(parts), own, bool(found))


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
        from classmark.index import kernels_search as kernels

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
