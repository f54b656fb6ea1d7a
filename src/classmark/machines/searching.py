"""SpreadIndex: an index whose shards live on workers answers as one.

A shard is some neighbouring segments, as many shards as there are workers (or segments,
if fewer). Documents, scores and ties are those that ``Index`` gives, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from classmark.index.asking import (
    BOOLEAN,
    Answering,
    QueryTerms,
    TermWeights,
    in_any,
    lengthened,
    term_weights_of,
)
from classmark.index.boolean import QueryContext
from classmark.index.build import TEXT
from classmark.index.feedback import Feedback, TopDocuments, feedback_from
from classmark.index.index import Index
from classmark.index.query_language import Belief, parse
from classmark.index.search import Hit, Prior, named_hits
from classmark.index.snapshot import Snapshot, open_snapshot
from classmark.machines import shards
from classmark.machines.shards import (
    Batch,
    Message,
    Place,
    QueryRequest,
    Shard,
    lengthened_by,
    numbers_of,
)
from classmark.problems import Mistake
from classmark.ranking import Ranking, rank
from classmark.validation import byte_size

if TYPE_CHECKING:
    from classmark.index.plans import Terms
    from classmark.index.search import Explanation, Weights
    from classmark.machines.cluster import Machines
    from classmark.machines.portion import RemoteObjects
    from classmark.text.analyzer import Analyzer


ROUND = 1 << 21  # answers that a shard gives in one round, at most


class SpreadSearcher:
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
        self._extents = machines.ask(shards.extent, self._shards)
        self.n_items = self._extents[-1][1]

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
        """Return the best ``k`` items, best first."""
        if not isinstance(terms, Mapping):
            terms = list(terms)
        arguments = (terms, k, (model, parameters), fields)
        return self._best(shards.search, self._parted(prior), arguments, k)

    def rank(
        self,
        queries: Sequence[Terms],
        k: int = 10,
        model: str = "bm25",
        **parameters: float | str,
    ) -> Ranking:
        """Answer many queries of a one-field index, as a ``Ranking``."""
        size = max(1, ROUND // max(k, 1))
        rankings = []
        for first in range(0, max(len(queries), 1), size):
            some = [*queries[first : first + size]]
            batch = Batch(some, k, (model, parameters))
            merged = _merged(
                self._machines.ask(shards.rank, self._opened(), [batch]), k
            )
            rankings.append(
                Ranking(merged.queries + first, merged.items, merged.scores)
            )
        return Ranking(
            np.concatenate([each.queries for each in rankings]),
            np.concatenate([each.items for each in rankings]),
            np.concatenate([each.scores for each in rankings]),
        )

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
        hits = self.hits(ranking)
        return [hits[a:b] for a, b in pairwise([0, *ends])]

    def search_vector(
        self, weights: Mapping[str, float], k: int = 10, *, every: bool = False
    ) -> list[Hit]:
        """Return the items with the largest dot product with ``weights``."""
        priors = self._parted(None)
        return self._best(shards.multiply, priors, (dict(weights), k, every), k)

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
        if not isinstance(terms, Mapping):
            terms = list(terms)
        arguments = (terms, (model, parameters), fields)
        return self._explained(shards.explain, item, prior, arguments)

    def answer(self, request: QueryRequest, k: int, prior: Prior | None) -> list[Hit]:
        """Answer a query of the language."""
        return self._best(shards.answer, self._parted(prior), (request, k), k)

    def explain_answer(
        self, request: QueryRequest, item: int, prior: Prior | None
    ) -> Explanation:
        """Take apart the score that ``answer`` gives an item."""
        return self._explained(shards.explain_answer, item, prior, (request,))

    def lengthen(
        self,
        queries: Sequence[Mapping[str, float]],
        answers: Sequence[TopDocuments],
        feedback: Feedback,
    ) -> list[dict[str, float]]:
        """Expand each query by its first documents (pseudo-relevance feedback)."""
        items = numbers_of(answers)
        local_items = [items[(a <= items) & (items < b)] - a for a, b in self._extents]
        words = list(dict.fromkeys(term for terms in queries for term in terms))
        excerpts = self._round(shards.excerpt, local_items, (words,))
        return lengthened_by(excerpts, queries, answers, feedback)

    def hits(self, ranking: Ranking) -> list[Hit]:
        """Hits with the ids of the documents of a ranking."""
        return named_hits(self.names, ranking.items, ranking.scores)

    def close(self) -> None:
        """Let the workers forget the shards."""
        self._shards = None

    def _best(
        self,
        work: Callable[..., Ranking],
        per_shard: Sequence[Any],
        shared: tuple[Any, ...],
        k: int,
    ) -> list[Hit]:
        return self.hits(_merged(self._round(work, per_shard, shared), k))

    def _round(
        self,
        work: Callable[..., Any],
        per_shard: Sequence[Any],
        shared: tuple[Any, ...],
    ) -> list[Any]:
        """One round: a message to each shard, with its own argument."""
        messages = [Message(work, each, shared) for each in per_shard]
        return self._machines.ask(shards.apply, self._opened(), arguments=messages)

    def _opened(self) -> RemoteObjects:
        if self._shards is None:
            raise Mistake("the index was closed: open it again to search it")
        return self._shards

    def _explained(
        self,
        work: Callable[..., Explanation],
        item: int,
        prior: Prior | None,
        shared: tuple[Any, ...],
    ) -> Explanation:
        """Ask the one shard that has the item."""
        if not 0 <= item < self.n_items:
            raise Mistake(f"item {item} is not there: give 0 to {self.n_items - 1}")
        messages = [
            Message(work, (item - a, part), shared) if a <= item < b else None
            for (a, b), part in zip(self._extents, self._parted(prior), strict=True)
        ]
        explanations: list[Explanation | None]
        explanations = self._machines.ask(
            shards.apply, self._opened(), arguments=messages
        )
        return next(each for each in explanations if each is not None)

    def _parted(self, prior: Prior | None) -> list[Prior | None]:
        """The part of a prior that each shard needs."""
        if prior is None:
            return [None] * len(self._extents)
        if len(prior.parts) != self.n_items:
            raise Mistake(
                f"prior has {len(prior.parts)} items: the index has {self.n_items}"
            )
        return [Prior(prior.parts[a:b], prior.most) for a, b in self._extents]


def _merged(parts: Sequence[Ranking], k: int) -> Ranking:
    """Return the best ``k`` of each query among all shards' best; ties by number."""
    merged = rank(
        np.concatenate([part.queries for part in parts]),
        np.concatenate([part.items for part in parts]),
        np.concatenate([part.scores for part in parts]),
    )
    mask = merged.ranks() <= k
    return Ranking(merged.queries[mask], merged.items[mask], merged.scores[mask])


