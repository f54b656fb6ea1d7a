"""Plots as SVG, drawn without any package: panels, scales, marks.

A figure is data (``Figure``, ``Panel``, ``Axis``, ``Series``); one function draws it.
Equal data give equal bytes.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise
from pathlib import Path
from typing import Literal

from classmark.problems import Mistake


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


INK, SOFT, LINE, PAPER = "#2b2a27", "#6b6860", "#d9d5cb", "#fbfaf7"
HUES = ("#1f5f8b", "#b0532a", "#4d7c3a", "#7a4d8c", "#96761d", "#2b2a27")
FONT, TITLE = 13, 16  # heights of letters
WIDE, NARROW = frozenset("mwMW%@—…"), frozenset("ijlIftr.,:;!|'()[] ")
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(title: str, width: float, height: float, drawn: Sequence[str]) -> str:
    """A whole SVG file: its title for screen readers, its background, its elements."""
    name = escaped(title)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-label="{name}" '
        f'font-family="system-ui, sans-serif" font-size="{FONT}" '
        'stroke-linejoin="round">\n'
        f"<title>{name}</title>\n"
        f'<rect width="{width:g}" height="{height:g}" fill="{PAPER}"/>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def text(x: float, y: float, words: str, color: str = INK, **attributes: object) -> str:
    """A line of text; y : of its base line;  attributes : of the element, with _ for -.

    >>> text(1, 2.5, "a < b", text_anchor="end")
    '<text x="1" y="2.5" fill="#2b2a27" text-anchor="end">a &lt; b</text>'
    """
    return (
        f'<text x="{x:.5g}" y="{y:.5g}" fill="{color}"{_given(attributes)}>'
        f"{escaped(words)}</text>"
    )


def polyline(
    places: Sequence[tuple[float, float]], color: str = LINE, width: float = 1.0,
    dash: str = "",
) -> str:  # fmt: skip
    """A line through places; dash : as SVG has it, or "" for a solid line."""
    points = " ".join(f"{x:.5g},{y:.5g}" for x, y in places)
    dashed = {"stroke_dasharray": dash} if dash else {}
    looks = {"stroke": color, "stroke_width": f"{width:g}", **dashed}
    return f'<polyline points="{points}" fill="none"{_given(looks)}/>'


def circle(place: tuple[float, float], radius: float, **attributes: object) -> str:
    """A dot or a ring."""
    x, y = place
    return f'<circle cx="{x:.5g}" cy="{y:.5g}" r="{radius:g}"{_given(attributes)}/>'


def _given(attributes: Mapping[str, object]) -> str:
    return "".join(
        f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items()
    )


def escaped(words: str) -> str:
    """Text for an element or an attribute; what XML cannot hold is replaced."""
    return escape(NOT_XML.sub("\ufffd", words))


def shortened(words: str, width: float, size: float = FONT) -> str:
    """Cut a text to a width, with an ellipsis.

    >>> shortened("precision along the ranking", 100)
    'precision al…'
    """
    if text_width(words, size) <= width:
        return words
    while words and text_width(words + "…", size) > width:
        words = words[:-1]
    return words.rstrip() + "…"


def text_width(words: str, size: float = FONT) -> float:
    """About how wide a text is in a browser's own font, rather too wide than narrow.

    >>> text_width("ab"), text_width("ill"), text_width("分類")
    (16.4, 14.0, 26.0)
    """
    return round(size * sum(map(_letter_width, words)), 1)


def _letter_width(letter: str) -> float:
    """In heights of a letter; those of DejaVu Sans, which is wide."""
    if letter in WIDE or unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if letter in NARROW:
        return 0.36
    return 0.75 if letter.isupper() else 0.63


def number(value: float) -> str:
    """A tick's label.

    >>> number(12000.0), number(-0.25)
    ('12,000', '−0.25')
    """
    whole = value == round(value) and abs(value) < 1e9
    return (f"{value:,.0f}" if whole else f"{value:g}").replace("-", "−")


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
        return [
            curve for curve in self.series if curve.name and self.drawable(curve.points)
        ]

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


EDGE = 14  # around everything
SIDE = 24  # right of a panel, for the half of its last tick's label
ROW = 18  # from one line of text to the next
FOOT = 52  # below a panel, for the ticks and the name of its x axis
RISE = 4.5  # from the middle of a letter down to its base line
BESIDE = {"start", "end"}


def write_figure(figure: Figure, path: Path) -> None:
    """Draw a figure into a file, whose folder is made where it is missing."""
    require_svg(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg(figure), encoding="utf-8", newline="\n")


def require_svg(path: Path) -> None:
    """Refuse a file whose name does not end in .svg."""
    if path.suffix != ".svg":
        raise Mistake(f"{path}: a plot is SVG: give a file whose name ends in .svg")


def svg(figure: Figure) -> str:
    """Draw a figure: the text of an SVG file."""
    columns = max(1, min(figure.columns, len(figure.panels)))
    width, height = figure.size
    inner = columns * width - 2 * EDGE
    has_room = all(
        _widest(panel.labelled) < width / 3
        and len(panel.labelled) * ROW < height - FOOT - 2 * ROW
        for panel in figure.panels
    )
    labels: str = figure.labels if has_room else "legend"
    names = {tuple(curve.name for curve in panel.labelled) for panel in figure.panels}
    title = shortened(figure.title, inner, TITLE)
    drawn = [text(EDGE, EDGE + TITLE - 2, title, font_size=TITLE)]
    top = EDGE + TITLE + 10.0
    if labels == "legend" and len(names) == 1:  # one legend serves all panels
        legend, rows = _legend(figure.panels[0].labelled, EDGE, top, inner)
        labels, top, drawn = "none", top + ROW * rows, drawn + legend
    margin = 0.0  # left of the y axes, for the widest of their ticks and their names
    for panel in figure.panels:
        ticks = _y_ticks(scale(panel, "y", height, FOOT))
        widest = max((text_width(number(value)) for value in ticks), default=0.0)
        margin = max(margin, EDGE + widest + 8 + (20 if panel.y.name else 0))
    for place, panel in enumerate(figure.panels):
        row, column = divmod(place, columns)
        named = place + columns >= len(figure.panels)
        box = column * width, top + row * height, width, height
        drawn += ["<g>", *_panel(panel, box, margin, labels, named), "</g>"]
    whole = top + math.ceil(len(figure.panels) / columns) * height
    return document(figure.title, columns * width, whole, drawn)


def _panel(
    panel: Panel, box: tuple[float, ...], margin: float, labels: str, named: bool
) -> list[str]:
    """Draw a panel.

    box : left, top, width, height;  margin : left of the y axis;  named : whether the x
    axis says what it is.
    """
    edge, top, width, height = box
    left, right, bottom = edge + margin, edge + width - SIDE, top + height - FOOT
    top, drawn = top + 6, []
    if panel.title:
        drawn.append(text(left, top + FONT, shortened(panel.title, right - left)))
        top += ROW + 6
    if labels == "legend":
        legend, rows = _legend(panel.labelled, left, top, right - left)
        drawn, top = drawn + legend, top + ROW * rows
    room = _widest(panel.labelled) + 16 if labels in BESIDE else 0.0
    first, last = left + room * (labels == "start"), right - room * (labels == "end")
    x, y = scale(panel, "x", first, last), scale(panel, "y", bottom, top)
    drawn += _axes(x, y, left, right)
    if named and panel.x.name:
        middle = (left + right) / 2, bottom + 38
        drawn.append(text(*middle, panel.x.name, SOFT, text_anchor="middle"))
    if panel.y.name:
        place = edge + EDGE + 10, (top + bottom) / 2
        turn = f"rotate(-90 {place[0]:.5g} {place[1]:.5g})"
        name = text(*place, panel.y.name, SOFT, text_anchor="middle", transform=turn)
        drawn.append(name)
    for series in panel.series:
        drawn += _marks(panel, series, x, y)
    return drawn + (_labels(panel, x, y, labels) if labels in BESIDE else [])


def scale(panel: Panel, which: str, first: float, last: float) -> Scale:
    """Return a scale over all values, with a margin at ends that the axis leaves open.

    which : "x" or "y".
    """
    axis = panel.x if which == "x" else panel.y
    points = [p for curve in panel.series for p in (*curve.points, *curve.rings)]
    values = [p[which == "y"] for p in panel.drawable(points)]
    values += [end for end in (axis.low, axis.high) if end is not None]
    low, high = min(values, default=1.0), max(values, default=1.0)
    if axis.log:
        margin = (high / low) ** 0.04 if high > low else 2.0
        wider = low / margin, high * margin
    else:
        margin = 0.04 * (high - low) if high > low else 0.1 * abs(high) or 1.0
        wider = low - margin, high + margin
    low = low if axis.low == low else wider[0]
    high = high if axis.high == high else wider[1]
    return Scale(low, high, first, last, log=axis.log)


def _axes(x: Scale, y: Scale, left: float, right: float) -> list[str]:
    """Both axes with their ticks, and a light line across at each tick of y."""
    bottom, top = y.first, y.last
    corner = left, bottom
    drawn = [polyline([corner, (right, bottom)]), polyline([(left, top), corner])]
    for value in _y_ticks(y):
        place = y.at(value)
        drawn.append(polyline([(left, place), (right, place)], width=0.6))
        at = left - 8, place + RISE
        drawn.append(text(*at, number(value), SOFT, text_anchor="end"))
    for value in x.readable_ticks(lambda value: text_width(number(value)), 12):
        place = x.at(value)
        drawn.append(polyline([(place, bottom), (place, bottom + 5)]))
        at = min(place, right + SIDE - text_width(number(value)) / 2), bottom + 19
        drawn.append(text(*at, number(value), SOFT, text_anchor="middle"))
    return drawn


def _y_ticks(y: Scale) -> list[float]:
    return y.readable_ticks(lambda _: FONT, 14)


def _marks(panel: Panel, series: Series, x: Scale, y: Scale) -> list[str]:
    """The line, the dots and the rings of a series."""
    drawn = []
    runs = groupby(series.points, lambda point: bool(panel.drawable([point])))
    for drawable, run in runs if series.width else ():
        if not drawable:  # a line is cut there
            continue
        places = _thinned([(x.at(a), y.at(b)) for a, b in run])
        if len(places) > 1:
            drawn.append(polyline(places, series.color, series.width, series.dash))
        elif not series.dots:  # a line of one point would not be seen
            drawn.append(circle(places[0], 2.5, fill=series.color))
    for a, b in panel.drawable(series.points) if series.dots else ():
        drawn.append(circle((x.at(a), y.at(b)), series.dots, fill=series.color))
    for a, b in panel.drawable(series.rings):
        looks = {"fill": "none", "stroke": series.color, "stroke_width": 1.5}
        drawn.append(circle((x.at(a), y.at(b)), 6, **looks))
    return drawn


def _thinned(places: Sequence[Point]) -> list[Point]:
    """Leave out places that do not change a line: repeated, or on a level stretch.

    >>> _thinned([(0, 1), (0, 1), (1, 1), (2, 1), (3, 4)])
    [(0, 1), (2, 1), (3, 4)]
    """
    thin: list[Point] = []
    for place in places:
        if thin and place == thin[-1]:
            continue
        if len(thin) > 1 and thin[-2][1] == thin[-1][1] == place[1]:
            thin.pop()
        thin.append(place)
    return thin


def _labels(panel: Panel, x: Scale, y: Scale, side: str) -> list[str]:
    """The name of each series in its colour beside its line, none upon another."""
    end, shift, anchor = (0, -9, "end") if side == "start" else (-1, 9, "start")
    ends = [panel.drawable(curve.points)[end] for curve in panel.labelled]
    heights = [y.at(up) for _, up in ends]
    places = spread(heights, ROW, y.last + FONT / 2, y.first - FONT / 2)
    return [
        text(
            x.at(across) + shift, place + RISE, curve.name, curve.color,
            text_anchor=anchor, stroke=PAPER, stroke_width=4, paint_order="stroke",
        )
        for curve, (across, _), place in zip(panel.labelled, ends, places, strict=True)
    ]  # fmt: skip


def _widest(series: Sequence[Series]) -> float:
    return max((text_width(curve.name) for curve in series), default=0.0)


def _legend(
    series: Sequence[Series], left: float, top: float, width: float
) -> tuple[list[str], int]:
    """Names in their colours, each behind a piece of its line; and how many rows."""
    drawn, rows, place = [], 0, math.inf
    for curve in series:
        needed = 24 + min(text_width(curve.name), width - 24)
        if place + needed > left + width:
            rows, place = rows + 1, left
        middle = top + ROW * (rows - 0.5)
        if curve.dots:
            drawn.append(circle((place + 9, middle), 4, fill=curve.color))
        else:
            ends = [(place, middle), (place + 18, middle)]
            drawn.append(polyline(ends, curve.color, curve.width, curve.dash))
        name = shortened(curve.name, width - 24)
        drawn.append(text(place + 24, middle + RISE, name, curve.color))
        place += needed + 16
    return drawn, rows
