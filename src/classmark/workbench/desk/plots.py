"""Plots as plain geometry, for any skin to draw, each with its numbers as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 480, 240
LEFT, RIGHT, TOP, BOTTOM = 44, 376, 24, 204
GAP = 15  # between the names of two curves
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: where, and what it says."""

    at: float
    says: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A line; path : of its points, as SVG has it;  ends : where it ends."""

    name: str
    path: str
    end: tuple[float, float]
    label: float
    says: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle, and what it says."""

    x: float
    y: float
    width: float
    height: float
    says: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A circle, and what it says."""

    x: float
    y: float
    radius: float
    says: str


@dataclass(frozen=True, slots=True)
class Plot:
    """What to draw, in a frame of WIDTH × HEIGHT, and the table behind it.

    name : for links;  says : the plot in a sentence;  across, up : what the axes are.
    """

    name: str
    title: str
    says: str
    across: str
    up: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    xs: tuple[Tick, ...] = ()
    ys: tuple[Tick, ...] = ()
    curves: tuple[Curve, ...] = ()
    bars: tuple[Bar, ...] = ()
    dots: tuple[Dot, ...] = ()
    diagonal: bool = False

    @property
    def frame(self) -> tuple[int, int, int, int, int, int]:
        """Width, height, and the inner frame: left, right, top, bottom."""
        return WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM


class Axis:
    """From values to places; logarithmic where asked for.

    >>> Axis(0, 10, 0, 100).at(5)
    50.0
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

    def ticks(self, say: Callable[[float], str], many: int = 4) -> tuple[Tick, ...]:
        """Marks at round values."""
        values = powers(self.low, self.high) if self.log else rounds(self.high, many)
        return tuple(Tick(self.at(v), say(v)) for v in values if v >= self.low)


def rounds(high: float, many: int = 4) -> list[float]:
    """Round values from 0 up to ``high``, about so many.

    >>> rounds(23)
    [0.0, 10.0, 20.0]
    """
    if not high > 0:
        return [0.0]
    rough = high / many
    unit = 10.0 ** math.floor(math.log10(rough))
    size = unit * next((n for n in (1, 2, 5, 10) if n * unit >= rough), 10)
    return [round(n * size, 10) for n in range(int(high / size + 1e-9) + 1)]


def powers(low: float, high: float) -> list[float]:
    """Powers of ten, from the first not below ``low``.

    >>> powers(1, 250)
    [1.0, 10.0, 100.0]
    """
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    return [10.0**n for n in range(first, last + 1)]


def whole(value: float) -> str:
    """A count, or a number with what decimals it needs.

    >>> whole(1200.0), whole(0.5)
    ('1,200', '0.5')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


def percent(value: float) -> str:
    """A share in whole percents."""
    return f"{100 * value:.0f} %"


def curves(
    across: Axis, up: Axis, named: Sequence[tuple[str, Points, str]]
) -> tuple[Curve, ...]:
    """Lines with their names at their ends, none upon another."""
    found = []
    for name, points, says in named:
        kept = [(x, y) for x, y in points if not math.isnan(y)]
        if kept:
            places = [(across.at(x), up.at(y)) for x, y in kept]
            found.append((name, places, says))
    where = apart([places[-1][1] for _, places, _ in found])
    return tuple(
        Curve(name, " ".join(f"{x},{y}" for x, y in places), places[-1], label, says)
        for (name, places, says), label in zip(found, where, strict=True)
    )


def apart(places: Sequence[float], gap: float = GAP) -> list[float]:
    """Places moved so that none is nearer than ``gap`` to another.

    >>> apart([100.0, 102.0, 20.0])
    [93.5, 108.5, 20.0]
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    groups: list[list[int]] = []
    for place in order:
        groups.append([place])
        while len(groups) > 1 and _low(groups[-1], places, gap) < gap + _high(
            groups[-2], places, gap
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    found = [0.0] * len(places)
    for group in groups:
        low = _low(group, places, gap)
        for number, place in enumerate(group):
            found[place] = round(low + number * gap, 1)
    return found


def _low(group: Sequence[int], places: Sequence[float], gap: float) -> float:
    middle = sum(places[i] for i in group) / len(group)
    return middle - gap * (len(group) - 1) / 2


def _high(group: Sequence[int], places: Sequence[float], gap: float) -> float:
    return _low(group, places, gap) + gap * (len(group) - 1)


def bars(
    values: Iterable[tuple[str, float]], up: Axis, widest: float = 28
) -> tuple[Bar, ...]:
    """Bars side by side over the whole width, the last ones where there are many."""
    given = list(values)
    room = (RIGHT - LEFT) / max(1, len(given))
    width = round(min(widest, max(1.0, room * 0.7)), 1)
    return tuple(
        Bar(
            round(LEFT + room * (place + 0.5) - width / 2, 1),
            up.at(value),
            width,
            round(BOTTOM - up.at(value), 1),
            f"{name}: {whole(value)}",
        )
        for place, (name, value) in enumerate(given)
    )
