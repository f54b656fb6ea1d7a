"""One seed in, generators out."""

from __future__ import annotations

import numpy as np

from classmark.problems import Mistake

Seed = int | np.random.Generator | np.random.RandomState | None


def generator(seed: Seed = None) -> np.random.Generator:
    """Return a Generator: the one given, or a new one from the seed.

    A legacy ``RandomState`` (scikit-learn passes them) seeds a new Generator.

    >>> int(generator(7).integers(100))
    94
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(int(seed.randint(2**31 - 1)))
    if seed is not None and seed < 0:
        raise Mistake(f"seed is {seed}: give a whole number from 0 up")
    return np.random.default_rng(seed)
