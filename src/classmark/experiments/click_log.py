"""Clicks of a user of whom all is known, on lists that a ranker in service shows.

Neighbours in a list change places by chance, as FairPairs has it
[RadlinskiJoachims06]: the pairs begin at the first place or at the second, by a coin,
and each pair is interchanged by another. So every result stood as often just above as
just below its neighbour, and what the place did to its clicks can be told from what the
result did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.judgments.clicks import preferred_places
from classmark.ltr.propensity import (
    fit_click_model,
    propensity_weights,
    swap_propensities,
)
from classmark.randomness import Seed, generator

if TYPE_CHECKING:
    from classmark.experiments.click_users import User

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