SHARE = 4  # a field's decoded postings take at most this part of a worker's memory


class SpreadIndex(Answering):
    """The generation of an index in service, each shard of it on a worker.

    machines : who holds the shards;  path : the index, where all machines see it;
    memory : where a shard's postings of a field, decoded, fit it (and a quarter of what
    a worker may take), they are kept decoded.

    It is read only. ``close``, or a ``with``, lets the workers forget it.
    """

    def __init__(
        self, machines: Machines, path: Path | str, memory: str | int = "1GB"
    ) -> None:
        self.path = Path(path)
        snapshot, room = open_snapshot(self.path), byte_size(memory)
        self._index = Index(self.path, snapshot, room)
        self._terms = QueryTerms(self._index.analyzer)
        if machines.memory:
            room = min(room, machines.memory // SHARE)
        self._searcher = SpreadSearcher(
            machines,
            _places(self.path, snapshot, machines.workers, room),
            self.fields or [TEXT],
            self._index.names(),
        )

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __repr__(self) -> str:
        return f"SpreadIndex({str(self.path)!r}, {len(self)} documents)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def searcher(self) -> SpreadSearcher:
        """What answers queries of analysed terms."""
        return self._searcher

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer that made the terms."""
        return self._index.analyzer

    @property
    def generation(self) -> int:
        """The number of the generation that is read."""
        return self._index.generation

    @property
    def fields(self) -> list[str]:
        """The names of the fields."""
        return self._index.fields

    @property
    def has_positions(self) -> bool:
        """Whether the places of tokens were kept."""
        return self._index.has_positions

    def ids(self) -> Iterator[str]:
        """Yield the ids of all documents, in order."""
        return self._index.ids()

    def id(self, number: int) -> str:
        """Return the id of a document by its number."""
        return self._index.id(number)

    def number(self, name: str) -> int | None:
        """Return the number of a document by its id; None: it is not there."""
        return self._index.number(name)

    def ask(self, query: str, k: int = 10, **options: Any) -> list[Hit]:
        """Answer a query as people type it, as ``Index.ask`` does."""
        model = options.get("model")
        if model == BOOLEAN or isinstance(parse(query), Belief):
            request = QueryRequest(query, options)
            return self._searcher.answer(request, k, None)
        return self.question(query, **options).answer(k)

    def question(
        self, query: str, model: str | None = None, **options: Any
    ) -> SpreadQuestion:
        """Parse a query as people type it, to be answered and explained."""
        feedback = options.pop("feedback", None)
        prior = options.get("prior")
        fields: dict[str, Any] = dict.fromkeys(self._searcher.fields)
        term_weights = term_weights_of(
            QueryContext(query, fields, self.analyzer), parse(query)
        )
        settings = {**options, "model": model, "prior": None}
        question = SpreadQuestion(
            self._searcher, QueryRequest(query, settings), term_weights, prior
        )
        if feedback is None:
            return question
        return question.with_feedback(feedback_from(feedback))

    def close(self) -> None:
        """Let the workers forget the shards."""
        self._searcher.close()


@dataclass(frozen=True)
class SpreadQuestion:
    """A parsed query, as ``classmark.index.asking.Question`` is.

    term_weights : field → analysed term → weight;  prior : of all documents.
    """

    searcher: SpreadSearcher
    request: QueryRequest
    term_weights: TermWeights
    prior: Prior | None = None

    def answer(self, k: int = 10) -> list[Hit]:
        """Return the best ``k`` documents, best first; ties by document number."""
        return self.searcher.answer(self.request, k, self.prior)

    def terms(self) -> list[str]:
        """Return all query terms, of any field."""
        return list(in_any(self.term_weights))

    def explain(self, item: int) -> Explanation:
        """Take the score of a document apart: each term's part, field by field."""
        return self.searcher.explain_answer(self.request, item, self.prior)

    def with_feedback(self, feedback: Feedback) -> SpreadQuestion:
        """Return the question expanded by its first answers."""
        hits = self.answer(feedback.documents)
        answers = TopDocuments(
            np.array([hit.number for hit in hits], np.int64),
            np.array([hit.score for hit in hits]),
            self.request.options["model"] or "bm25",
        )
        terms = in_any(self.term_weights)
        (longer,) = self.searcher.lengthen([terms], [answers], feedback)
        term_weights = lengthened(self.term_weights, longer)
        return replace(
            self,
            request=self.request._replace(term_weights=term_weights),
            term_weights=term_weights,
        )


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
