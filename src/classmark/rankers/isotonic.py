"""The best non-decreasing curve through observations: pool adjacent violators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats


class _Blocks(NamedTuple):
    """Neighbouring observations pooled: where they begin and end, Σ y, how many."""

    first: Floats
    last: Floats
    total: Floats
    size: Floats


def isotonic(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Least squares among the non-decreasing functions of x [ZadroznyElkan02].

    min Σ (f(x_i) − y_i)²  s.t. f(x) ≤ f(x') for x ≤ x'. Returns the places where the
    fitted curve bends, increasing, and its values there.

    >>> places, values = isotonic(np.array([1.0, 2, 3, 4]), np.array([0.0, 1, 0, 1]))
    >>> places.tolist(), values.tolist()
    ([1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 0.5, 1.0])
    """
    at, which = np.unique(x, return_inverse=True)
    total: Floats = np.bincount(which.ravel(), y).astype(np.float64)
    size: Floats = np.bincount(which.ravel()).astype(np.float64)
    pooled = _violators_pooled(_falling_pooled(_Blocks(at, at, total, size)))
    value = pooled.total / pooled.size
    places = np.column_stack((pooled.first, pooled.last)).ravel()
    kept = np.ones(len(places), np.bool_)
    kept[1::2] = pooled.last > pooled.first
    return places[kept], np.repeat(value, 2)[kept]


def _falling_pooled(blocks: _Blocks) -> _Blocks:
    """Pool each run that never rises, which one step of the curve always holds."""
    mean = blocks.total / blocks.size
    starts = np.flatnonzero(np.concatenate(([True], mean[1:] > mean[:-1])))
    ends = np.concatenate((starts[1:], [len(mean)])) - 1
    return _Blocks(
        blocks.first[starts],
        blocks.last[ends],
        np.add.reduceat(blocks.total, starts),
        np.add.reduceat(blocks.size, starts),
    )


def _violators_pooled(blocks: _Blocks) -> _Blocks:
    """From the left, pool a block with those before it that are not below it."""
    done: list[tuple[float, float, float, float]] = []
    for entry in zip(*(part.tolist() for part in blocks), strict=True):
        first, last, total, size = entry
        while done and done[-1][2] * size >= total * done[-1][3]:
            first, _, before, many = done.pop()
            total, size = total + before, size + many
        done.append((first, last, total, size))
    return _Blocks(*np.array(done, np.float64).T)


def along(x: Floats, places: Floats, values: Floats) -> Floats:
    """Values of the curve: straight between its bends, flat outside them.

    Never decreasing in x, not even by rounding.

    >>> along(np.array([0.0, 1.5, 9.0]), np.array([1.0, 2.0]), np.array([0.2, 0.8]))
    array([0.2, 0.5, 0.8])
    """
    above = np.minimum(np.searchsorted(places, x), len(places) - 1)
    return np.minimum(np.interp(x, places, values), values[above])
