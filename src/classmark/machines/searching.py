"""SpreadIndex: an index whose shards live on workers answers as one.

A shard is some neighbouring segments, as many shards as there are workers (or segments,
if fewer). It numbers terms, and weighs them, as the whole index does; its documents are
numbered from 0. Documents, scores and ties are those that ``Index`` gives, bit for bit.
The functions that take a shard run on workers; after it come its own argument, where it
has one, and the arguments that all shards share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Bools, Floats, Ints
from classmark.index import asking
from classmark.index.asking import (
    BOOLEAN,
    QueryContext,
    has_wildcard,
    members_of,
    question,
)
from classmark.index.build import TEXT
from classmark.index.feedback import Feedback, expand, main_field, terms_of
from classmark.index.index import OpenIndex
from classmark.index.models import Choice, Prepared, Prior, Terms
from classmark.index.postings import CountedField, Lists
from classmark.index.query_language import Belief, leaves_of, parse
from classmark.index.search import (
    Answered,
    BaseSearcher,
    Explanation,
    Hit,
    Question,
    Searcher,
)
from classmark.index.snapshot import (
    Snapshot,
    StoredField,
    open_generation,
    open_snapshot,
)
from classmark.index.united import Names, is_patterned
from classmark.index.vectors import WeightedQuery
from classmark.machines.cluster import Machines, RemoteObjects
from classmark.problems import Mistake
from classmark.ranking import Ranking, cut, rank
from classmark.text import Analyzer
from classmark.validation import byte_size


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


class Place(NamedTuple):
    """Where a shard is: segments ``first`` to before ``last`` of a generation.

    memory : where the postings of a field, decoded, fit it, they are kept decoded.
    """

    folder: str
    generation: int
    first: int
    last: int
    memory: int


class OwnPart(NamedTuple):
    """What a shard needs of a question that is said of each document: of its own."""

    prior: Prior | None = None
    members: Bools | None = None


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

    def local(self, question: Question, own: OwnPart) -> Question:
        """Return a question about the documents of the shard."""
        members = members_of(self.context(question.query))
        if own.members is not None:
            members = own.members if members is None else members & own.members
        return replace(
            question, searcher=self.searcher, prior=own.prior, members=members
        )


def extent(shard: Shard) -> tuple[int, int]:
    """Return the number of the first document, and of the first after the last."""
    return shard.base, shard.base + shard.searcher.n_items


def find_many(
    shard: Shard, queries: Sequence[Terms], k: int, choice: Choice
) -> Ranking:
    """Return the best documents for each of many queries of a one-field index."""
    ranking = shard.searcher.find_many(queries, k, choice)
    return replace(ranking, items=ranking.items + shard.base)


def multiply(
    shard: Shard, weights: Mapping[str, float], k: int, every: bool
) -> Ranking:
    """Return the documents with the largest products with a vector."""
    return shard.ranking(*shard.searcher.multiply(weights, k, every))


def ask(shard: Shard, query: str, k: int, options: Mapping[str, Any]) -> Ranking:
    """Answer a query of the language that makes no question."""
    hits = asking.ask(shard.searcher, shard.context(query), k, **options)
    numbers = np.array([hit.number for hit in hits], np.int64)
    return shard.ranking(numbers, np.array([hit.score for hit in hits], np.float64))


def answer(shard: Shard, own: OwnPart, question: Question, k: int) -> Ranking:
    """Return the best documents of a question."""
    return shard.ranking(*shard.searcher.answer(shard.local(question, own), k))


def frequencies(shard: Shard, question: Question) -> dict[Names, dict[str, int]]:
    """Count the documents of the shard that have the terms of several lists."""
    return shard.searcher.document_frequencies(question)


def explain(
    shard: Shard, own: OwnPart, question: Question, item: int
) -> Explanation | None:
    """Explain the score of a document; None where another shard has it."""
    if not shard.base <= item < shard.base + shard.searcher.n_items:
        return None
    return shard.local(question, own).explain(item - shard.base)


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


T = TypeVar("T")
ROUND = 1 << 21  # answers that a shard gives in one round, at most


class SpreadSearcher(BaseSearcher):
    """Answers queries of analysed terms as ``classmark.index.search.Searcher`` does.

    machines : who holds the shards;  places : of the shards, in order;  fields : the
    names of the index's fields;  names : from a document's number to its id.
    """

    def __init__(
        self,
        machines: Machines,
        places: Sequence[Place],
        fields: Sequence[str],
        names: Callable[[int], str],
    ) -> None:
        self.fields, self.names = list(fields), names
        self._machines = machines
        self._shards: RemoteObjects | None = machines.hold(Shard, places)
        self._extents = machines.ask(extent, self._shards)
        self.n_items = self._extents[-1][1]

    def find_many(self, queries: Sequence[Terms], k: int, choice: Choice) -> Ranking:
        """Return the best ``k`` items of each query of a one-field index."""
        size, rankings = max(1, ROUND // max(k, 1)), []
        for first in range(0, max(len(queries), 1), size):
            asked = [*queries[first : first + size]]
            merged = _merged(self._round(find_many, asked, k, choice), k)
            rankings.append(replace(merged, queries=merged.queries + first))
        return Ranking(*_columns(rankings))

    def multiply(
        self, weights: Mapping[str, float] | WeightedQuery, k: int, every: bool
    ) -> tuple[Ints, Floats]:
        """Return the ``k`` items with the largest products with a vector."""
        if not isinstance(weights, Mapping):
            raise Mistake("weights were made ready for one machine: give a mapping")
        return self._best(self._round(multiply, dict(weights), k, every), k)

    def answer(self, question: Question, k: int) -> tuple[Ints, Floats]:
        """Return the best ``k`` items of those that a question describes."""
        question = self._counted(question)
        parts = self._parted(question)
        return self._best(self._round(answer, _sent(question), k, parts=parts), k)

    def explain_answer(self, question: Question, item: int) -> Explanation:
        """Take apart the score that ``answer`` gives an item: ask its shard."""
        self.require_item(item)
        question = self._counted(question)
        parts, sent = self._parted(question), _sent(question)
        return next(filter(None, self._round(explain, sent, item, parts=parts)))

    def ask(self, query: str, k: int, options: Mapping[str, Any]) -> list[Hit]:
        """Answer a query of the language that makes no ``Question``."""
        return self.hits(*self._best(self._round(ask, query, k, options), k))

    def lengthen(
        self, queries: Sequence[Answered], feedback: Feedback
    ) -> list[dict[str, float]]:
        """Return each query expanded by terms of its best documents."""
        none = np.empty(0, np.int64)
        items = np.unique(np.concatenate([none, *(best.items for _, best in queries)]))
        local_items = [items[(a <= items) & (items < b)] - a for a, b in self._extents]
        words = list(dict.fromkeys(term for terms, _ in queries for term in terms))
        excerpts = self._round(excerpt, words, parts=local_items)
        field, longer = Prepared(_field(excerpts, items)), []
        for terms, best in queries:
            here = replace(best, items=np.searchsorted(items, best.items))
            longer.append(expand(field, terms, here, feedback))
        return longer

    def close(self) -> None:
        """Let the workers forget the shards."""
        self._shards = None

    def _round(
        self, work: Callable[..., T], *shared: Any, parts: Sequence[Any] | None = None
    ) -> list[T]:
        """One round over the shards; parts : first arguments, one for each."""
        return self._machines.ask(work, self._opened(), shared, parts)

    def _best(self, rankings: Sequence[Ranking], k: int) -> tuple[Ints, Floats]:
        """The best among all shards' best."""
        merged = _merged(rankings, k)
        return merged.items, merged.scores

    def _counted(self, question: Question) -> Question:
        """Count, over all shards, the items that have the terms of several lists."""
        terms = question.term_weights
        if len(self.fields) == 1 and not any(map(is_patterned, terms.values())):
            return question
        df: dict[Names, Counter[str]] = {}
        for counts in self._round(frequencies, _sent(question)):
            for names, each in counts.items():
                df.setdefault(names, Counter()).update(each)
        return replace(question, df=df)

    def _opened(self) -> RemoteObjects:
        if self._shards is None:
            raise Mistake("the index was closed: open it again to search it")
        return self._shards

    def _parted(self, question: Question) -> list[OwnPart]:
        """The part of the prior, and of the members, that each shard needs."""
        prior, members = question.prior, question.members
        for name, each in (("prior", prior and prior.parts), ("members", members)):
            if each is not None and len(each) != self.n_items:
                raise Mistake(
                    f"{name} has {len(each)} items: the index has {self.n_items}"
                )
        return [
            OwnPart(
                None if prior is None else Prior(prior.parts[a:b], prior.most),
                None if members is None else members[a:b],
            )
            for a, b in self._extents
        ]


