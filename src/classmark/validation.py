"""Arguments: checks of their values, seeds, byte sizes."""

from __future__ import annotations

import re
from numbers import Integral, Real
from typing import Any

import numpy as np

from classmark.arrays import Floats
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


def numbers(values: Any, n: int, name: str, *, least: float = -np.inf) -> Floats:
    """Take in one finite number for each of n rows, none below ``least``."""
    array = np.asarray(values)
    if array.dtype == object:
        array = np.array(array.tolist())
    if array.dtype.kind not in "biuf":
        raise Mistake(f"{name} holds {array.dtype}: give one number for each row")
    if array.shape != (n,):
        raise Mistake(f"{name} has shape {array.shape}: give one number for {n} rows")
    if not np.isfinite(array).all():
        at = int(np.argmin(np.isfinite(array)))
        raise Mistake(f"{name}, row {at}: {array[at]} is not finite: leave the row out")
    array = array.astype(np.float64)
    if (array < least).any():
        at = int(np.argmax(array < least))
        raise Mistake(f"{name}, row {at}: {array[at]} is below 0: give 0 or more")
    return array


def weights_of(sample_weight: Any, n: int) -> Floats:
    """What each of n rows counts: (n,), 0 or more, not all of them 0.

    >>> weights_of([1, 0], 2).tolist()
    [1.0, 0.0]
    """
    weights = numbers(sample_weight, n, "sample_weight", least=0.0)
    if not weights.any():
        raise Mistake("sample_weight: all weights are zero: give one above 0")
    return weights


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


ROUNDED = 0.9995  # of a unit, from where three figures say the whole unit
COUNTED = 999.5  # bytes, below which they are counted


def bytes_text(size: float) -> str:
    """A size in bytes as people read it.

    >>> bytes_text(123_000_000_000), bytes_text(56)
    ('123 GB', '56 bytes')
    """
    if size < COUNTED:
        return f"{size:.0f} byte" + ("" if round(size) == 1 else "s")
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit * ROUNDED:
            figures = ",.0f" if size >= 100 * unit else ".3g"
            return f"{size / unit:{figures}} {name}"
    return f"{size / 1e3:.3g} kB"
