"""The retrieval models and their parameters, and what each is over one field."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from classmark.arrays import Array, Floats, Ints
from classmark.index.kernels_impacts import weigh_lists
from classmark.index.kernels_models import (
    COSINE,
    PLUS,
    Scoring,
    document_parts,
    features,
)
from classmark.index.kernels_pruning import BLOCK, block_statistics
from classmark.index.kernels_search import Postings, Ready, prepare
from classmark.index.kernels_vectors import square_norms
from classmark.index.postings import Field, Lists
from classmark.language import _
from classmark.problems import Mistake, refusal


class Parameter(NamedTuple):
    """A number a model takes at query time: its default and where it may lie."""

    default: float
    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below and math.isfinite(value)

    def __str__(self) -> str:
        least = f"{'above' if self.open_low else 'at least'} {self.low:g}"
        if self.high == math.inf:
            return least
        return f"{least} and {'below' if self.open_high else 'at most'} {self.high:g}"


class TermStatistics(NamedTuple):
    """How many items have a term, and how often it occurs in all of them."""

    df: float
    cf: float


class FieldStatistics(NamedTuple):
    """How many items a field has, their tokens, and the mean length."""

    n: float
    tokens: float
    mean: float


FUNCTION = -1  # the code of models that are functions


class Model(NamedTuple):
    """A model: its number in the kernels, its parameters in order, its nature.

    grows : a part never falls when tf grows or the document gets shorter, so that
    bounds of blocks hold.  has_document_part : documents score something of their own.
    function : what a term adds, computed with NumPy, for models without kernels:
    function(tf, length, term, field, **parameters) → (postings,), with tf and length of
    the same shape, ``TermStatistics`` and ``FieldStatistics`` (docs/extending.md).
    """

    name: str
    code: int = FUNCTION
    parameters: Mapping[str, Parameter] = {}
    grows: bool = True
    has_document_part: bool = False
    function: Callable[..., Any] | None = None


_BM25 = {"k1": Parameter(1.2, 0.0), "b": Parameter(0.75, 0.0, 1.0)}
_MU = {"mu": Parameter(2000.0, 0.0, open_low=True)}
_C = {"c": Parameter(1.0, 0.0, open_low=True)}
_LAMBDA = {"lambda": Parameter(0.1, 0.0, 1.0, open_low=True)}
_P = {"p": Parameter(0.5, 0.0, 1.0, open_low=True, open_high=True)}

#: All models by name. A new one is a new entry (docs/extending.md).
MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("bm25", 0, _BM25),
        Model("robertson", 1, _BM25),
        Model("atire", 2, _BM25),
        Model("bm25+", 3, _BM25 | {"delta": Parameter(1.0, 0.0)}),
        Model("bm25l", 4, _BM25 | {"delta": Parameter(0.5, 0.0)}),
        Model("bim", 5, _P),
        Model("jm", 6, _LAMBDA),
        Model("dirichlet", 7, _MU, has_document_part=True),
        Model("kl", 8, _MU, has_document_part=True),
        Model("pl2", 9, _C, grows=False),
        Model("inl2", 10, _C),
        Model("dph", 11, {}, grows=False),
        Model("lgd", 12, _C),
        Model("spl", 13, _C),
        Model("cosine", 14, {}, grows=False),
        Model("tf", 15, {}),
        Model("idf", 16, {}),
        Model("tfidf", 17, {}),
        Model("inquery", 18, {}),
    )
}
VARIANTS = {"lucene": "bm25"} | {
    name: name for name in ("robertson", "atire", "bm25+", "bm25l")
}


def resolve(
    name: str, parameters: Mapping[str, float | str]
) -> tuple[Model, tuple[float, ...]]:
    """Return the model of a name and its parameters' values, defaults filled in.

    ``variant=`` of "bm25" is another way to name one of its kin. A trailing underscore
    is left out: ``lambda_`` is λ, as Python keeps the word for itself.

    >>> model, values = resolve("bm25", {"b": 0.3})
    >>> model.code, values
    (0, (1.2, 0.3))
    >>> resolve("bm25", {"variant": "bm25l"})[0].name
    'bm25l'
    """
    overrides = {key.rstrip("_"): value for key, value in parameters.items()}
    if name == "bm25" and "variant" in overrides:
        variant = overrides.pop("variant")
        if variant not in VARIANTS:
            raise Mistake(f"variant is {variant!r}: choose one of {_names(VARIANTS)}")
        name = VARIANTS[str(variant)]
    if name not in MODELS:
        raise refusal(
            "model is %(name)r: choose one of %(names)s",
            name=name,
            names=_names(MODELS),
        )
    model = MODELS[name]
    for key, value in overrides.items():
        if key not in model.parameters:
            raise refusal(
                "%(name)s has no parameter %(key)r: it takes %(allowed)s",
                name=name,
                key=key,
                allowed=_names(model.parameters) or _("none"),
            )
        if value not in model.parameters[key]:
            raise Mistake(
                f"{key} of {name} is {value!r}: give a number {model.parameters[key]}"
            )
    values = {key: p.default for key, p in model.parameters.items()} | overrides
    return model, tuple(float(values[key]) for key in model.parameters)


def _names(choices: Mapping[str, object]) -> str:
    return ", ".join(map(repr, choices))


V = TypeVar("V")
MEMO = 1 << 20  # words of a field remembered at most


class Memo(dict[str, V]):
    """What a function returns for each word, remembered for so many at most.

    >>> Memo(len, 2)["bees"]
    4
    """

    def __init__(self, function: Callable[[str], V], most: int) -> None:
        super().__init__()
        self._function, self._most = function, most

    def __missing__(self, word: str) -> V:
        if len(self) >= self._most:
            self.clear()
        self[word] = value = self._function(word)
        return value


REPEATED = 2  # queries from which on impacts are made
BESIDE, PER_IMPACT = 6, 2  # bytes a posting: of products, and of a plan's impacts
KEPT = 16  # plans cached at most: a sweep over parameters does not fill the memory
STRIDE = 1 << 14  # terms decoded together where the lists are not all in memory

_FLOAT = np.dtype(np.float64)

Terms = Iterable[str] | Mapping[str, float]
Choice = tuple[str, Mapping[str, float | str]]


class Query(NamedTuple):
    """The terms of a query that occur in a field, and their weights."""

    numbers: Ints
    weights: Floats


class Plan(NamedTuple):
    """A model, and what it is with its parameters for one field.

    asked : how many queries it was made ready for, up to ``REPEATED``.
    """

    model: Model
    ready: Ready
    asked: int = 0


class Prior(NamedTuple):
    """What is added to every item's score: shape (items,), and the largest of it."""

    parts: Floats
    most: float


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


