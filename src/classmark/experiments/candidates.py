"""The first answers to judged queries, with features: what a ranker learns to order.

A first stage answers each query; its first ``depth`` documents are the candidates that
a ranker puts in a new order, the rest follow as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from classmark.arrays import Floats
from classmark.experiments.retrieving import DEPTH, JudgedQueries, Run
from classmark.formats.letor import JudgedRows
from classmark.index.plans import Choice
from classmark.ltr.features import PairFeatures, Recipe, minmax, tally
from classmark.problems import Mistake
from classmark.progress import track
from classmark.sparse import rows_from

CANDIDATES = 100
Scorer = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The answers to one query: ids, best first, and of the candidates the features.

    raw : shape (candidates, features);  rows : the same, scaled to 0 … 1 within the
    query;  grades : shape (candidates,), 0 where nobody judged.
    """

    ids: tuple[str, ...]
    raw: Floats
    rows: Floats
    grades: Floats

    @property
    def teaches(self) -> bool:
        """Whether any candidate is to stand above another."""
        return len(self.grades) > 0 and bool(np.ptp(self.grades) > 0)

    def only(self, columns: Sequence[int]) -> Block:
        """Keep some of the features."""
        return replace(self, raw=self.raw[:, columns], rows=self.rows[:, columns])

    def ordered(self, scores: Floats) -> dict[str, float]:
        """Return the answers by these scores of the candidates, as a run has them."""
        order = np.argsort(-scores, kind="stable")
        ids = [self.ids[at] for at in order.tolist()] + list(self.ids[len(scores) :])
        return {id_: -float(rank) for rank, id_ in enumerate(ids, 1)}


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What a ranker learns from and is judged by: the answers to each query.

    names : of the features, which ``recipe`` made.
    """

    names: tuple[str, ...]
    recipe: Recipe
    blocks: Mapping[str, Block]

    def stacked(self, queries: Sequence[str]) -> tuple[Floats, Floats, list[str]]:
        """Return X, grades and query ids of the queries that teach something."""
        kept = [query for query in queries if self.blocks[query].teaches]
        if not kept:
            raise Mistake(
                "no query has candidates of two grades: judge documents among its "
                f"first {CANDIDATES} answers, some relevant and some not"
            )
        blocks = [self.blocks[query] for query in kept]
        sizes = [len(block.grades) for block in blocks]
        return (
            np.vstack([block.rows for block in blocks]),
            np.concatenate([block.grades for block in blocks]),
            [query for query, n in zip(kept, sizes, strict=True) for _ in range(n)],
        )

    def run(self, queries: Sequence[str], scorer: Scorer | Any) -> Run:
        """Order the candidates of each query by a scorer, or a fitted ranker."""
        score = getattr(scorer, "decision_function", scorer)
        found = {}
        for query in queries:
            block = self.blocks[query]
            none = np.empty(0)
            scores = np.asarray(score(block.rows)) if len(block.rows) else none
            found[query] = block.ordered(scores)
        return found

    def judged_rows(self) -> JudgedRows:
        """Return all candidates, as a LETOR file has them; features are not scaled."""
        pairs = [
            (query, id_)
            for query, block in self.blocks.items()
            for id_ in block.ids[: len(block.grades)]
        ]
        if not pairs:
            raise Mistake("no query has an answer: nothing to write")
        return JudgedRows(
            rows_from(np.vstack([block.raw for block in self.blocks.values()])),
            np.concatenate([block.grades for block in self.blocks.values()]),
            tuple(query for query, _ in pairs),
            tuple(id_ for _, id_ in pairs),
        )


def candidates_of(
    asked: JudgedQueries,
    features: PairFeatures,
    first: Choice,
    depth: int = CANDIDATES,
) -> Candidates:
    """Answer the queries by the first stage, and make the candidates' features."""
    model, parameters = first
    blocks = {}
    for query, terms in track(asked.queries.items(), "features", len(asked.queries)):
        hits = asked.searcher.search(
            terms, max(DEPTH, depth), model, fields=None, prior=None, **parameters
        )
        ids = tuple(hit.id for hit in hits)
        items = np.array([hit.number for hit in hits[:depth]], np.int64)
        raw = features.of(tally(terms), items)
        known = asked.qrels.get(query, {})
        grades = np.array([known.get(id_, 0.0) for id_ in ids[:depth]], np.float64)
        blocks[query] = Block(ids, raw, minmax(raw), grades)
    return Candidates(features.names, features.recipe, blocks)
