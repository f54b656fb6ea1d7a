"""How likely is a place of a result list to be looked at at all?

Clicks on place k are rarer than on place 1 for two reasons: it is looked at less, and
what stands there is worse. Both estimators take the two apart, and give θ_k, the chance
of a look at place k beside that at the first, θ_1 = 1. A click at place k then stands
for 1/θ_k looks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Array, Floats, Ints
from classmark.problems import Mistake, refusal

CLIP = 10.0
LEAST = 1e-6


def propensity_weights(
    propensities: ArrayLike, positions: ArrayLike, clip: float = CLIP
) -> Floats:
    """Return what a click at each position counts: min(1/θ, clip) [Joachims17].

    propensities : θ of the positions 1, 2, …;  positions : from 1, any shape.

    >>> propensity_weights([1.0, 0.5, 0.01], [1, 2, 3]).tolist()
    [1.0, 2.0, 10.0]
    """
    theta = np.asarray(propensities, np.float64)
    places = np.asarray(positions, np.int64)
    if theta.ndim != 1 or not np.all(theta > 0):
        raise Mistake("propensities are to be above 0, one a position")
    if not clip >= 1:
        raise Mistake(f"clip is {clip}: give the greatest weight, 1 or more")
    if places.size and not (places.min() >= 1 and places.max() <= len(theta)):
        raise Mistake(
            f"positions go from {places.min()} to {places.max()}: propensities are "
            f"known for 1 to {len(theta)}"
        )
    return np.minimum(1 / theta[places - 1], clip)


def swap_propensities(
    positions: ArrayLike, swapped: ArrayLike, clicks: ArrayLike
) -> Floats:
    """Estimate θ from results that changed places by chance [Joachims17].

    In each trial the results of two positions a < b were interchanged or not, by
    chance. Over both arms the same results stood at a and at b, so that
    θ_b / θ_a = (click rates at b) / (click rates at a). The ratios of all pairs are
    made to agree by least squares of the logarithms, weighted by the clicks there are.

    positions : a and b of each trial, from 1, shape (n, 2);  swapped : shape (n,);
    clicks : on position a and on position b, 0 or 1, shape (n, 2).

    >>> swapped = [False, False, True, True]
    >>> clicks = [[1, 0], [1, 1], [1, 0], [1, 1]]
    >>> swap_propensities([[1, 2]] * 4, swapped, clicks).round(6).tolist()
    [1.0, 0.5]
    """
    places = np.asarray(positions, np.int64)
    moved, hits = np.asarray(swapped, np.bool_), np.asarray(clicks, np.float64)
    if not places.shape == hits.shape == (len(moved), 2):
        raise Mistake(
            f"positions {places.shape}, swapped {moved.shape} and clicks {hits.shape} "
            "do not belong together: give two positions, and two clicks, a trial"
        )
    pairs, which = np.unique(places, axis=0, return_inverse=True)
    rows, sides = np.zeros((len(pairs), int(places.max()))), np.zeros(len(pairs))
    for at, (a, b) in enumerate(pairs.tolist()):
        if a < 1 or a == b:
            raise Mistake(f"positions {a} and {b}: give two different ones, from 1")
        here = which.reshape(-1) == at
        arms = [hits[here & arm] for arm in (moved, ~moved)]
        if not all(map(len, arms)):
            raise refusal(
                "positions %(a)s and %(b)s were never seen both interchanged and not: "
                "interchange them by chance",
                a=a,
                b=b,
            )
        at_a, at_b = sum(arm.mean(axis=0) for arm in arms)
        n_clicks = hits[here].sum(axis=0)
        if not n_clicks.all():
            raise refusal(
                "positions %(a)s and %(b)s: one of them was never clicked in a trial: "
                "collect more",
                a=a,
                b=b,
            )
        log_ratio, root = np.log(at_b / at_a), np.sqrt(1 / (1 / n_clicks).sum())
        rows[at, a - 1], rows[at, b - 1], sides[at] = -root, root, root * log_ratio
    solved, _, rank, _ = np.linalg.lstsq(rows[:, 1:], sides)
    if rank < rows.shape[1] - 1:
        raise Mistake(
            f"not all positions 1 to {rows.shape[1]} are tied to the first by results "
            "that were interchanged: interchange others too"
        )
    return np.asarray(np.exp(np.concatenate([[0.0], solved])))


@dataclass(frozen=True, slots=True, eq=False)
class ClickModel:
    """Looks and attraction: P(click) = θ_position · γ(query, document).

    propensities : θ, θ_1 = 1;  attractions : γ of each pair, in the order of
    ``pairs``; θ·γ is what is known of them, their scale is not.  rounds : of
    expectation and maximisation;  likelihood : the mean log-likelihood of a click or
    none.
    """

    propensities: Floats
    attractions: Floats
    pairs: Array
    rounds: int
    likelihood: float


def fit_click_model(
    pairs: ArrayLike,
    positions: ArrayLike,
    clicks: ArrayLike,
    *,
    tol: float = 1e-6,
    rounds: int = 5000,
) -> ClickModel:
    """Fit the position-based click model by expectation maximisation [Wang18].

    A look at place k is a coin θ_k, finding a document attractive a coin γ, and a click
    is both. Where there is no click, look and attraction are filled in by what they
    are expected to be: θ(1 − γ)/(1 − θγ) and γ(1 − θ)/(1 − θγ). No result need be
    interchanged on purpose, but documents must have stood at several positions.

    pairs : a name of each (query, document), shape (n,);  positions : from 1;
    clicks : 0 or 1;  tol : the greatest change of log θ in a round that is still
    rest.
    """
    names, number = np.unique(np.asarray(pairs), return_inverse=True)
    places = np.asarray(positions, np.int64) - 1
    hits = np.asarray(clicks, np.float64)
    if not len(number) == len(places) == len(hits) or not len(hits):
        raise Mistake(
            f"pairs, positions and clicks have {len(number)}, {len(places)} and "
            f"{len(hits)} entries: give each the same number, at least one"
        )
    if places.min() < 0:
        raise Mistake("positions go from 1: the first result stands at 1")
    width = int(places.max()) + 1
    cells, cell = np.unique(number.reshape(-1) * width + places, return_inverse=True)
    pair, place = cells // width, cells % width
    clicked: Floats = np.bincount(cell, hits).astype(np.float64)
    passed = np.bincount(cell) - clicked
    _require_tied(pair, place, clicked)
    by_place, by_pair = (np.bincount(by, clicked + passed) for by in (place, pair))
    theta = np.full(len(by_place), 0.5)  # a θ of 1 would never move again
    gamma = np.full(len(by_pair), 0.5)
    moved, done = np.inf, 0
    while moved >= tol and done < rounds:
        done += 1
        look, like = theta[place], gamma[pair]
        none = np.maximum(1 - look * like, LEAST)
        looked = clicked + passed * look * (1 - like) / none
        liked = clicked + passed * like * (1 - look) / none
        before = np.log(theta / theta[0])
        theta = np.clip(np.bincount(place, looked) / by_place, LEAST, 1.0)
        gamma = np.bincount(pair, liked) / by_pair
        moved = float(np.abs(np.log(theta / theta[0]) - before).max())
    chance = np.clip(theta[place] * gamma[pair], LEAST, 1 - LEAST)
    likely = clicked * np.log(chance) + passed * np.log1p(-chance)
    return ClickModel(
        theta / theta[0], gamma * theta[0], names, done, float(likely.sum() / len(hits))
    )


def _require_tied(pair: Ints, place: Ints, clicked: Floats) -> None:
    """Refuse places that no clicked document shown elsewhere ties to the first one."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    width = int(place.max()) + 1
    useful = np.bincount(pair, clicked)[pair] > 0
    size = width + int(pair.max()) + 1
    ends = (place[useful], width + pair[useful])
    links = coo_matrix((np.ones(len(ends[0])), ends), (size, size))
    part = connected_components(links, directed=False)[1]
    loose = np.flatnonzero(part[:width] != part[0])
    if len(loose):
        raise Mistake(
            f"position {loose[0] + 1} shares no clicked document with the first: "
            "show documents at several positions, by interchanging some"
        )
