"""A user of whom all is known: what is looked at, what is clicked, by which chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Bools, Floats, Ints
from classmark.problems import Mistake
from classmark.randomness import Seed, generator


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
