"""Searcher: the best k items of a query, under any model, exactly.

An item that matches in any field takes the document's part of every field (a length of
0 where the item lacks the field). Exhaustive: every posting is added.

Several fields are read as one text, in which a title counts three times
(``classmark.index.united``); words that are looked for in one field alone have the
model's score there. With weights of fields that are no whole numbers, and under
"cosine", which needs the norms of one field, an item's score is the weighted sum of the
model's scores in all fields. A weight times the logarithm of the item's prior is added
where one is given. Only items that share a term with the query are ranked; ties go to
the lower number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Bools, Floats, Ints
from classmark.index.feedback import Feedback, TopDocuments, expand, main_field
from classmark.index.kernels_models import Final, Heap
from classmark.index.kernels_search import (
    Scratch,
    accumulate,
    empty_scratch,
    find,
    parts_of,
)
from classmark.index.kernels_topk import select_all
from classmark.index.models import (
    Choice,
    FieldQuery,
    Prepared,
    Prior,
    Terms,
    frozen,
    with_prior,
)
from classmark.index.postings import Field
from classmark.index.united import (
    TITLE,
    TITLE_COUNTS,
    Names,
    United,
    is_patterned,
    together,
)
from classmark.index.vectors import Products, WeightedQuery
from classmark.problems import Mistake
from classmark.ranking import Ranking


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


Weights = Mapping[str, float] | None
How = tuple[Choice, Weights, Prior | None]


class TermScore(NamedTuple):
    """What one term of the query adds to an item's score.

    field : the field, or those, joined by +, that were read as one text; "" : all.
    """

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
    parts: tuple[TermScore, ...]
    own: float
    found: bool


MOST_TIMES = 100  # that a field counts in the text of all
_NONE = np.empty(0)
_INT = np.dtype(np.int64)
_ALONE = np.empty(0, _INT)
_new = tuple.__new__  # a third of the time of Hit(...): ten a query


class Hit(NamedTuple):
    """An item of an answer: its id, its score, its number."""

    id: str
    score: float
    number: int


TermWeights = Mapping[str, Mapping[str, float]]
Answered = tuple[Mapping[str, float], TopDocuments]  # a query, and its best documents


@dataclass(frozen=True)
class Question:
    """A query made ready: the terms of each field, and which items may be answers.

    query : as it was typed;  term_weights : field → analysed term → weight;  choice :
    the model and its parameters;  weights, prior : as ``Searcher.search`` takes them;
    members : which items the query describes, shape (items,), or None where all that
    have its words are described;  df : in how many items each term of some fields, read
    as one text, occurs, where these are some of many more.
    """

    searcher: BaseSearcher
    query: str
    term_weights: TermWeights
    choice: Choice
    weights: Weights = None
    prior: Prior | None = None
    members: Bools | None = None
    df: Mapping[Names, Mapping[str, int]] | None = None

    def answer(self, k: int = 10) -> list[Hit]:
        """Return the best ``k`` documents, best first; ties by document number."""
        require_size(k)
        return self.searcher.hits(*self.searcher.answer(self, k))

    def terms(self) -> list[str]:
        """Return all terms of the query, in any field."""
        return list(in_any(self.term_weights))

    def explain(self, item: int) -> Explanation:
        """Take the score of a document apart: each term's part, field by field."""
        return self.searcher.explain_answer(self, item)

    def with_feedback(self, feedback: Feedback) -> Question:
        """Return the question expanded by terms of its best documents."""
        if any(map(is_patterned, self.term_weights.values())):
            raise Mistake(
                "feedback makes a query of words longer, not one with * or ?: write "
                "the words out, or leave feedback out"
            )
        top = top_documents(self.answer(feedback.documents), self.choice[0])
        query = in_any(self.term_weights)
        (longer,) = self.searcher.lengthen([(query, top)], feedback)
        term_weights = {  # new terms get their weight in every field
            name: {t: w for t, w in longer.items() if t in each or t not in query}
            for name, each in self.term_weights.items()
        }
        return replace(self, term_weights=term_weights)


