"""A shard: neighbouring segments of an index, with the statistics of the whole.

A shard numbers terms, and weighs them, as the whole index does, so that whatever it
scores has the score that the whole gives it, bit for bit; its documents are numbered
from 0. Functions here run on workers; they take a shard, its own argument, and the
arguments that all shards share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Ints
from classmark.index.asking import Question, TermWeights, ask, question
from classmark.index.build import TEXT
from classmark.index.feedback import (
    Feedback,
    TopDocuments,
    expand,
    main_field,
    terms_of,
)
from classmark.index.field import StoredField
from classmark.index.in_memory import CountedField
from classmark.index.plans import Choice, Prepared, Terms
from classmark.index.postings import Lists
from classmark.index.search import Explanation, Hit, Prior, Searcher, Weights
from classmark.index.snapshot import open_generation
from classmark.ranking import Ranking
from classmark.text.analyzer import Analyzer


def lengthened_by(
    excerpts: Sequence[Excerpt],
    queries: Sequence[Mapping[str, float]],
    answers: Sequence[TopDocuments],
    feedback: Feedback,
) -> list[dict[str, float]]:
    """Expand each query by its first documents.

    excerpts : those documents, of each shard in order;  answers : the documents by
    their numbers in the whole index.
    """
    items = numbers_of(answers)
    field = Prepared(_field(excerpts, items))
    return [
        expand(field, terms, _renumbered(best, items), feedback)
        for terms, best in zip(queries, answers, strict=True)
    ]


def numbers_of(answers: Sequence[TopDocuments]) -> Ints:
    """Return the numbers of all documents in the answers, each once, increasing."""
    none = np.empty(0, np.int64)
    return np.unique(np.concatenate([none, *(best.items for best in answers)]))


def _renumbered(best: TopDocuments, items: Ints) -> TopDocuments:
    return TopDocuments(np.searchsorted(items, best.items), best.scores, best.model)


def _field(excerpts: Sequence[Excerpt], items: Ints) -> CountedField:
    """Make one field of the documents; terms in the order of the whole index."""
    vocabulary = {n: entry for each in excerpts for n, entry in each.vocabulary.items()}
    numbers = np.array(sorted(vocabulary), np.int64)
    entries = [vocabulary[number] for number in numbers.tolist()]
    terms = np.concatenate([each.terms for each in excerpts])
    order = np.argsort(terms, kind="stable")  # within a term by document
    owners = np.concatenate([each.items for each in excerpts])[order]
    counts = np.concatenate([each.counts for each in excerpts])[order]
    return CountedField(
        [term for term, _, _ in entries],
        np.concatenate([each.lengths for each in excerpts]),
        None,
        np.array([df for _, df, _ in entries], np.uint32),
        np.array([cf for _, _, cf in entries], np.int64),
        Lists(
            np.searchsorted(items, owners).astype(np.uint32),
            counts.astype(np.uint32),
            np.searchsorted(terms[order], numbers, side="left"),
            np.searchsorted(terms[order], numbers, side="right"),
        ),
        excerpts[0].world,
    )


@dataclass(frozen=True, slots=True)
class Message:
    """A message to one shard: a function, the shard's argument, the shared arguments.

    Dask searches tuples and lists for its futures, but not objects of this class.
    """

    work: Callable[..., Any]
    argument: Any
    shared: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """Many queries to all shards: the terms of each, how many answers, the model."""

    queries: Sequence[Terms]
    k: int
    choice: Choice


class Place(NamedTuple):
    """Where a shard is: segments ``first`` to before ``last`` of a generation.

    memory : where the postings of a field, decoded, fit it, they are kept decoded.
    """

    folder: str
    generation: int
    first: int
    last: int
    memory: int


class QueryRequest(NamedTuple):
    """A query of the language, and how it is to be answered.

    options : as ``classmark.index.asking.ask`` takes them, without feedback;
    term_weights : field → term → weight, used in place of the query's own words.
    """

    query: str
    options: Mapping[str, Any]
    term_weights: TermWeights | None = None


class Excerpt(NamedTuple):
    """Some documents of the field with most tokens, as feedback reads them.

    items, terms, counts : the postings, by document, then by term;  lengths : of each
    document;  vocabulary : term number → (term, df, cf), of all terms of the documents
    and of the queries;  world : the number of documents and of tokens in the index.
    """

    items: Ints
    terms: Ints
    counts: Ints
    lengths: NDArray[np.uint32]
    vocabulary: dict[int, tuple[str, int, int]]
    world: tuple[int, int]


class Shard:
    """Some segments, opened and decoded."""

    def __init__(self, place: Place) -> None:
        snapshot = open_generation(Path(place.folder), place.generation)
        within = slice(place.first, place.last)
        before = snapshot.parts[: place.first]
        self.base = sum(part.segment.n_items for part in before)
        self.analyzer = Analyzer.parse(snapshot.settings["analyzer"])
        self.has_positions = bool(snapshot.settings["positions"])
        self._fields = {
            name: StoredField(snapshot, name, place.memory, within)
            for name in snapshot.fields() or [TEXT]
        }

    def field(self, name: str | None = None) -> StoredField:
        """Return a field, for reading."""
        return self._fields[name or TEXT]

    @cached_property
    def searcher(self) -> Searcher:
        """What answers queries over the documents of the shard."""
        return Searcher(self._fields)

    def mine(self, hits: Sequence[Hit]) -> Ranking:
        """Return hits with their documents' numbers in the whole index."""
        numbers = np.array([hit.number for hit in hits], np.int64) + self.base
        scores = np.array([hit.score for hit in hits], np.float64)
        return Ranking(np.zeros(len(hits), np.int64), numbers, scores)


