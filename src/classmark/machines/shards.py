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

from classmark.arrays import Floats, Ints
from classmark.index import asking
from classmark.index.asking import QueryContext, members_of
from classmark.index.build import TEXT
from classmark.index.feedback import (
    Feedback,
    TopDocuments,
    expand,
    main_field,
    terms_of,
)
from classmark.index.field import CountedField, StoredField
from classmark.index.models import Choice, Prepared, Terms
from classmark.index.postings import Lists
from classmark.index.search import Explanation, Prior, Question, Searcher
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
    field, longer = Prepared(_field(excerpts, items)), []
    for terms, best in zip(queries, answers, strict=True):
        here = replace(best, items=np.searchsorted(items, best.items))
        longer.append(expand(field, terms, here, feedback))
    return longer


def numbers_of(answers: Sequence[TopDocuments]) -> Ints:
    """Return the numbers of all documents in the answers, each once, increasing."""
    none = np.empty(0, np.int64)
    return np.unique(np.concatenate([none, *(best.items for best in answers)]))


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
        Lists(
            np.searchsorted(items, owners).astype(np.uint32),
            counts.astype(np.uint32),
            np.searchsorted(terms[order], numbers, side="left"),
            np.searchsorted(terms[order], numbers, side="right"),
        ),
        np.concatenate([each.lengths for each in excerpts]),
        np.array([df for _, df, _ in entries], np.uint32),
        np.array([cf for _, _, cf in entries], np.int64),
        world=excerpts[0].world,
    )


@dataclass(frozen=True, slots=True)
class Message:
    """A message to one shard: a function, the shard's argument, the shared arguments.

    Dask searches tuples and lists for its futures, but not objects of this class.
    """

    work: Callable[..., Any]
    argument: Any
    shared: tuple[Any, ...]


class Place(NamedTuple):
    """Where a shard is: segments ``first`` to before ``last`` of a generation.

    memory : where the postings of a field, decoded, fit it, they are kept decoded.
    """

    folder: str
    generation: int
    first: int
    last: int
    memory: int


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

    @cached_property
    def searcher(self) -> Searcher:
        """What answers queries over the documents of the shard."""
        return Searcher(self._fields)

    def context(self, query: str) -> QueryContext:
        """Return a query with the fields, analyzer and positions it is read by."""
        return QueryContext(query, self._fields, self.analyzer, self.has_positions)

    def ranking(self, items: Ints, scores: Floats) -> Ranking:
        """Return answers with their documents' numbers in the whole index."""
        return Ranking(np.zeros(len(items), np.int64), items + self.base, scores)

    def local(self, question: Question, prior: Prior | None) -> Question:
        """Return a question about the documents of the shard; prior : theirs."""
        members = members_of(self.context(question.query))
        return replace(question, searcher=self.searcher, prior=prior, members=members)


def extent(shard: Shard) -> tuple[int, int]:
    """Return the number of the first document, and of the first after the last."""
    return shard.base, shard.base + shard.searcher.n_items


def apply(shard: Shard, message: Message | None) -> Any:
    """Run the function of a message on a shard; None: nothing to do."""
    if message is None:
        return None
    return message.work(shard, message.argument, *message.shared)


def find_many(
    shard: Shard, _argument: None, queries: Sequence[Terms], k: int, choice: Choice
) -> Ranking:
    """Return the best documents for each of many queries of a one-field index."""
    ranking = shard.searcher.find_many(queries, k, choice)
    return Ranking(ranking.queries, ranking.items + shard.base, ranking.scores)


def multiply(
    shard: Shard, _argument: None, weights: Mapping[str, float], k: int, every: bool
) -> Ranking:
    """Return the documents with the largest products with a vector."""
    return shard.ranking(*shard.searcher.multiply(weights, k, every))


def ask(
    shard: Shard, _argument: None, query: str, k: int, options: Mapping[str, Any]
) -> Ranking:
    """Answer a query of the language that makes no question."""
    hits = asking.ask(shard.searcher, shard.context(query), k, **options)
    numbers = np.array([hit.number for hit in hits], np.int64)
    return shard.ranking(numbers, np.array([hit.score for hit in hits], np.float64))


def answer(shard: Shard, prior: Prior | None, question: Question, k: int) -> Ranking:
    """Return the best documents of a question; prior : of the shard's documents."""
    return shard.ranking(*shard.searcher.answer(shard.local(question, prior), k))


def explain(
    shard: Shard, target: tuple[int, Prior | None], question: Question
) -> Explanation:
    """Explain the score of a document; target : its number here, and the prior."""
    item, prior = target
    return shard.local(question, prior).explain(item)


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
