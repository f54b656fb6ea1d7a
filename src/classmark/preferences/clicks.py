"""Which document does a click prefer to which? Four answers, all of them guesses.

A click says little alone; a click with what was passed over says more. Each strategy
compares a clicked document with some that were shown and not clicked
[JoachimsEtAl05].
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Bools
from classmark.problems import Mistake

Item = TypeVar("Item", bound=Hashable)
STRATEGIES = (
    "clicked-over-skipped",
    "last-click-over-skipped-above",
    "click-over-previous",
    "skip-above",
)


def click_preferences(
    shown: Sequence[Item],
    clicked: Collection[Item],
    strategy: str = "clicked-over-skipped",
) -> list[tuple[Item, Item]]:
    """Return (winner, loser) for a list d_1, d_2, … and the set C clicked in it.

    - ``clicked-over-skipped``: every clicked one over every other;
    - ``last-click-over-skipped-above``: the lowest clicked one over the others above;
    - ``click-over-previous``: a clicked one over the one just above, d_i over d_{i−1};
    - ``skip-above``: every clicked one over the others above it.

    No loser was clicked. C is a set: the order in which ``clicked`` comes says nothing,
    the last click is the lowest.

    >>> click_preferences(["a", "b", "c", "d"], {"b", "d"}, "skip-above")
    [('b', 'a'), ('d', 'a'), ('d', 'c')]
    """
    place = {item: at for at, item in enumerate(shown)}
    if len(place) < len(shown):
        twice = next(item for at, item in enumerate(shown) if place[item] != at)
        raise Mistake(f"shown has {twice!r} twice: give each document once")
    require_shown(place, clicked)
    flags = [item in clicked for item in shown]
    return [
        (shown[winner], shown[loser])
        for _, winner, loser in np.argwhere(preferred_places(flags, strategy)).tolist()
    ]


def require_shown(shown: Collection[Item], clicked: Collection[Item]) -> None:
    """Refuse clicks on what was not shown."""
    for item in clicked:
        if item not in shown:
            raise Mistake(
                f"clicked has {item!r}, which is not in shown: give what was there"
            )


def preferred_places(clicked: ArrayLike, strategy: str) -> Bools:
    """Say of many lists at once which place wins against which.

    clicked : shape (lists, places), or (places,) for one list;  return : shape
    (lists, places, places), [list, winner, loser].
    """
    if strategy not in STRATEGIES:
        raise Mistake(
            f"strategy {strategy!r} is not known: use {', '.join(STRATEGIES)}"
        )
    flags = np.atleast_2d(np.asarray(clicked, np.bool_))
    places = flags.shape[1]
    wins: Bools = flags[:, :, np.newaxis] & ~flags[:, np.newaxis, :]
    if strategy == "click-over-previous":
        wins &= np.eye(places, k=-1, dtype=np.bool_)
    elif strategy != "clicked-over-skipped":
        wins &= np.tri(places, k=-1, dtype=np.bool_)
    if strategy == "last-click-over-skipped-above":
        not_above = np.cumsum(flags[:, ::-1], axis=1)[:, ::-1]
        wins &= (not_above == 1)[:, :, np.newaxis]
    return wins
