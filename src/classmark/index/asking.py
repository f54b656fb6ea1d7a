"""A query as people type it, answered: first the set it describes, then the ranking.

With any model, a query of the language in ``classmark.index.query_language`` is
answered by exactly the exhaustive ranking of its words, restricted to the documents it
describes.
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from classmark.arrays import Bools, Floats, Ints
from classmark.index.boolean import (
    Documents,
    QueryContext,
    documents_of,
    search_beliefs,
)
from classmark.index.feedback import (
    Feedback,
    TopDocuments,
    expand,
    feedback_from,
    main_field,
)
from classmark.index.plans import Choice, frozen
from classmark.index.query_language import (
    FIELD,
    OPERATORS,
    And,
    Belief,
    Group,
    MalformedQuery,
    Node,
    Not,
    Or,
    Phrase,
    Word,
    parse,
)
from classmark.index.search import Explanation, Part, Prior, Weights, weighted_fields
from classmark.problems import Mistake
from classmark.text.analyzer import Analyzer
from classmark.text.tokens import words

if TYPE_CHECKING:
    from classmark.index.field import StoredField
    from classmark.index.plans import Terms
    from classmark.index.search import Hit, Searcher


_WORDS = re.compile("[a-z0-9]+")
_OPERATOR = re.compile(rf"\s*#(?:{'|'.join(OPERATORS)})\s*\(")
_MOST = 1 << 16


class QueryTerms(dict[str, str]):
    """A cache of the term of each query word; "" where the word has none.

    >>> QueryTerms(Analyzer()).of("The hives of bees")
    ['hive', 'bee']
    """

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self._analyzer = analyzer

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST:
            self.clear()
        term = self[word] = self._analyzer.terms([word])[0]
        return term

    def of(self, query: str) -> list[str]:
        """Return the terms of a text, as the analyzer does."""
        tokens = _WORDS.findall(query.lower()) if query.isascii() else words(query)
        return [term for word in tokens if (term := self[word])]


def warn_of_language(query: str, fields: Iterable[str]) -> None:
    """Warn that operators in a query are read as words where a text is expected."""
    meant = next((f"{name}:" for name in FIELD.findall(query) if name in fields), "")
    if not meant and (operator := _OPERATOR.match(query)):
        meant = operator[0].strip()
    if meant:
        warnings.warn(
            f"search takes a text as it is, so {meant} in the query is read as words: "
            "index.ask(query) reads fields, phrases, + - AND OR NOT and #operators",
            stacklevel=3,
        )


BOOLEAN, INQUERY = "boolean", "inquery"
TermWeights = Mapping[str, Mapping[str, float]]


class Askable(Protocol):
    """An index, or a part of one, that can answer queries of the language."""

    @property
    def searcher(self) -> Searcher:
        """The searcher that ranks."""

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer that made the terms."""

    @property
    def has_positions(self) -> bool:
        """Whether token positions are stored."""

    def field(self, name: str | None = None) -> StoredField:
        """Return a field, for reading."""


@dataclass(frozen=True)
class Question:
    """A query made ready: the terms of each field, and which items may be answers.

    term_weights : field → analysed term → weight;  members : which items the query
    describes, shape (items,), or None where all that have its words are described;
    choice : the model and its parameters;  weights, prior : as ``Searcher.search``
    takes them.
    """

    searcher: Searcher
    term_weights: TermWeights
    members: Bools | None
    choice: Choice
    weights: Weights = None
    prior: Prior | None = None

    def answer(self, k: int = 10) -> list[Hit]:
        """Return the best ``k`` documents, best first; ties by document number."""
        model, parameters = self.choice
        queries = list(self.term_weights.values())
        if self.members is None and all(each == queries[0] for each in queries):
            return self.searcher.search(
                queries[0],
                k,
                model,
                fields=self.weights,
                prior=self.prior,
                **parameters,
            )
        return self.searcher.hits(*self._within(k))

    def terms(self) -> list[str]:
        """Return all terms of the query, in any field."""
        return list(
            dict.fromkeys(t for each in self.term_weights.values() for t in each)
        )

    def explain(self, item: int) -> Explanation:
        """Take the score of a document apart: each term's part, field by field."""
        document_part = 0.0 if self.prior is None else float(self.prior.parts[item])
        score, matched = document_part, False
        parts: list[Part] = []
        for name, _, weight in weighted_fields(self.searcher.fields, self.weights):
            explanation = self.searcher.explain(
                self.term_weights[name],
                item,
                self.choice[0],
                fields={name: weight},
                prior=None,
                **self.choice[1],
            )
            parts += explanation.parts
            score += explanation.score
            document_part += explanation.own
            matched = matched or explanation.found
        return Explanation(score, tuple(parts), document_part, matched)

    def with_feedback(self, feedback: Feedback) -> Question:
        """Return the question expanded by terms of its best documents."""
        hits = self.answer(feedback.documents)
        top = TopDocuments(
            np.array([hit.number for hit in hits], np.int64),
            np.array([hit.score for hit in hits]),
            self.choice[0],
        )
        field, query = main_field(self.searcher.fields), in_any(self.term_weights)
        longer = expand(field, query, top, feedback)
        return replace(self, term_weights=lengthened(self.term_weights, longer))

    def _within(self, k: int) -> tuple[Ints, Floats]:
        """Add every posting of every field, and keep the best of the members."""
        from classmark.index.kernels_models import Final, Heap
        from classmark.index.kernels_search import accumulate
        from classmark.index.kernels_topk import select_all

        if k < 0:
            raise Mistake(f"k is {k}: give 0 or more")
        n_items = self.searcher.n_items
        document_parts, offset = np.zeros(n_items), 0.0
        if self.prior is not None:
            document_parts += self.prior.parts
        sums = np.full(n_items, -0.0)
        fields = self.searcher.fields
        for name, field, weight in weighted_fields(fields, self.weights):
            field_query = field.ask(self.term_weights[name], self.choice, weight)
            plan = field_query.plan
            accumulate(field_query.scoring, sums)
            offset += field_query.offset
            if plan.model.has_document_part:
                document_parts += field_query.scale * plan.ready.extra
        alive = next(iter(fields.values())).alive
        members = alive if self.members is None else frozen(self.members, np.bool_)
        size = min(k, n_items)
        items, scores = np.empty(size, np.int64), np.empty(size)
        final = Final(members, document_parts, 1.0, offset)
        n = select_all(sums, False, final, Heap(items, scores))
        return items[:n], scores[:n]


