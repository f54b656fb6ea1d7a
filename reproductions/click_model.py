"""A user of whom all is known clicks on the lists that a ranker in service shows.

Neighbours in a list change places by chance, as FairPairs has it
[RadlinskiJoachims06]: the pairs begin at the first place or at the second, by a coin,
and each pair is interchanged by another. So every result stood as often just above as
just below its neighbour, and what the place did to its clicks can be told from what the
result did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.evaluation.retrieval import tally
from classmark.ltr.features import PairFeatures, minmax
from classmark.ltr.learners import RankingSVM
from classmark.ltr.propensity import (
    fit_click_model,
    propensity_weights,
    swap_propensities,
)
from classmark.measures import retrieval_per_query
from classmark.preferences.labels import preferred_places
from classmark.problems import Mistake
from classmark.validation import Seed, generator

if TYPE_CHECKING:
    from classmark.evaluation.retrieval import JudgedQueries


@dataclass(frozen=True, slots=True)
class User:
    """Looks at a place with a chance, and clicks what is looked at by its grade.

    By position, the user looks at place r with the chance θ_r = r^-eta and clicks a
    document of grade g there with the chance ``attraction[g]``; besides, any result
    is clicked by mistake:

        P(click | place r, grade g) = mistake + (1 − mistake) · r^-eta · attraction[g]

    In a cascade [Craswell08], the user reads from the top, goes on past what is not
    clicked, and past a click with the chance ``another``; eta says nothing then.
    A grade above those of ``attraction`` attracts as the highest.
    """

    attraction: Sequence[float] = (0.1, 0.8, 0.9)
    eta: float = 1.0
    mistake: float = 0.0
    kind: Literal["position", "cascade"] = "position"
    another: float = 0.5

    def __post_init__(self) -> None:
        for name in ("mistake", "another"):
            if not 0 <= getattr(self, name) <= 1:
                raise Mistake(f"{name} is {getattr(self, name)}: give a chance")
        if not self.attraction or not all(0 <= a <= 1 for a in self.attraction):
            raise Mistake("attraction: give a chance for each grade, from grade 0")
        if self.eta < 0:
            raise Mistake(f"eta is {self.eta}: give 0 or more")

    def propensities(self, places: int) -> Floats:
        """Return θ of the places 1, 2, …, by position.

        >>> User().propensities(4).tolist()
        [1.0, 0.5, 0.3333333333333333, 0.25]
        """
        if self.kind == "cascade":
            raise Mistake("a cascade looks by what stands above: it has no propensity")
        return np.arange(1.0, places + 1) ** -self.eta

    def chances(self, grades: ArrayLike) -> Floats:
        """Return P(click) of each place of lists with these grades, by position.

        grades : whole numbers, shape (…, places).

        >>> User((0.04, 0.3, 0.6, 0.85), 0.8, 0.01).chances([3, 0]).round(4).tolist()
        [0.8515, 0.0327]
        """
        liked = self._liked(grades)
        theta = self.propensities(liked.shape[-1])
        return self.mistake + (1 - self.mistake) * theta * liked

    def clicks(self, grades: ArrayLike, seed: Seed = None) -> Bools:
        """Click on lists with these grades: shape (…, places)."""
        rng = generator(seed)
        if self.kind == "position":
            chance = self.chances(grades)
            return rng.random(chance.shape) < chance
        liked = self.mistake + (1 - self.mistake) * self._liked(grades)
        wanted = rng.random(liked.shape) < liked
        leaves = wanted & (rng.random(liked.shape) >= self.another)
        gone: Ints = np.cumsum(leaves, axis=-1) - leaves
        return np.asarray(wanted & (gone == 0))

    def _liked(self, grades: ArrayLike) -> Floats:
        numbers = np.clip(np.asarray(grades, np.int64), 0, len(self.attraction) - 1)
        return np.asarray(self.attraction, np.float64)[numbers]


SHOWN = 10


class Trials(NamedTuple):
    """Pairs of neighbours: positions from 1, whether interchanged, clicks on both."""

    positions: Ints
    swapped: Bools
    clicks: Bools


class Preferences(NamedTuple):
    """Rows of a query's candidates, one over the other, and what that counts."""

    query: Ints
    winner: Ints
    loser: Ints
    weight: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ClickLog:
    """Lists that were shown.

    query : of each list, shape (n,);  rows : the candidates shown, best first, shape
    (n, places);  clicked : shape (n, places);  first : where its pairs of neighbours
    begin, 0 or 1, or 2 where nothing was interchanged.
    """

    query: Ints
    rows: Ints
    clicked: Bools
    first: Ints
    swapped: Bools

    def beginning(self, n: int) -> ClickLog:
        """Return the log as it was after n impressions."""
        return ClickLog(*(getattr(self, name)[:n] for name in self.__slots__))

    def propensities(self) -> dict[str, Floats]:
        """Estimate θ from neighbours that changed places, and with the click model."""
        places = np.broadcast_to(np.arange(1, self.rows.shape[1] + 1), self.rows.shape)
        pairs = self.query[:, np.newaxis] * (int(self.rows.max()) + 1) + self.rows
        model = fit_click_model(pairs.ravel(), places.ravel(), self.clicked.ravel())
        return {
            "swaps": swap_propensities(*self.trials()),
            "click model": model.propensities,
        }

    def trials(self) -> Trials:
        """Return every pair of neighbours that might have been interchanged."""
        found = []
        for above in range(self.rows.shape[1] - 1):
            here = np.flatnonzero(self.first == above % 2)
            pair = np.tile([above + 1, above + 2], (len(here), 1))
            clicks = self.clicked[here, above : above + 2]
            found.append(Trials(pair, self.swapped[here, above], clicks))
        return Trials(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def preferences(
        self, strategy: str, theta: Floats | None = None, *, fair: bool = False
    ) -> Preferences:
        """Add up what the clicks prefer, weighted by 1/θ of the winner's place.

        fair : only between neighbours that chance put in their order.
        """
        lists, winner, loser = np.nonzero(preferred_places(self.clicked, strategy))
        if fair:
            tried = (winner == loser + 1) & (self.first[lists] == loser % 2)
            lists, winner, loser = lists[tried], winner[tried], loser[tried]
        size = int(self.rows.max()) + 1
        over, under = self.rows[lists, winner], self.rows[lists, loser]
        key = (self.query[lists] * size + over) * size + under
        each = None if theta is None else propensity_weights(theta, winner + 1)
        keys, which = np.unique(key, return_inverse=True)
        weight = np.bincount(which, each, len(keys)).astype(np.float64)
        return Preferences(keys // size**2, keys // size % size, keys % size, weight)


def with_order(said: Preferences, queries: int, places: int = SHOWN) -> Preferences:
    """Let half of the weight say: keep the order that was shown."""
    above, below = np.triu_indices(places, 1)
    size = queries * len(above)
    kept = Preferences(
        np.repeat(np.arange(queries), len(above)),
        np.tile(above, queries),
        np.tile(below, queries),
        np.full(size, said.weight.sum() / size),
    )
    return Preferences(*(np.concatenate(part) for part in zip(said, kept, strict=True)))


def simulate_clicks(
    grades: Sequence[Array],
    user: User,
    impressions: int,
    seed: Seed = 0,
    *,
    swap: bool = True,
) -> ClickLog:
    """Show the first ten candidates of queries drawn by chance, and let a user click.

    grades : of each query the grades of its candidates, best first, ten at least;
    swap : whether neighbours change places.
    """
    rng = generator(seed)
    top = np.stack([np.asarray(each)[:SHOWN] for each in grades])
    query = rng.integers(len(top), size=impressions)
    rows = np.tile(np.arange(top.shape[1]), (impressions, 1))
    first = rng.integers(2, size=impressions) if swap else np.full(impressions, 2)
    swapped = np.zeros(rows.shape, np.bool_)
    for above in range(top.shape[1] - 1):
        here = (first == above % 2) & (rng.random(impressions) < 0.5)
        swapped[here, above] = True
        rows[here, above : above + 2] = rows[here, above : above + 2][:, ::-1]
    clicked = user.clicks(top[query[:, np.newaxis], rows], rng)
    return ClickLog(query, rows, clicked, first, swapped)


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
