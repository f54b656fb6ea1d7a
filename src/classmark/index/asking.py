"""A query as people type it, answered: first the set it describes, then the ranking.

With any model, a query of the language in ``classmark.index.query_language`` is
answered by exactly the exhaustive ranking of its words, restricted to the documents it
describes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from classmark.arrays import Bools
from classmark.index.boolean import QueryContext, documents_of, search_beliefs
from classmark.index.feedback import Feedback, feedback_from
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
)
from classmark.index.search import (
    BaseSearcher,
    Hit,
    Prior,
    Question,
    Searcher,
    Weights,
    require_size,
)
from classmark.problems import Mistake
from classmark.text.analyzer import Analyzer
from classmark.text.tokens import words

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


class Askable(Protocol):
    """An index on this machine, or a part of one, that can answer queries."""

    @property
    def searcher(self) -> Searcher:
        """The searcher that ranks."""

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer that made the terms."""

    @property
    def has_positions(self) -> bool:
        """Whether token positions are stored."""


def ask(
    index: Askable, query: str, k: int = 10, model: str | None = None, **options: Any
) -> list[Hit]:
    """Return the best ``k`` documents for a query of the language.

    model : any of the models, or "boolean": every document described, in order, with
    score 1; None: "bm25", or "inquery" for a query that is an #operator.
    options : as ``question`` takes them.
    """
    require_size(k)
    context = context_of(index, query)
    if model == BOOLEAN:
        if options:
            raise Mistake(f"boolean takes no {', '.join(options)}: it does not rank")
        first = documents_of(context)[:k].astype(np.int64)
        return index.searcher.hits(first, np.ones(len(first)))
    tree = context.tree
    if isinstance(tree, Belief):
        if model not in (None, INQUERY) or options:
            raise MalformedQuery(
                query, tree.at, "an #operator ranks by beliefs: name no other model"
            )
        return search_beliefs(index.searcher, context, tree, k)
    return question(index, query, model, **options).answer(k)


def question(
    index: Askable, query: str, model: str | None = None, **options: Any
) -> Question:
    """Make a query ready for a ranked model.

    options : the model's parameters, and what ``question_of`` takes.
    """
    return question_of(index.searcher, context_of(index, query), model, **options)


def question_of(
    searcher: BaseSearcher,
    context: QueryContext,
    model: str | None = None,
    *,
    fields: Weights = None,
    prior: Prior | None = None,
    feedback: str | Feedback | None = None,
    **parameters: float | str,
) -> Question:
    """Make a query ready in its context.

    fields : the weight of each field;  prior : what is added to each document's score;
    feedback : "rocchio", "rm3" or "information", or one with its parameters.
    """
    weights: dict[str, dict[str, float]] = {name: {} for name in context.fields}
    for leaf in () if context.tree is None else _positive(context, context.tree):
        for name in context.within(leaf):
            for term, _ in context.terms(leaf):
                weights[name][term] = weights[name].get(term, 0.0) + 1.0
    choice = (model or "bm25", parameters)
    how, members = (choice, fields, prior), members_of(context)
    original = Question(searcher, context.query, weights, *how, members)
    if feedback is None:
        return original
    return original.with_feedback(feedback_from(feedback))


def context_of(index: Askable, query: str) -> QueryContext:
    """Return the fields, analyzer and positions that a query is evaluated with."""
    fields = {name: prepared.field for name, prepared in index.searcher.fields.items()}
    return QueryContext(query, fields, index.analyzer, index.has_positions)


def members_of(context: QueryContext) -> Bools | None:
    """Say which items a query describes; None: all that have its words.

    Also None where the fields lie elsewhere: whoever has them says it there.
    """
    field: Any = next(iter(context.fields.values()))
    if field is None or context.tree is None or _is_plain(context.tree):
        return None
    members = np.zeros(field.n_items, np.bool_)
    members[documents_of(context)] = True
    return members


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