def ask(
    index: Askable, query: str, k: int = 10, model: str | None = None, **options: Any
) -> list[Hit]:
    """Return the best ``k`` documents for a query of the language.

    model : any of the models, or "boolean": every document described, in order, with
    score 1; None: "bm25", or "inquery" for a query that is an #operator.
    options : as ``question`` takes them.
    """
    tree = parse(query)
    if model == BOOLEAN:
        if options:
            raise Mistake(f"boolean takes no {', '.join(options)}: it does not rank")
        return _described(index, documents_of(context_of(index, query), tree), k)
    if isinstance(tree, Belief):
        if model not in (None, INQUERY) or options:
            raise MalformedQuery(
                query, tree.at, "an #operator ranks by beliefs: name no other model"
            )
        return search_beliefs(index.searcher, context_of(index, query), tree, k)
    return question(index, query, model, **options).answer(k)


def question(
    index: Askable,
    query: str,
    model: str | None = None,
    *,
    fields: Weights = None,
    prior: Prior | None = None,
    feedback: str | Feedback | None = None,
    **parameters: float | str,
) -> Question:
    """Make a query ready for a ranked model.

    fields : the weight of each field;  prior : what is added to each document's score;
    feedback : "rocchio", "rm3" or "information", or one with its parameters.
    """
    context, tree = context_of(index, query), parse(query)
    term_weights, members = term_weights_of(context, tree), None
    if tree is not None and not _is_plain(tree):
        members = np.zeros(index.searcher.n_items, np.bool_)
        members[documents_of(context, tree)] = True
    choice = (model or "bm25", parameters)
    original = Question(index.searcher, term_weights, members, choice, fields, prior)
    if feedback is None:
        return original
    return original.with_feedback(feedback_from(feedback))


def term_weights_of(context: QueryContext, tree: Node | None) -> TermWeights:
    """Return the weight of each term that is not negated, field by field."""
    weights: dict[str, dict[str, float]] = {name: {} for name in context.fields}
    for leaf in () if tree is None else _positive(context, tree):
        for name in context.within(leaf):
            for term, _ in context.terms(leaf):
                weights[name][term] = weights[name].get(term, 0.0) + 1.0
    return weights


def in_any(weights: TermWeights) -> dict[str, float]:
    """Return the largest weight of each term over all fields."""
    terms = dict.fromkeys(term for each in weights.values() for term in each)
    return {t: max(each.get(t, 0.0) for each in weights.values()) for t in terms}


def lengthened(weights: TermWeights, longer: Mapping[str, float]) -> TermWeights:
    """Return the weights after feedback; new terms get theirs in every field."""
    original_terms = in_any(weights)
    return {
        name: {t: w for t, w in longer.items() if t in each or t not in original_terms}
        for name, each in weights.items()
    }


def context_of(index: Askable, query: str) -> QueryContext:
    """Return the fields, analyzer and positions that a query is evaluated with."""
    fields = {name: prepared.field for name, prepared in index.searcher.fields.items()}
    places = None
    if index.has_positions:

        def places(name: str, number: int) -> Any:
            return index.field(name).places(number)

    return QueryContext(query, fields, index.analyzer, places)


