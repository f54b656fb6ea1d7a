"""SpreadSearcher: a query goes to all shards, and the best of their best come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.index.priors import Prior
from classmark.index.searching import Hit, named_hits
from classmark.machines import shards
from classmark.machines.excerpts import lengthened_by, numbers_of
from classmark.machines.shards import Asking, Batch, Place, Said, Shard
from classmark.problems import Mistake
from classmark.ranking import Ranking, rank

if TYPE_CHECKING:
    from classmark.index.combining import Weights
    from classmark.index.explaining import Explanation
    from classmark.index.feedback import Feedback, Found
    from classmark.index.plans import Terms
    from classmark.machines.cluster import Machines
    from classmark.machines.held import Held

ROUND = 1 << 21  # answers that a shard gives in one round, at most


class SpreadSearcher:
    """Answers queries of analysed terms as ``classmark.index.searching.Searcher`` does.

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
        self._held: Held | None = machines.hold(Shard, places)
        self._extents = machines.ask(shards.extent, self._held)
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
        asked = (terms, k, (model, parameters), fields)
        return self._best(shards.search, self._parted(prior), asked, k)

    def rank(
        self,
        queries: Sequence[Terms],
        k: int = 10,
        model: str = "bm25",
        **parameters: float | str,
    ) -> Ranking:
        """Answer many queries of a one-field index, as a ``Ranking``."""
        size = max(1, ROUND // max(k, 1))
        found = []
        for first in range(0, max(len(queries), 1), size):
            some = [*queries[first : first + size]]
            batch = Batch(some, k, (model, parameters))
            one = _merged(self._machines.ask(shards.rank, self._opened(), [batch]), k)
            found.append(Ranking(one.queries + first, one.items, one.scores))
        return Ranking(
            np.concatenate([each.queries for each in found]),
            np.concatenate([each.items for each in found]),
            np.concatenate([each.scores for each in found]),
        )

    def search_many(
        self,
        queries: Sequence[Terms],
        k: int = 10,
        model: str = "bm25",
        **parameters: float | str,
    ) -> list[list[Hit]]:
        """Return what ``search`` does for each of many queries."""
        found = self.rank(queries, k, model, **parameters)
        ends = np.searchsorted(found.queries, np.arange(1, len(queries) + 1)).tolist()
        hits = self.hits(found)
        return [hits[a:b] for a, b in pairwise([0, *ends])]

    def search_vector(
        self, weights: Mapping[str, float], k: int = 10, *, every: bool = False
    ) -> list[Hit]:
        """Return the items with the largest dot product with ``weights``."""
        own = self._parted(None)
        return self._best(shards.multiply, own, (dict(weights), k, every), k)

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
        asked = (terms, (model, parameters), fields)
        return self._explained(shards.explain, item, prior, asked)

    def answer(self, asking: Asking, k: int, prior: Prior | None) -> list[Hit]:
        """Answer a query of the language."""
        return self._best(shards.answer, self._parted(prior), (asking, k), k)

    def explain_answer(
        self, asking: Asking, item: int, prior: Prior | None
    ) -> Explanation:
        """Take apart the score that ``answer`` gives an item."""
        return self._explained(shards.explain_answer, item, prior, (asking,))

    def lengthen(
        self,
        queries: Sequence[Mapping[str, float]],
        found: Sequence[Found],
        feedback: Feedback,
    ) -> list[dict[str, float]]:
        """Return each query made longer by the first documents found for it."""
        items = numbers_of(found)
        own = [items[(a <= items) & (items < b)] - a for a, b in self._extents]
        words = list(dict.fromkeys(term for terms in queries for term in terms))
        excerpts = self._round(shards.excerpt, own, (words,))
        return lengthened_by(excerpts, queries, found, feedback)

    def hits(self, found: Ranking) -> list[Hit]:
        """Name items that were found."""
        return named_hits(self.names, found.items, found.scores)

    def close(self) -> None:
        """Let the workers forget the shards."""
        self._held = None

    def _best(
        self,
        work: Callable[..., Ranking],
        own: Sequence[Any],
        shared: tuple[Any, ...],
        k: int,
    ) -> list[Hit]:
        return self.hits(_merged(self._round(work, own, shared), k))

    def _round(
        self, work: Callable[..., Any], own: Sequence[Any], shared: tuple[Any, ...]
    ) -> list[Any]:
        """One round of short messages."""
        said = [Said(work, each, shared) for each in own]
        return self._machines.ask(shards.apply, self._opened(), own=said)

    def _opened(self) -> Held:
        if self._held is None:
            raise Mistake("the index was closed: open it again to search it")
        return self._held

    def _explained(
        self,
        work: Callable[..., Explanation],
        item: int,
        prior: Prior | None,
        shared: tuple[Any, ...],
    ) -> Explanation:
        """Let the one shard that has the item work."""
        if not 0 <= item < self.n_items:
            raise Mistake(f"item {item} is not there: give 0 to {self.n_items - 1}")
        said = [
            Said(work, (item - a, part), shared) if a <= item < b else None
            for (a, b), part in zip(self._extents, self._parted(prior), strict=True)
        ]
        found: list[Explanation | None]
        found = self._machines.ask(shards.apply, self._opened(), own=said)
        return next(each for each in found if each is not None)

    def _parted(self, prior: Prior | None) -> list[Prior | None]:
        """Give each shard its own part of a prior."""
        if prior is None:
            return [None] * len(self._extents)
        if len(prior.parts) != self.n_items:
            raise Mistake(
                f"prior has {len(prior.parts)} items: the index has {self.n_items}"
            )
        return [Prior(prior.parts[a:b], prior.most) for a, b in self._extents]


def _merged(parts: Sequence[Ranking], k: int) -> Ranking:
    """Return the best ``k`` of each query among all shards' best; ties by number."""
    found = rank(
        np.concatenate([part.queries for part in parts]),
        np.concatenate([part.items for part in parts]),
        np.concatenate([part.scores for part in parts]),
    )
    kept = found.ranks() <= k
    return Ranking(found.queries[kept], found.items[kept], found.scores[kept])
