"""Plots as plain geometry, for any skin to draw, each with its numbers as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from classmark.figures import Scale, linear_ticks, log_ticks, spread

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


class Axis(Scale):
    """A scale whose ticks say what they stand for."""

    def ticks(self, say: Callable[[float], str], many: int = 4) -> tuple[Tick, ...]:
        """Marks at round values."""
        low, high = self.low, self.high
        values = log_ticks(low, high) if self.log else linear_ticks(low, high, many)
        return tuple(Tick(self.at(value), say(value)) for value in values)


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
    where = spread([places[-1][1] for _, places, _ in found], GAP)
    return tuple(
        Curve(name, " ".join(f"{x},{y}" for x, y in places), places[-1], label, says)
        for (name, places, says), label in zip(found, where, strict=True)
    )


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