def top_documents(best: Sequence[Hit], model: str) -> TopDocuments:
    """The first documents of a query, as feedback takes them."""
    items = np.array([hit.number for hit in best], np.int64)
    return TopDocuments(items, np.array([hit.score for hit in best]), model)


def in_any(weights: TermWeights) -> dict[str, float]:
    """Return the largest weight of each term over all fields."""
    terms = dict.fromkeys(term for each in weights.values() for term in each)
    return {t: max(each.get(t, 0.0) for each in weights.values()) for t in terms}


class BaseSearcher(ABC):
    """Answers queries of analysed terms, here or on many machines.

    names : from an item's number to its id;  n_items : how many items there are;
    fields : their names.

    A query is a sequence of analysed terms, repeats counting, or a mapping from term to
    weight.
    """

    names: Callable[[int], str]
    n_items: int
    fields: Collection[str]

    def search(
        self,
        terms: Terms,
        k: int = 10,
        model: str = "bm25",
        *,
        fields: Weights = None,
        prior: Prior | None = None,
        **parameters: float | str,
    ) -> list[Hit]:
        """Return the best ``k`` items, best first.

        fields : the weight of each field; None: 1 for each there is.
        """
        require_size(k)
        return self.hits(*self.find(terms, k, ((model, parameters), fields, prior)))

    def rank(
        self,
        queries: Sequence[Terms],
        k: int = 10,
        model: str = "bm25",
        **parameters: float | str,
    ) -> Ranking:
        """Answer many queries of a one-field index in one call, as a ``Ranking``."""
        require_size(k)
        return self.find_many(queries, k, (model, parameters))

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
        ``Searcher.weigh`` made of it.  The items are unit vectors of tf · (ln((1 +
        N)/(1 + df)) + 1): those of ``Vectorizer``. Items that share no term with the
        query have product 0, and are ranked if ``every``.
        """
        require_size(k)
        return self.hits(*self.multiply(weights, k, every))

    def explain(
        self,
        terms: Terms,
        item: int,
        model: str = "bm25",
        *,
        fields: Weights = None,
        prior: Prior | None = None,
        **parameters: float | str,
    ) -> Explanation:
        """Take apart the score that ``search`` gives an item."""
        question = self.question(terms, ((model, parameters), fields, prior))
        return self.explain_answer(question, item)

    def question(self, terms: Terms, how: How) -> Question:
        """Make a question of the same terms in every field."""
        counts = terms if isinstance(terms, Mapping) else Counter(terms)
        term_weights = dict.fromkeys(self.fields, counts)
        return Question(self, "", term_weights, *how)

    def hits(self, items: Ints, scores: Floats) -> list[Hit]:
        """Return hits with the ids of items."""
        numbers = items.tolist()
        entries = zip(map(self.names, numbers), scores.tolist(), numbers, strict=True)
        return list(map(_new, repeat(Hit), entries))

    def require_item(self, item: int) -> None:
        """Refuse the number of an item that is not there."""
        if not 0 <= item < self.n_items:
            raise Mistake(f"item {item} is not there: give 0 to {self.n_items - 1}")

    def find(self, terms: Terms, k: int, how: How) -> tuple[Ints, Floats]:
        """Return the best ``k`` items of a query and their scores."""
        return self.answer(self.question(terms, how), k)

    @abstractmethod
    def find_many(self, queries: Sequence[Terms], k: int, choice: Choice) -> Ranking:
        """Return the best ``k`` items of each query of a one-field index."""

    @abstractmethod
    def multiply(
        self, weights: Mapping[str, float] | WeightedQuery, k: int, every: bool
    ) -> tuple[Ints, Floats]:
        """Return the ``k`` items with the largest products with a vector."""

    @abstractmethod
    def answer(self, question: Question, k: int) -> tuple[Ints, Floats]:
        """Return the best ``k`` items of those that a question describes."""

    @abstractmethod
    def explain_answer(self, question: Question, item: int) -> Explanation:
        """Take apart the score that ``answer`` gives an item."""

    @abstractmethod
    def lengthen(
        self, queries: Sequence[Answered], feedback: Feedback
    ) -> list[dict[str, float]]:
        """Return each query expanded by terms of its best documents."""


class Searcher(BaseSearcher):
    """Answers queries over the fields of one generation of an index.

    fields : one ``Field``, or several by name, over the same items.  names : from an
    item's number to its id; without it the number itself, as a string.

    Threads may share a searcher.

    >>> from classmark.index.postings import field_of
    >>> field = field_of([[2, 0], [1, 1], [0, 3]], ["ant", "bee"])
    >>> [hit.number for hit in Searcher(field).search(["bee"], k=2)]
    [2, 1]
    """

    fields: dict[str, Prepared]

    def __init__(
        self,
        fields: Field | Mapping[str, Field],
        *,
        names: Callable[[int], str] = str,
    ) -> None:
        fields_by_name = fields if isinstance(fields, Mapping) else {"text": fields}
        if len({field.n_items for field in fields_by_name.values()}) != 1:
            raise Mistake("fields differ in their number of items: give one index's")
        self.fields = {name: Prepared(field) for name, field in fields_by_name.items()}
        self.names = names
        first = next(iter(self.fields.values()))
        self.n_items, self.alive = first.field.n_items, first.alive
        self._only = first if len(self.fields) == 1 else None
        self._united: dict[tuple[tuple[str, int], ...], United] = {}
        self._scratch: list[Scratch] = []

    def find(self, terms: Terms, k: int, how: How) -> tuple[Ints, Floats]:
        """Return the best ``k`` items of a query and their scores."""
        (choice, weights, prior), field, k = how, self._only, min(k, self.n_items)
        plan = None if field is None or weights is not None else field.ask_plan(choice)
        if field is None or plan is None or plan.model.function is not None:
            return self._add_fields(self.question(terms, how), k)
        model = plan.ready
        if prior is not None:
            model = with_prior(plan, prior, field.query(terms))
        query, postings = field.located(terms)
        items, scores = np.empty(k, _INT), np.empty(k)
        scratch, heap = self._accumulators(), Heap(items, scores)
        n = find(query, _ALONE, postings, model, scratch, heap)
        self._scratch.append(scratch)
        return (items, scores) if n == k else (items[:n], scores[:n])

    def find_many(self, queries: Sequence[Terms], k: int, choice: Choice) -> Ranking:
        """Return the best ``k`` items of each query of a one-field index."""
        field = self.one_field("rank")
        k, n = min(k, self.n_items), len(queries)
        plan = field.ask_plan(choice, n)
        if field.whole is None or plan.model.function is not None:
            answers = [self.find(terms, k, (choice, None, None)) for terms in queries]
            sizes = np.array([len(items) for items, _ in answers], np.int64)
            best = np.concatenate([np.empty(0, np.int64), *(i for i, _ in answers)])
            best_scores = np.concatenate([_NONE, *(s for _, s in answers)])
            return Ranking(np.repeat(np.arange(n), sizes), best, best_scores)
        sizes, packed = field.queries(queries)
        items, scores = np.empty((n, k), np.int64), np.empty((n, k))
        scratch, heap = self._accumulators(), Heap(items.ravel(), scores.ravel())
        find(packed, sizes, field.postings, plan.ready, scratch, heap)
        self._scratch.append(scratch)
        filled = np.arange(k) < sizes[:, np.newaxis]
        return Ranking(np.repeat(np.arange(n), sizes), items[filled], scores[filled])

    def multiply(
        self, weights: Mapping[str, float] | WeightedQuery, k: int, every: bool
    ) -> tuple[Ints, Floats]:
        """Return the ``k`` items with the largest products with a vector."""
        query = self.weigh(weights) if isinstance(weights, Mapping) else weights
        if all(query.products.field is not field for field in self.fields.values()):
            raise Mistake("weights were made ready for another index: weigh them anew")
        scratch = self._accumulators()
        best = query.products.find(query, k, every, scratch.acc)
        self._scratch.append(scratch)
        return best

    def weigh(self, weights: Mapping[str, float]) -> WeightedQuery:
        """Prepare a vector for ``search_vector``, to be used more than once."""
        return self.products.weigh(weights)

    @cached_property
    def products(self) -> Products:
        """What multiplies the items of the only field with vectors."""
        return Products(self.one_field("search_vector"))

    def answer(self, question: Question, k: int) -> tuple[Ints, Floats]:
        """Return the best ``k`` items of those that a question describes."""
        first, *others = question.term_weights.values()
        alike = all(each == first for each in others) and not is_patterned(first)
        if question.members is None and question.df is None and alike:
            how = (question.choice, question.weights, question.prior)
            return self.find(first, k, how)
        return self._add_fields(question, k)

    def explain_answer(self, question: Question, item: int) -> Explanation:
        """Take apart the score that ``answer`` gives an item, field by field."""
        self.require_item(item)
        prior, parts = question.prior, list[TermScore]()
        document_part = 0.0 if prior is None else float(prior.parts[item])
        score, matched = 0.0, False
        for name, field, field_query in self._asked(question):
            out = np.empty(len(field_query.query.numbers))
            if field_query.plan.model.function is None:
                matched |= parts_of(field_query.scoring, item, out)
            else:
                for at, (items, values) in enumerate(field.parts(field_query)):
                    here = values[items == item]
                    out[at] = here.sum()
                    matched |= len(here) > 0
            weights = field_query.query.weights.tolist()
            rows = zip(field.names(field_query), weights, out.tolist(), strict=True)
            parts += [TermScore(name, *row) for row in rows]
            score += float(sum(out.tolist()))
            document_part += field_query.offset
            if field_query.plan.model.has_document_part:
                extra = field_query.plan.ready.extra[item]
                document_part += field_query.scale * float(extra)
        score += document_part
        return Explanation(score, tuple(parts), document_part, bool(matched))

    def lengthen(
        self, queries: Sequence[Answered], feedback: Feedback
    ) -> list[dict[str, float]]:
        """Return each query expanded by terms of its best documents."""
        field = main_field(self.fields)
        return [expand(field, terms, best, feedback) for terms, best in queries]

    def one_field(self, act: str) -> Prepared:
        """Return the only field, or say that there are several."""
        if self._only is None:
            names = ", ".join(map(repr, self.fields))
            raise Mistake(f"{act} needs an index of one field; this one has {names}")
        return self._only

    def _accumulators(self) -> Scratch:
        """Take accumulators, every one wiped; put them back, wiped again."""
        try:
            return self._scratch.pop()
        except IndexError:
            return empty_scratch(self.n_items)

    def select(
        self,
        sums: Floats,
        k: int,
        document_parts: Floats = _NONE,
        offset: float = 0.0,
        members: Bools | None = None,
    ) -> tuple[Ints, Floats]:
        """Return the best ``k`` items by sum + document part + offset; wipe the sums.

        members : which items may be answers; None: all that are alive.
        """
        k = min(k, self.n_items)
        items, scores = np.empty(k, np.int64), np.empty(k)
        alive = self.alive if members is None else frozen(members, np.bool_)
        final = Final(alive, document_parts, 1.0, offset)
        n = select_all(sums, False, final, Heap(items, scores))
        return items[:n], scores[:n]

    def _weighted(self, weights: Weights) -> list[tuple[str, Prepared, float]]:
        """Return the fields with their weights; refuse unknown and negative ones."""
        fields = self.fields
        field_weights = dict.fromkeys(fields, 1.0) if weights is None else weights
        for name, weight in field_weights.items():
            if name not in fields:
                names = ", ".join(fields)
                raise Mistake(f"field {name!r} is not there: there is {names}")
            if not 0.0 <= weight < np.inf:
                raise Mistake(f"weight of field {name!r} is {weight!r}: give 0 or more")
        return [(name, fields[name], float(w)) for name, w in field_weights.items()]

    def _asked(self, question: Question) -> Iterator[tuple[str, Prepared, FieldQuery]]:
        """Make a question ready in each of the texts in which it is looked for."""
        choice, text = question.choice, self._one_text(question)
        if text is None:
            for name, field, weight in self._weighted(question.weights):
                terms = question.term_weights[name]
                if is_patterned(terms):
                    asked = self.united({name: 1}), (question.df or {}).get((name,))
                    yield name, asked[0], asked[0].ask(terms, choice, weight, asked[1])
                else:
                    yield name, field, field.ask(terms, choice, weight)
            return
        for names, terms in together(question.term_weights).items():
            here = {name: text[name] for name in names if text.get(name)}
            if len(here) == 1:
                (name,), here = here, dict.fromkeys(here, 1)
                if not is_patterned(terms):
                    yield name, self.fields[name], self.fields[name].ask(terms, choice)
                    continue
            if here:
                scorer, df = self.united(here), (question.df or {}).get(tuple(here))
                label = "" if len(here) == len(text) else "+".join(here)
                yield label, scorer, scorer.ask(terms, choice, df=df)

    def _one_text(self, question: Question) -> dict[str, int] | None:
        """What each field counts in the text that all of them are; None: they differ.

        Unlike weights that are whole numbers, others cannot multiply counts.
        """
        if self._only is not None or question.choice[0] == "cosine":
            return None
        if question.weights is None:
            return {n: TITLE_COUNTS if n == TITLE else 1 for n in self.fields}
        weights = self._weighted(question.weights)
        if any(weight != int(weight) or weight > MOST_TIMES for *_, weight in weights):
            return None
        return {name: int(weight) for name, _, weight in weights if weight}

    def united(self, fields: Mapping[str, int]) -> United:
        """Return fields, by what each counts, as one text, patterns being terms."""
        key = tuple(sorted(fields.items()))
        if key not in self._united:
            each = [(self.fields[name], n) for name, n in key]
            self._united[key] = United(each)
        return self._united[key]

    def document_frequencies(self, question: Question) -> dict[Names, dict[str, int]]:
        """Count the items alive that have each term of the texts that are united."""
        text, groups = self._one_text(question), together(question.term_weights)
        if text is None:
            alone = question.term_weights.items()
            groups = {(name,): dict(terms) for name, terms in alone}
        counts: dict[Names, dict[str, int]] = {}
        for names, terms in groups.items():
            here = tuple(name for name in names if text is None or text.get(name))
            if len(here) > 1 or is_patterned(terms):
                united = self.united(dict.fromkeys(here, 1))
                counts[here] = {term: united.count(term) for term in terms}
        return counts

    def _add_fields(self, question: Question, k: int) -> tuple[Ints, Floats]:
        document_parts, offset = np.zeros(self.n_items), 0.0
        if question.prior is not None:
            document_parts += question.prior.parts
        scratch = self._accumulators()
        for _, field, field_query in self._asked(question):
            if field_query.plan.model.function is None:
                accumulate(field_query.scoring, scratch.acc)
            else:
                for items, values in field.parts(field_query):
                    scratch.acc[items] += values + 0.0  # a zero is not −0.0
            offset += field_query.offset
            if field_query.plan.model.has_document_part:
                document_parts += field_query.scale * field_query.plan.ready.extra
        parts, members = document_parts, question.members
        best = self.select(scratch.acc, k, parts, offset, members)
        self._scratch.append(scratch)
        return best


def require_size(k: int) -> None:
    """Refuse a number of answers that is none."""
    whole = type(k) is int or isinstance(k, np.integer)
    if not whole or k < 0:
        raise Mistake(f"k is {k!r}: give a whole number, 0 or more")
