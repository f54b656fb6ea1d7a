"""Where on the page does a value stand? Scales, round ticks, and labels kept apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise


class Scale:
    """From the values of an axis to places on the page.

    >>> Scale(0, 10, 0, 100).at(5), Scale(1, 100, 0, 300, log=True).at(10)
    (50.0, 150.0)
    """

    def __init__(
        self, low: float, high: float, first: float, last: float, *, log: bool = False
    ) -> None:
        self.scale: Callable[[float], float] = math.log10 if log else float
        self.low, self.high = low, high if high > low else low + 1
        self.first, self.last, self.log = first, last, log

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        low, high = self.scale(self.low), self.scale(self.high)
        share = (self.scale(value) - low) / (high - low)
        return round(self.first + share * (self.last - self.first), 1)

    def readable_ticks(self, size: Callable[[float], float], gap: float) -> list[float]:
        """Return as many round values as there is room for; size : of a label."""
        for ticks in self._choices():
            reach = ((self.at(v), size(v) / 2) for v in ticks)
            room = all(
                abs(b - a) >= half + other + gap
                for (a, half), (b, other) in pairwise(reach)
            )
            if room and len(ticks) > 1:
                return ticks
        return []

    def _choices(self) -> Iterator[list[float]]:
        if self.log:
            yield log_ticks(self.low, self.high, (1, 2, 5))
            for every in (1, 2, 3, 5, 10, 20):
                yield log_ticks(self.low, self.high, every=every)
        for count in (6, 4, 3, 2):
            yield linear_ticks(self.low, self.high, count)


def linear_ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round values from ``low`` to ``high``, about so many.

    >>> linear_ticks(0, 23), linear_ticks(-0.1, 0.12)
    ([0.0, 10.0, 20.0], [-0.1, 0.0, 0.1])
    """
    if not high > low:
        return [float(low)]
    rough = (high - low) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * next((n for n in (1, 2, 5) if n * unit >= rough), 10)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{n * step:.10g}") for n in range(first, last + 1)]


def log_ticks(
    low: float, high: float, digits: Sequence[int] = (1,), every: int = 1
) -> list[float]:
    """Return powers of ten from ``low`` to ``high``, times these digits.

    every : only powers whose exponent is a multiple.

    >>> log_ticks(1, 250), log_ticks(0.3, 2, (1, 2, 5))
    ([1.0, 10.0, 100.0], [0.5, 1.0, 2.0])
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [float(f"{d}e{n}") for n in exponents if n % every == 0 for d in digits]
    return [mark for mark in marks if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]


def spread(
    places: Sequence[float], gap: float, low: float = -math.inf, high: float = math.inf
) -> list[float]:
    """Move places as little as needed: ``gap`` between two, all in [low, high].

    >>> spread([100.0, 102.0, 20.0], 15), spread([1.0, 2.0], 10, low=0.0)
    ([93.5, 108.5, 20.0], [0.0, 10.0])
    """

    def start(group: list[int]) -> float:
        extent = gap * (len(group) - 1)
        middle = sum(places[i] for i in group) / len(group)
        return max(low, min(high - extent, middle - extent / 2))

    groups: list[list[int]] = []
    for place in sorted(range(len(places)), key=places.__getitem__):
        groups.append([place])
        while len(groups) > 1 and start(groups[-1]) < start(groups[-2]) + gap * len(
            groups[-2]
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    moved = {i: start(g) + n * gap for g in groups for n, i in enumerate(g)}
    return [round(moved[i], 1) for i in range(len(places))]