def _described(index: Askable, documents: Documents, k: int) -> list[Hit]:
    if k < 0:
        raise Mistake(f"k is {k}: give 0 or more")
    first = documents[:k].astype(np.int64)
    return index.searcher.hits(first, np.ones(len(first)))


def _is_plain(node: Node) -> bool:
    """Say whether a query's words alone tell which documents it describes."""
    if isinstance(node, Group):
        return all(not c.sign and _is_plain(c.part) for c in node.clauses)
    return isinstance(node, Word)


def _positive(
    context: QueryContext, node: Node, *, positive: bool = True
) -> Iterator[Word | Phrase]:
    """Yield the words and phrases that are not negated, in order."""
    if isinstance(node, Word | Phrase):
        if positive:
            yield node
    elif isinstance(node, Not):
        yield from _positive(context, node.part, positive=not positive)
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from _positive(context, part, positive=positive)
    elif isinstance(node, Group):
        for clause in node.clauses:
            inside = positive != (clause.sign == "-")
            yield from _positive(context, clause.part, positive=inside)
    else:
        raise MalformedQuery(
            context.query,
            node.at,
            f"#{node.name} stands among other parts: let one #operator hold them all",
        )


class Ranks(Protocol):
    """What answers queries of analysed terms: see ``classmark.index.search``."""

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
        """Return the best ``k`` items."""

    def search_many(
        self,
        queries: Sequence[Terms],
        k: int = 10,
        model: str = "bm25",
        **parameters: float | str,
    ) -> list[list[Hit]]:
        """Return what ``search`` does for each query."""

    def search_vector(
        self, weights: Mapping[str, float], k: int = 10, *, every: bool = False
    ) -> list[Hit]:
        """Return the items with the largest dot products."""

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


class Answering(ABC):
    """An index on this machine, or one on many: texts in, documents out."""

    _terms: QueryTerms

    @property
    @abstractmethod
    def searcher(self) -> Ranks:
        """What answers queries of analysed terms."""

    @property
    @abstractmethod
    def fields(self) -> list[str]:
        """The names of the fields."""

    @abstractmethod
    def number(self, name: str) -> int | None:
        """Return the number of a document by its id; None: it is not there."""

    @abstractmethod
    def ask(self, query: str, k: int = 10, **options: Any) -> list[Hit]:
        """Answer a query as people type it."""

    def terms(self, query: str) -> list[str]:
        """Return the terms of a query, analysed as the documents were."""
        if not isinstance(query, str):
            raise Mistake(f"query is {type(query).__name__}: give a string")
        return self._terms.of(query)

    def search(
        self, query: str, k: int = 10, model: str = "bm25", **options: Any
    ) -> list[Hit]:
        """Return the best ``k`` documents for a text, best first; ties by number.

        query : words, a title, a whole document: every word counts, and nothing in it
            is an operator. What people type, as in ``title:"wind tunnel" -drag``, is
            for ``ask``. The model "boolean" needs operators, and gives it to ``ask``.
        options : parameters, ``fields`` and ``prior``: as ``Searcher.search`` takes.
        """
        if model == "boolean":
            return self.ask(query, k, model=model, **options)
        terms = self.terms(query)
        if ":" in query or "#" in query:
            warn_of_language(query, self.fields)
        if "feedback" in options:
            raise Mistake("search takes no feedback: index.ask(query, feedback=…) does")
        return self.searcher.search(terms, k, model, **options)

    def search_many(
        self, queries: Sequence[str], k: int = 10, model: str = "bm25", **options: Any
    ) -> list[list[Hit]]:
        """Return what ``search`` does for each of many queries."""
        if model == "boolean" or len(self.fields) > 1 or "prior" in options:
            return [self.search(query, k, model, **options) for query in queries]
        terms_by_query = [self.terms(query) for query in queries]
        return self.searcher.search_many(terms_by_query, k, model, **options)

    def search_vector(
        self, weights: Mapping[str, float], k: int = 10, *, every: bool = False
    ) -> list[Hit]:
        """Return the documents with the largest dot product with ``weights``.

        weights : analysed term → weight, any sign; documents are unit tf·idf vectors.
        every : documents that share no term with ``weights`` are ranked too.
        """
        return self.searcher.search_vector(weights, k, every=every)

    def explain(
        self, query: str, name: str, model: str = "bm25", **options: Any
    ) -> Explanation:
        """Return what each term adds to the score of the document with this id."""
        number = self.number(name)
        if number is None:
            raise Mistake(f"document {name!r} is not in the index: give an id it has")
        return self.searcher.explain(self.terms(query), number, model, **options)
