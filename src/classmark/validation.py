"""Checks of the arguments that estimators take, and one seed in, generators out."""

from __future__ import annotations

import re
from numbers import Integral, Real
from typing import Any

import numpy as np

from classmark.problems import Mistake


def require_numbers(
    estimator: Any, *names: str, whole: bool = False, or_none: bool = False
) -> None:
    """Refuse parameters that are not numbers, or not whole ones."""
    kind, expected = (Integral, "a whole number") if whole else (Real, "a number")
    more = ", or None" if or_none else ""
    for name in names:
        value = getattr(estimator, name)
        if or_none and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, kind):
            raise Mistake(f"{name} is {value!r}: give {expected}{more}")


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


_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


def byte_size(size: str | float) -> int:
    """Read a size in bytes: a number, or one with kB, MB, GB, TB or KiB, MiB, GiB, TiB.

    >>> byte_size("64MB"), byte_size("0.5 GiB"), byte_size(100_000_000)
    (64000000, 536870912, 100000000)
    """
    match = None if isinstance(size, bool) else _SIZE.fullmatch(str(size))
    if match is None or (isinstance(size, float) and not size.is_integer()):
        raise Mistake(f"memory is {size!r}: give a size such as '512MB' or '2GB'")
    number, unit, binary = match.groups()
    base, power = 1024 if binary else 1000, " kmgt".index(unit.lower() or " ")
    n_bytes = int(float(number) * base**power)
    if isinstance(size, str) and n_bytes == 0:
        raise Mistake(f"memory is {size!r}: give a size such as '512MB' or '2GB'")
    return n_bytes
