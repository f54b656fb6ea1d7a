"""Draw a figure: lay its panels out, then axes, marks and labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from classmark.figures.elements import (
    FONT,
    PAPER,
    SOFT,
    TITLE,
    circle,
    document,
    line,
    number,
    polyline,
    shortened,
    text,
    text_width,
)
from classmark.figures.panels import Figure, Panel, Point, Series
from classmark.figures.scales import Scale, spread
from classmark.problems import Mistake

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
    labels: str = figure.labels if _fit_beside(figure) else "legend"
    names = {tuple(one.name for one in panel.labelled) for panel in figure.panels}
    title = shortened(figure.title, inner, TITLE)
    drawn = [text(EDGE, EDGE + TITLE - 2, title, font_size=TITLE)]
    top = EDGE + TITLE + 10.0
    if labels == "legend" and len(names) == 1:  # one legend serves all panels
        legend, rows = _legend(figure.panels[0].labelled, EDGE, top, inner)
        labels, top, drawn = "none", top + ROW * rows, drawn + legend
    margin = max((_margin(panel, height) for panel in figure.panels), default=0.0)
    for place, panel in enumerate(figure.panels):
        row, column = divmod(place, columns)
        named = place + columns >= len(figure.panels)
        box = Box(column * width, top + row * height, width, height, margin)
        drawn.append("\n".join(["<g>", *_panel(panel, box, labels, named), "</g>"]))
    whole = top + math.ceil(len(figure.panels) / columns) * height
    return document(figure.title, columns * width, whole, drawn)


class Box(NamedTuple):
    """The room of a panel; margin : left of its y axis."""

    left: float
    top: float
    width: float
    height: float
    margin: float


class Frame(NamedTuple):
    """Where the axes of a panel stand."""

    left: float
    right: float
    top: float
    bottom: float


def _panel(panel: Panel, box: Box, labels: str, named: bool) -> list[str]:
    """Draw a panel; named : whether the x axis says what it is."""
    left, right = box.left + box.margin, box.left + box.width - SIDE
    top, bottom, drawn = box.top + 6, box.top + box.height - FOOT, []
    if panel.title:
        drawn.append(text(left, top + FONT, shortened(panel.title, right - left)))
        top += ROW + 6
    if labels == "legend":
        legend, rows = _legend(panel.labelled, left, top, right - left)
        drawn, top = drawn + legend, top + ROW * rows
    room = _widest(panel.labelled) + 16 if labels in BESIDE else 0.0
    first, last = left + room * (labels == "start"), right - room * (labels == "end")
    x, y = scale(panel, "x", first, last), scale(panel, "y", bottom, top)
    drawn += _axes(x, y, Frame(left, right, top, bottom))
    if named and panel.x.name:
        middle = (left + right) / 2, bottom + 38
        drawn.append(text(*middle, panel.x.name, SOFT, text_anchor="middle"))
    if panel.y.name:
        place = box.left + EDGE + 10, (top + bottom) / 2
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
    points = [p for one in panel.series for p in (*one.points, *one.rings)]
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


def _axes(x: Scale, y: Scale, frame: Frame) -> list[str]:
    """Both axes with their ticks, and a light line across at each tick of y."""
    left, right, top, bottom = frame
    drawn = [line((left, bottom), (right, bottom)), line((left, top), (left, bottom))]
    for value in _y_ticks(y):
        place = y.at(value)
        drawn.append(line((left, place), (right, place), width=0.6))
        at = left - 8, place + RISE
        drawn.append(text(*at, number(value), SOFT, text_anchor="end"))
    for value in x.readable_ticks(lambda value: text_width(number(value)), 12):
        place = x.at(value)
        drawn.append(line((place, bottom), (place, bottom + 5)))
        at = min(place, right + SIDE - text_width(number(value)) / 2), bottom + 19
        drawn.append(text(*at, number(value), SOFT, text_anchor="middle"))
    return drawn


def _y_ticks(y: Scale) -> list[float]:
    return y.readable_ticks(lambda _: FONT, 14)


def _margin(panel: Panel, height: float) -> float:
    """The room that the ticks and the name of the y axis take, left of it."""
    ticks = _y_ticks(scale(panel, "y", height, FOOT))
    widest = max((text_width(number(value)) for value in ticks), default=0.0)
    return EDGE + widest + 8 + (20 if panel.y.name else 0)


def _marks(panel: Panel, series: Series, x: Scale, y: Scale) -> list[str]:
    """The line, the dots and the rings of a series."""
    drawn = []
    for run in _runs(panel, series.points) if series.width else ():
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


def _runs(panel: Panel, points: Sequence[Point]) -> Iterator[list[Point]]:
    """Neighbouring points that can be drawn: a line is cut at the others."""
    for drawable, run in groupby(points, lambda point: bool(panel.drawable([point]))):
        if drawable:
            yield list(run)


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
    ends = [panel.drawable(one.points)[end] for one in panel.labelled]
    heights = [y.at(up) for _, up in ends]
    places = spread(heights, ROW, y.last + FONT / 2, y.first - FONT / 2)
    drawn = []
    for one, (across, _), place in zip(panel.labelled, ends, places, strict=True):
        at = x.at(across) + shift, place + RISE
        label = text(
            *at, one.name, one.color, text_anchor=anchor, stroke=PAPER, stroke_width=4,
            paint_order="stroke",
        )  # fmt: skip
        drawn.append(label)
    return drawn


def _fit_beside(figure: Figure) -> bool:
    """Whether there is room for the labels beside the lines."""
    width, height = figure.size
    return all(
        _widest(panel.labelled) < width / 3
        and len(panel.labelled) * ROW < height - FOOT - 2 * ROW
        for panel in figure.panels
    )


def _widest(series: Sequence[Series]) -> float:
    return max((text_width(one.name) for one in series), default=0.0)


def _legend(
    series: Sequence[Series], left: float, top: float, width: float
) -> tuple[list[str], int]:
    """Names in their colours, each behind a piece of its line; and how many rows."""
    drawn, rows, place = [], 0, math.inf
    for one in series:
        needed = 24 + min(text_width(one.name), width - 24)
        if place + needed > left + width:
            rows, place = rows + 1, left
        middle = top + ROW * (rows - 0.5)
        if one.dots:
            drawn.append(circle((place + 9, middle), 4, fill=one.color))
        else:
            ends = (place, middle), (place + 18, middle)
            drawn.append(line(*ends, one.color, one.width, one.dash))
        name = shortened(one.name, width - 24)
        drawn.append(text(place + 24, middle + RISE, name, one.color))
        place += needed + 16
    return drawn, rows