class FieldQuery(NamedTuple):
    """A query made ready for one field: its constants, and where its lists are.

    scale, offset : of the items' own parts;  statistics : df and cf of each term, shape
    (terms, 2);  terms : those that are no terms of a field, but united of some.
    """

    plan: Plan
    query: Query
    scoring: Scoring
    scale: float
    offset: float
    statistics: Ints
    terms: tuple[str, ...] = ()


def frozen(array: Array, kind: Any) -> Array:
    """Return a read-only view: one type for mapped arrays and those in memory."""
    view = np.ascontiguousarray(array, dtype=kind).view(np.ndarray)
    if view.flags.writeable:
        view = view[:]
        view.flags.writeable = False
    return view


def frozen_lists(lists: Lists) -> Lists:
    """Return the same lists, read-only."""
    items, counts, *bounds = lists
    flat = frozen(items, np.uint32), frozen(counts, np.uint32)
    return Lists(*flat, *(frozen(each, np.int64) for each in bounds))


def strides(field: Field) -> Iterator[tuple[int, Lists]]:
    """Go over all lists, some at a time; yield the number of the first with them."""
    for first in range(0, field.n_terms, STRIDE):
        numbers = np.arange(first, min(first + STRIDE, field.n_terms))
        yield first, frozen_lists(field.lists(numbers))


def _key(model: str, parameters: Mapping[str, float | str]) -> tuple[Any, ...]:
    """By what a plan is remembered."""
    return (model, *parameters.items()) if parameters else (model,)


