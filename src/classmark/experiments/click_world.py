"""Queries to click on and queries to be judged on, and what is learned in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.experiments.click_log import SHOWN, Preferences
from classmark.ltr.features import PairFeatures, minmax, tally
from classmark.ltr.svm import RankingSVM
from classmark.measures import retrieval_per_query

if TYPE_CHECKING:
    from classmark.experiments.retrieving import JudgedQueries

DEPTH = 100
C = 1.0
MEASURE = "ndcg@10"


class Candidates(NamedTuple):
    """What the ranker in service found for a query, best first.

    X : features, scaled per query, shape (documents, features);  grades : the truth.
    """

    query: str
    ids: list[str]
    X: Floats
    grades: Ints


def candidates(asked: JudgedQueries, service: str) -> list[Candidates]:
    """Find the candidates of each query; queries with fewer than ten are left out."""
    features = PairFeatures(asked.searcher)
    found = []
    for query, terms in asked.queries.items():
        hits = asked.searcher.search(terms, DEPTH, service)
        if len(hits) < SHOWN:
            continue
        items = np.array([hit.number for hit in hits], np.int64)
        grades = [max(0, int(asked.qrels[query].get(hit.id, 0))) for hit in hits]
        X = minmax(features.of(tally(terms), items))
        ids = [hit.id for hit in hits]
        found.append(Candidates(query, ids, X, np.array(grades, np.int64)))
    return found


@dataclass(frozen=True, eq=False)
class World:
    """clicked, judged : the two halves of the queries;  qrels : the truth."""

    qrels: Mapping[str, Mapping[str, float]]
    clicked: list[Candidates]
    judged: list[Candidates]

    def true_preferences(self, depth: int) -> Preferences:
        """The higher grade over the lower, among the first candidates."""
        parts = []
        for number, each in enumerate(self.clicked):
            grades = each.grades[:depth]
            over, under = np.nonzero(grades[:, np.newaxis] > grades)
            parts.append((np.full(len(over), number), over, under, np.ones(len(over))))
        return Preferences(*(np.concatenate(c) for c in zip(*parts, strict=True)))

    def learn(self, said: Preferences) -> Floats:
        """Weights of the features that agree best with the preferences.

        The weights of the preferences are made to add up to the number of queries.
        """
        X = np.concatenate([each.X for each in self.clicked])
        starts = np.cumsum([0, *(len(each.X) for each in self.clicked)])[said.query]
        weights = len(self.clicked) * said.weight / said.weight.sum()
        winners, losers = starts + said.winner, starts + said.loser
        return RankingSVM(C).fit_preferences(X, winners, losers, weights).coef_

    def ndcg(self, weights: Floats | None) -> Floats:
        """NDCG@10 of each judged query; without weights, of the ranker in service."""
        run = {each.query: _scored(each, weights) for each in self.judged}
        qrels = {query: self.qrels[query] for query in run}
        values = retrieval_per_query(run, qrels, [MEASURE])[MEASURE]
        return np.array([values[query] for query in run])


def _scored(each: Candidates, weights: Floats | None) -> dict[str, float]:
    scores = -np.arange(1.0, len(each.ids) + 1) if weights is None else each.X @ weights
    return dict(zip(each.ids, scores.tolist(), strict=True))