def extent(shard: Shard) -> tuple[int, int]:
    """Return the number of the first document, and of the first after the last."""
    return shard.base, shard.base + shard.searcher.n_items


def apply(shard: Shard, message: Message | None) -> Any:
    """Run the function of a message on a shard; None: nothing to do."""
    if message is None:
        return None
    return message.work(shard, message.argument, *message.shared)


def search(
    shard: Shard,
    prior: Prior | None,
    terms: Terms,
    k: int,
    choice: Choice,
    weights: Weights,
) -> Ranking:
    """Return the best documents for one query of terms; prior : of the shard's."""
    model, parameters = choice
    find = shard.searcher.search
    return shard.mine(find(terms, k, model, fields=weights, prior=prior, **parameters))


def rank(shard: Shard, batch: Batch) -> Ranking:
    """Return the best documents for each of many queries of a one-field index."""
    model, parameters = batch.choice
    ranking = shard.searcher.rank(batch.queries, batch.k, model, **parameters)
    return Ranking(ranking.queries, ranking.items + shard.base, ranking.scores)


def multiply(
    shard: Shard, _argument: None, weights: Mapping[str, float], k: int, every: bool
) -> Ranking:
    """Return the documents with the largest products with a vector."""
    return shard.mine(shard.searcher.search_vector(weights, k, every=every))


def explain(
    shard: Shard,
    target: tuple[int, Prior | None],
    terms: Terms,
    choice: Choice,
    weights: Weights,
) -> Explanation:
    """Explain the score of a document; target : its number here, and the prior."""
    model, parameters = choice
    item, prior = target
    take_apart = shard.searcher.explain
    return take_apart(terms, item, model, fields=weights, prior=prior, **parameters)


def answer(shard: Shard, prior: Prior | None, request: QueryRequest, k: int) -> Ranking:
    """Answer a query of the language; prior : of the shard's documents."""
    if request.term_weights is None:
        return shard.mine(ask(shard, request.query, k, **_options(request, prior)))
    return shard.mine(_question(shard, prior, request).answer(k))


def explain_answer(
    shard: Shard, target: tuple[int, Prior | None], request: QueryRequest
) -> Explanation:
    """Explain the score of a document under a query of the language."""
    item, prior = target
    return _question(shard, prior, request).explain(item)


def _question(shard: Shard, prior: Prior | None, request: QueryRequest) -> Question:
    parsed = question(shard, request.query, **_options(request, prior))
    return (
        parsed
        if request.term_weights is None
        else replace(parsed, term_weights=request.term_weights)
    )


def _options(request: QueryRequest, prior: Prior | None) -> dict[str, Any]:
    options = dict(request.options)
    return options | {"prior": prior} if "prior" in options else options


def excerpt(shard: Shard, items: Ints, words: Sequence[str]) -> Excerpt:
    """Read some documents.

    items : their numbers here, increasing;  words : the terms of the queries.
    """
    field = main_field(shard.searcher.fields)
    postings = terms_of(field.field, items)
    query_terms = [number for word in words if (number := field.numbers[word]) >= 0]
    numbers = np.unique(
        np.concatenate([postings.terms, np.array(query_terms, np.int64)])
    )
    vocabulary = {
        number: (field.field.term(number), int(field.df[number]), int(field.cf[number]))
        for number in numbers.tolist()
    }
    return Excerpt(
        postings.items + shard.base,
        postings.terms,
        postings.counts,
        np.array(field.lengths[items]),
        vocabulary,
        (field.field.n_alive, field.field.total_length),
    )