class Prepared:
    """A field with all that is derived from it, made when first needed.

    >>> from classmark.index.postings import field_of
    >>> field = Prepared(field_of([[2, 0], [1, 1]], ["ant", "bee"]))
    >>> field.query(["bee", "ant", "bee", "cat"])
    Query(numbers=array([1, 0]), weights=array([2., 1.]))
    """

    def __init__(self, field: Field) -> None:
        self.field = field
        self.df = frozen(field.df, np.uint32)
        self.cf = frozen(field.cf, np.int64)
        self.lengths = frozen(field.lengths, np.uint32)
        alive = field.alive
        self.alive = frozen(np.empty(0, bool) if alive is None else alive, np.bool_)
        self.whole = None if field.whole is None else frozen_lists(field.whole)
        self.numbers = Memo(self._number, MEMO)
        self.plans: dict[tuple[Any, ...], Plan] = {}

    def _number(self, term: str) -> int:
        """Return the number of a term; −1: no item alive has it."""
        number = self.field.number(term)
        return -1 if number is None else int(number)

    def query(self, terms: Terms) -> Query:
        """Count the tokens of a query, or take its weights; absent terms drop out."""
        if isinstance(terms, Mapping):
            numbers = np.array(list(map(self.numbers.__getitem__, terms)), np.int64)
            weights = np.array(list(terms.values()), np.float64)
            mask = (numbers >= 0) & (weights != 0.0)
            return Query(numbers[mask], weights[mask])
        counts = self.tally(terms)
        return Query(np.array(list(counts), np.int64), np.array(list(counts.values())))

    def tally(self, tokens: Iterable[str]) -> dict[int, float]:
        """Count the tokens by their terms' numbers, in order of appearance."""
        counts: dict[int, float] = {}
        numbers = self.numbers
        for token in tokens:
            number = numbers[token]
            counts[number] = counts.get(number, 0.0) + 1.0
        counts.pop(-1, None)
        return counts

    def packed_query(self, terms: Terms) -> list[float]:
        """Return a query as ``find`` takes it: numbers, then weights."""
        if type(terms) is not list and isinstance(terms, Mapping):
            packed: list[float] = np.concatenate(self.query(terms)).tolist()
            return packed
        counts = self.tally(terms)
        return [*counts, *counts.values()]

    def queries(self, queries: Sequence[Terms]) -> tuple[Ints, Floats]:
        """Pack many queries into one array; return each one's length, and the array."""
        ends, packed = [0], list[float]()
        for terms in queries:
            packed += self.packed_query(terms)
            ends.append(len(packed))
        return np.diff(ends), np.array(packed, _FLOAT)

    def lists(self, query: Query) -> tuple[Lists, Ints, Ints]:
        """Return decoded lists, the number of each query term's, and their table."""
        if self.whole is not None:
            return self.whole, query.numbers, self.postings.table
        lists = frozen_lists(self.field.lists(query.numbers))
        df, cf = self.df[query.numbers], self.cf[query.numbers]
        columns = (lists.begins, lists.ends, df, cf, np.zeros_like(cf))
        return lists, np.arange(len(df), dtype=np.int64), np.column_stack(columns)

    def located(self, terms: Terms) -> tuple[Floats, Postings]:
        """Return a query and the lists it is about, as ``find`` takes them."""
        if self.whole is not None:
            return np.array(self.packed_query(terms), _FLOAT), self.postings
        query = self.query(terms)
        lists, places, table = self.lists(query)
        packed = np.concatenate((places, query.weights), dtype=np.float64)
        none = np.empty(0, np.uint32)
        return packed, Postings(*lists[:2], table, none, none, self.alive)

    def ask(self, terms: Terms, choice: Choice, weight: float = 1.0) -> FieldQuery:
        """Make a query ready, all its parts times ``weight``."""
        query = self.query(terms)
        return self.ready(self.plan(*choice), query, self.lists(query), weight)

    def ready(
        self,
        plan: Plan,
        query: Query,
        located: tuple[Lists, Ints, Ints],
        weight: float = 1.0,
    ) -> FieldQuery:
        """Put the terms of a query in order, and make their constants.

        located : as ``lists`` gives it.
        """
        lists, places, table = located
        m = len(places)
        spans, a, b = np.empty((m, 2), np.int64), np.empty(m), np.empty(m)
        order = np.zeros(m, np.int64)
        scale, offset, _ = prepare(
            plan.model.code,
            places,
            query.weights,
            table,
            plan.ready.world,
            order,
            (spans, a, b),
        )
        a *= weight
        if plan.model.code == PLUS:
            b *= weight
        query = Query(query.numbers[order], query.weights[order])
        model = plan.ready[:3]
        scoring = Scoring(*model, lists.items, lists.counts, spans, a, b)
        statistics = table[places[order], 2:4]
        own = scale * weight, offset * weight
        return FieldQuery(plan, query, scoring, *own, statistics)

    def names(self, query: FieldQuery) -> list[str]:
        """Return the terms of a query that was made ready, in its order."""
        return [self.field.term(number) for number in query.query.numbers.tolist()]

    def plan(self, model: str, parameters: Mapping[str, float | str]) -> Plan:
        """Return the plan of a model, from the cache where possible."""
        key = _key(model, parameters)
        try:
            return self.plans[key]
        except KeyError:
            if len(self.plans) >= KEPT:
                self.plans.pop(next(iter(self.plans)))
        except TypeError as error:
            raise Mistake(f"parameters of {model}: give numbers") from error
        self.plans[key] = plan = self._planned(*resolve(model, parameters))
        return plan

    def ask_plan(self, choice: Choice, queries: int = 1) -> Plan:
        """Return the plan for some queries, with impacts if it is asked again."""
        plan = self.plan(*choice)
        if plan.asked == REPEATED:
            return plan
        ready, asked = plan.ready, min(REPEATED, plan.asked + queries)
        if asked == REPEATED and self.whole is not None and plan.model.function is None:
            ready = self._with_impacts(ready)
        self.plans[_key(*choice)] = plan = Plan(plan.model, ready, asked)
        return plan

    def _with_impacts(self, ready: Ready) -> Ready:
        """Make impacts, where there is room for them and none is below 0."""
        items, counts, table = self.postings[:3]
        taken = sum(len(plan.ready.impacts) for plan in tuple(self.plans.values()))
        bytes_needed = BESIDE * len(items) + PER_IMPACT * (taken + len(items))
        if len(ready.extra) or bytes_needed > self.field.room:
            return ready
        peaks, impacts = np.empty(len(table)), np.zeros(len(items), np.uint16)
        model, lists = ready[:3], (items, counts)
        if not weigh_lists(*model, lists, table, peaks, impacts):
            return ready
        return ready._replace(peaks=peaks, impacts=impacts)

    def _planned(self, model: Model, values: tuple[float, ...]) -> Plan:
        n, total = self.field.n_alive, self.field.total_length
        world = np.zeros(6)
        world[:3] = n, total, total / n if total else 1.0
        world[3 : 3 + len(values)] = values
        x, extra = np.empty(self.field.n_items), np.empty(0)
        if model.code == COSINE:
            x = self.inverse_norms
        else:
            features(model.code, self.lengths, world, x)
        if model.has_document_part:
            extra = np.empty(self.field.n_items)
            document_parts(model.code, self.lengths, world, extra)
        grows = model.grows and model.function is None
        strategy = 2 if grows and self.whole is not None else 0
        largest = float(extra.max()) if len(extra) else 0.0
        peaks = np.full(self.field.n_terms if strategy else 0, np.nan)
        no_impacts = np.empty(0, np.uint16)
        ready = Ready(model.code, world, x, extra, largest, peaks, strategy, no_impacts)
        return Plan(model, ready)

    def parts(self, query: FieldQuery) -> Iterator[tuple[Array, Floats]]:
        """Yield, term by term, the items of a model's function and what it adds."""
        model, world = query.plan.model, query.plan.ready.world.tolist()
        function = model.function
        if function is None:
            raise Mistake(f"model {model.name!r} has kernels and no function")
        params = dict(zip(model.parameters, world[3:], strict=False))
        scoring, field = query.scoring, FieldStatistics(*world[:3])
        for at, statistics in enumerate(query.statistics.tolist()):
            begin, end = scoring.spans[at]
            items = scoring.items[begin:end]
            tf, lengths = (
                counts.astype(np.float64)
                for counts in (scoring.counts[begin:end], self.lengths[items])
            )
            term = TermStatistics(*map(float, statistics))
            values = np.asarray(function(tf, lengths, term, field, **params))
            if values.shape != tf.shape or not np.isfinite(values).all():
                raise Mistake(
                    f"the function of model {model.name!r} is to return a finite "
                    f"number for each of {len(tf)} postings: it returned {values!r:.80}"
                )
            yield items, values * scoring.a[at]

    @cached_property
    def idf(self) -> Floats:
        """The rarity of each term: ln((1 + N)/(1 + df)) + 1."""
        from classmark.weighting.vectorizer import smooth_idf

        weights: Floats = smooth_idf(self.df, self.field.n_alive)
        return weights

    @cached_property
    def inverse_norms(self) -> Floats:
        """1 / ‖tf · idf‖ of each item, 0 where it has no term."""
        squares = np.zeros(self.field.n_items)
        for first, lists in strides(self.field):
            square_norms(self.idf[first : first + STRIDE], tuple(lists), squares)
        norms = np.sqrt(squares)
        return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)

    @cached_property
    def postings(self) -> Postings:
        """All lists, where they are in memory, with the statistics of their blocks."""
        lists = self.whole
        if lists is None:
            raise Mistake("the lists are not all in memory: open with more of it")
        sizes = (lists.ends - lists.begins + BLOCK - 1) // BLOCK
        firsts, total = np.cumsum(sizes) - sizes, int(sizes.sum())
        most, least = np.empty(total, np.uint32), np.empty(total, np.uint32)
        block_statistics(tuple(lists), self.lengths, firsts, most, least)
        columns = (lists.begins, lists.ends, self.df, self.cf, firsts)
        table = np.column_stack(columns).astype(np.int64)
        return Postings(lists.items, lists.counts, table, most, least, self.alive)
