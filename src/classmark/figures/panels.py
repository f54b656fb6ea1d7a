"""What is in a figure: panels with axes and series, as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from classmark.figures.elements import HUES

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis; low, high : where it ends, unless a value lies beyond."""

    name: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None

    def can_show(self, value: float) -> bool:
        """Whether a value has a place on the axis."""
        return math.isfinite(value) and (value > 0 or not self.log)


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one colour: joined by a line, marked by dots, or both.

    name : its label, or "" for none;  width : of the line, or 0;  dash : of the line,
    as SVG has it;  dots : the radius of a dot, or 0;  rings : points to emphasise.
    """

    name: str
    points: Sequence[Point]
    color: str = HUES[0]
    width: float = 2.0
    dash: str = ""
    dots: float = 0.0
    rings: Sequence[Point] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of axes and what is drawn between them."""

    series: Sequence[Series]
    x: Axis
    y: Axis
    title: str = ""

    @property
    def labelled(self) -> list[Series]:
        """The series that have a name and a point."""
        return [one for one in self.series if one.name and self.drawable(one.points)]

    def drawable(self, points: Sequence[Point]) -> list[Point]:
        """The points that have a place on both axes."""
        return [p for p in points if self.x.can_show(p[0]) and self.y.can_show(p[1])]


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels in rows under a title.

    size : of a panel;  labels : beside the start or the end of the lines, where there
    is room for them, or in a legend above.
    """

    title: str
    panels: Sequence[Panel]
    labels: Literal["start", "end", "legend"] = "legend"
    columns: int = 1
    size: tuple[int, int] = (672, 360)