def _merged(parts: Sequence[Ranking], k: int) -> Ranking:
    """Return the best ``k`` of each query among all shards' best; ties by number."""
    return cut(rank(*_columns(parts)), k)


def _columns(parts: Sequence[Ranking]) -> tuple[Ints, Ints, Floats]:
    """Return the queries, items and scores of rankings, one behind the other."""
    return (
        np.concatenate([part.queries for part in parts]),
        np.concatenate([part.items for part in parts]),
        np.concatenate([part.scores for part in parts]),
    )


def _sent(question: Question) -> Question:
    """Return a question as it travels: shards search it with their own part."""
    nowhere = cast("Searcher", None)
    return replace(question, searcher=nowhere, prior=None, members=None)


SHARE = 4  # a field's decoded postings take at most this part of a worker's memory


class SpreadIndex(OpenIndex):
    """The generation of an index in service, each shard of it on a worker.

    machines : who holds the shards;  path : the index, where all machines see it;
    memory : where a shard's postings of a field, decoded, fit it (and a quarter of what
    a worker may take), they are kept decoded.

    It is read only. ``close``, or a ``with``, lets the workers forget it.
    """

    def __init__(
        self, machines: Machines, path: Path | str, memory: str | int = "1GB"
    ) -> None:
        self.path, self._memory = Path(path), byte_size(memory)
        snapshot, room = open_snapshot(self.path), self._memory
        self._read(snapshot)
        if machines.memory:
            room = min(room, machines.memory // SHARE)
        self._searcher = SpreadSearcher(
            machines,
            _places(self.path, snapshot, machines.workers, room),
            self.fields or [TEXT],
            self.names(),
        )

    @property
    def searcher(self) -> SpreadSearcher:
        """What answers queries of analysed terms."""
        return self._searcher

    def ask(self, query: str, k: int = 10, **options: Any) -> list[Hit]:
        """Answer a query as people type it, as ``Index.ask`` does."""
        is_set, tree = options.get("model") == BOOLEAN, parse(query)
        if isinstance(tree, Belief) and any(map(has_wildcard, leaves_of(tree))):
            raise Mistake(
                "#operators count the documents of a word with * or ? on one machine: "
                "leave the machines out, or write the words out"
            )
        if is_set or isinstance(tree, Belief):
            return self._searcher.ask(query, k, options)
        return self.question(query, **options).answer(k)

    def question(
        self, query: str, model: str | None = None, **options: Any
    ) -> Question:
        """Parse a query as people type it, to be answered and explained."""
        fields: dict[str, Any] = dict.fromkeys(self._searcher.fields)
        context = QueryContext(query, fields, self.analyzer)
        return question(self._searcher, context, model, **options)

    def close(self) -> None:
        """Let the workers forget the shards."""
        self._searcher.close()


def _places(path: Path, snapshot: Snapshot, workers: int, memory: int) -> list[Place]:
    """Part the segments, in order, into shards of about equally many documents."""
    sizes = np.array([part.segment.n_items for part in snapshot.parts], np.int64)
    most = max(1, min(workers, len(sizes)))
    middles = np.cumsum(sizes) - sizes / 2
    shard = (middles * most / max(int(sizes.sum()), 1)).astype(np.int64)
    edges = [0, *(np.flatnonzero(np.diff(shard)) + 1).tolist(), len(sizes)]
    folder = str(path.absolute())
    return [
        Place(folder, snapshot.number, first, last, memory)
        for first, last in pairwise(edges)
    ]
