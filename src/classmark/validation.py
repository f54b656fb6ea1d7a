"""Arguments: checks of their values, seeds, byte sizes."""

from __future__ import annotations

import re
from numbers import Integral, Real
from typing import Any

import numpy as np

from classmark.problems import Mistake


def require_numbers(  # noqa: PLR0913 (limits of four kinds)
    estimator: Any,
    *names: str,
    whole: bool = False,
    or_none: bool = False,
    least: float | None = None,
    over: float | None = None,
    most: float | None = None,
    under: float | None = None,
) -> None:
    """Refuse parameters that are not numbers, not whole ones, or beyond the limits.

    >>> class Model:
    ...     C = 0
    >>> require_numbers(Model, "C", over=0)
    Traceback (most recent call last):
    classmark.problems.Mistake: C is 0: give a number over 0
    """
    kind, expected = (Integral, "a whole number") if whole else (Real, "a number")
    limits = {"from": least, "over": over, "to": most, "under": under}
    texts = [f"{word} {limit}" for word, limit in limits.items() if limit is not None]
    remedy = " ".join([expected, *texts]) + (", or None" if or_none else "")
    for name in names:
        value: Any = getattr(estimator, name)
        if or_none and value is None:
            continue
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        if (
            not is_number
            or not (least is None or value >= least)
            or not (over is None or value > over)
            or not (most is None or value <= most)
            or not (under is None or value < under)
        ):
            raise Mistake(f"{name} is {value!r}: give {remedy}")


def require_k(k: Any, item: str = "category") -> None:
    """Refuse a number of best items that is not 1 or more."""
    if not isinstance(k, int | np.integer) or k < 1:
        raise Mistake(f"k is {k!r}: ask for at least one {item}, a whole number")


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
        raise Mistake(f"random_state is {seed}: give a whole number from 0 up")
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
