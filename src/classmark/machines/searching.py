"""SpreadIndex: an index whose shards live on workers answers as one.

A shard is some neighbouring segments, as many shards as there are workers (or segments,
if fewer). Documents, scores and ties are those that ``Index`` gives, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.index.asking import BOOLEAN, QueryContext, question
from classmark.index.build import TEXT
from classmark.index.feedback import Feedback, TopDocuments
from classmark.index.index import OpenIndex
from classmark.index.query_language import Belief, parse
from classmark.index.search import (
    BaseSearcher,
    Explanation,
    Hit,
    Prior,
    Question,
    Searcher,
)
from classmark.index.snapshot import Snapshot, open_snapshot
from classmark.machines import shards
from classmark.machines.shards import Message, Place, Shard, lengthened_by, numbers_of
from classmark.problems import Mistake
from classmark.ranking import Ranking, cut, rank
from classmark.validation import byte_size

if TYPE_CHECKING:
    from classmark.index.models import Choice, Terms
    from classmark.index.vectors import WeightedQuery
    from classmark.machines.cluster import Machines, RemoteObjects


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
        self._extents = machines.ask(shards.extent, self._shards)
        self.n_items = self._extents[-1][1]

    def find_many(self, queries: Sequence[Terms], k: int, choice: Choice) -> Ranking:
        """Return the best ``k`` items of each query of a one-field index."""
        size, rankings = max(1, ROUND // max(k, 1)), []
        for first in range(0, max(len(queries), 1), size):
            shared = ([*queries[first : first + size]], k, choice)
            rounds = self._round(shards.find_many, self._parted(None), shared)
            merged = _merged(rounds, k)
            numbers = merged.queries + first
            rankings.append(Ranking(numbers, merged.items, merged.scores))
        return Ranking(*_columns(rankings))

    def multiply(
        self, weights: Mapping[str, float] | WeightedQuery, k: int, every: bool
    ) -> tuple[Ints, Floats]:
        """Return the ``k`` items with the largest products with a vector."""
        if not isinstance(weights, Mapping):
            raise Mistake("weights were made ready for one machine: give a mapping")
        shared = (dict(weights), k, every)
        return self._best(shards.multiply, self._parted(None), shared)

    def answer(self, question: Question, k: int) -> tuple[Ints, Floats]:
        """Return the best ``k`` items of those that a question describes."""
        priors, sent = self._parted(question.prior), _sent(question)
        return self._best(shards.answer, priors, (sent, k))

    def explain_answer(self, question: Question, item: int) -> Explanation:
        """Take apart the score that ``answer`` gives an item: ask its shard."""
        self.require_item(item)
        shared, priors = (_sent(question),), self._parted(question.prior)
        messages = [
            Message(shards.explain, (item - a, part), shared) if a <= item < b else None
            for (a, b), part in zip(self._extents, priors, strict=True)
        ]
        explanations: list[Explanation | None] = self._machines.ask(
            shards.apply, self._opened(), arguments=messages
        )
        return next(each for each in explanations if each is not None)

    def ask(self, query: str, k: int, options: Mapping[str, Any]) -> list[Hit]:
        """Answer a query of the language that makes no ``Question``."""
        shared = (query, k, options)
        return self.hits(*self._best(shards.ask, self._parted(None), shared))

    def lengthen(
        self,
        queries: Sequence[Mapping[str, float]],
        top_documents: Sequence[TopDocuments],
        feedback: Feedback,
    ) -> list[dict[str, float]]:
        """Return each query expanded by terms of its best documents."""
        items = numbers_of(top_documents)
        local_items = [items[(a <= items) & (items < b)] - a for a, b in self._extents]
        words = list(dict.fromkeys(term for terms in queries for term in terms))
        excerpts = self._round(shards.excerpt, local_items, (words,))
        return lengthened_by(excerpts, queries, top_documents, feedback)

    def close(self) -> None:
        """Let the workers forget the shards."""
        self._shards = None

    def _best(
        self,
        work: Callable[..., Ranking],
        per_shard: Sequence[Any],
        shared: tuple[Any, ...],
    ) -> tuple[Ints, Floats]:
        """The best among all shards' best, as many as ``shared[1]`` says."""
        merged = _merged(self._round(work, per_shard, shared), shared[1])
        return merged.items, merged.scores

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
    return replace(question, searcher=cast("Searcher", None), prior=None)


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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def searcher(self) -> SpreadSearcher:
        """What answers queries of analysed terms."""
        return self._searcher

    def ask(self, query: str, k: int = 10, **options: Any) -> list[Hit]:
        """Answer a query as people type it, as ``Index.ask`` does."""
        is_set = options.get("model") == BOOLEAN
        if is_set or isinstance(parse(query), Belief):
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
