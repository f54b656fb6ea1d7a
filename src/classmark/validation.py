"""Arguments: checks of their values, seeds, byte sizes, names that have changed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

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


P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Accept old names of keyword arguments for one version, with a FutureWarning.

    >>> @renamed(top="k")
    ... def best(scores, k=1):
    ...     return sorted(scores)[-k:]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     best([3, 1, 2], top=2)
    [2, 3]
    """

    def accept_old_names(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in names.keys() & kwargs.keys():
                new = names[old]
                if new in kwargs:
                    raise Mistake(f"{old} is the old name of {new}: give {new} alone")
                warn_renamed(function.__qualname__.removesuffix(".__init__"), old, new)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        call.renamed = names  # type: ignore[attr-defined]
        return call

    return accept_old_names


def warn_renamed(owner: str, old: str, new: str) -> None:
    """Warn whoever calls the caller that a name has changed."""
    warnings.warn(
        f"{owner}: {old} is now {new}; the old name goes with version 0.2",
        FutureWarning,
        stacklevel=3,
    )


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
