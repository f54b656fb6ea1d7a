"""SpreadIndex: an index whose shards live on workers answers as one.

A shard is some neighbouring segments, as many shards as there are workers (or segments,
if fewer). Documents, scores and ties are those that ``Index`` gives, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from classmark.index.answering import Answering
from classmark.index.asking import BOOLEAN, Wanted, in_any, lengthened, wanted_of
from classmark.index.boolean import Asked
from classmark.index.building import bytes_of
from classmark.index.directory import Index
from classmark.index.documents import TEXT
from classmark.index.feedback import Feedback, Found, feedback_from
from classmark.index.language import parse
from classmark.index.querying import QueryTerms
from classmark.index.snapshots import Snapshot, open_snapshot
from classmark.index.tree import Belief
from classmark.machines.answering import SpreadSearcher
from classmark.machines.shards import Asking, Place

if TYPE_CHECKING:
    from classmark.index.explaining import Explanation
    from classmark.index.priors import Prior
    from classmark.index.searching import Hit
    from classmark.machines.cluster import Machines
    from classmark.text.analysis import Analyzer

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
        snapshot, room = open_snapshot(self.path), bytes_of(memory)
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
            asking = Asking(query, options)
            return self._searcher.answer(asking, k, None)
        return self.question(query, **options).answer(k)

    def question(
        self, query: str, model: str | None = None, **options: Any
    ) -> SpreadQuestion:
        """Make a query as people type it ready: to be answered, and explained."""
        feedback = options.pop("feedback", None)
        prior = options.get("prior")
        known: dict[str, Any] = dict.fromkeys(self._searcher.fields)
        wanted = wanted_of(Asked(query, known, self.analyzer), parse(query))
        said = {**options, "model": model, "prior": None}
        asked = SpreadQuestion(self._searcher, Asking(query, said), wanted, prior)
        if feedback is None:
            return asked
        return asked.with_feedback(feedback_from(feedback))

    def close(self) -> None:
        """Let the workers forget the shards."""
        self._searcher.close()


@dataclass(frozen=True)
class SpreadQuestion:
    """A query made ready, as ``classmark.index.asking.Question`` is.

    wanted : field → analysed term → weight;  prior : of all documents.
    """

    searcher: SpreadSearcher
    asking: Asking
    wanted: Wanted
    prior: Prior | None = None

    def answer(self, k: int = 10) -> list[Hit]:
        """Return the best ``k`` documents, best first; ties by document number."""
        return self.searcher.answer(self.asking, k, self.prior)

    def terms(self) -> list[str]:
        """Return all terms that are asked for, in any field."""
        return list(in_any(self.wanted))

    def explain(self, item: int) -> Explanation:
        """Take the score of a document apart: each term's part, field by field."""
        return self.searcher.explain_answer(self.asking, item, self.prior)

    def with_feedback(self, feedback: Feedback) -> SpreadQuestion:
        """Return the question that its first answers make longer."""
        hits = self.answer(feedback.documents)
        found = Found(
            np.array([hit.number for hit in hits], np.int64),
            np.array([hit.score for hit in hits]),
            self.asking.options["model"] or "bm25",
        )
        asked = in_any(self.wanted)
        (longer,) = self.searcher.lengthen([asked], [found], feedback)
        wanted = lengthened(self.wanted, longer)
        return replace(self, asking=self.asking._replace(wanted=wanted), wanted=wanted)


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
