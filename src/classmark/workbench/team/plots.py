"""The plots of the Progress page, as data and as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.figures import Scale, linear_ticks, log_ticks, spread
from classmark.workbench.team.progress import Promises

if TYPE_CHECKING:
    from classmark.workbench.team.decisions import Step
    from classmark.workbench.team.progress import Progress


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


class PlotAxis(Scale):
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
    across: PlotAxis, up: PlotAxis, named: Sequence[tuple[str, Points, str]]
) -> tuple[Curve, ...]:
    """Lines with their names at their ends, none upon another."""
    drawn = []
    for name, points, says in named:
        known_points = [(x, y) for x, y in points if not math.isnan(y)]
        if known_points:
            places = [(across.at(x), up.at(y)) for x, y in known_points]
            drawn.append((name, places, says))
    where = spread([places[-1][1] for _, places, _ in drawn], GAP)
    return tuple(
        Curve(name, " ".join(f"{x},{y}" for x, y in places), places[-1], label, says)
        for (name, places, says), label in zip(drawn, where, strict=True)
    )


def bars(
    values: Iterable[tuple[str, float]], up: PlotAxis, widest: float = 28
) -> tuple[Bar, ...]:
    """Bars side by side over the whole width, the last ones where there are many."""
    pairs = list(values)
    room = (RIGHT - LEFT) / max(1, len(pairs))
    width = round(min(widest, max(1.0, room * 0.7)), 1)
    return tuple(
        Bar(
            round(LEFT + room * (place + 0.5) - width / 2, 1),
            up.at(value),
            width,
            round(BOTTOM - up.at(value), 1),
            f"{name}: {whole(value)}",
        )
        for place, (name, value) in enumerate(pairs)
    )


ACROSS = "decisions measured"
DAYS = 30  # shown, the last ones
MANY = 50  # categories in the table of the tail


def panels(progress: Progress, names: Mapping[str, str] | None = None) -> list[Plot]:
    """The plots that can be drawn of what is known; names : category → its label."""
    drawn = []
    if progress.steps and progress.whole is not None and progress.recent is not None:
        drawn += [
            _effort(progress),
            _precision(progress.steps),
            _errors(progress.steps),
        ]
    if progress.tail:
        drawn.append(tail(progress.tail, progress.unused, names or {}))
    if len(progress.days) > 1:
        drawn.append(days(progress.days))
    return drawn


def number(value: float) -> str:
    """A mean with one decimal from ten on, two below; a dash where it is unknown.

    >>> number(1.666), number(38.21), number(float("nan"))
    ('1.67', '38.2', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _effort(progress: Progress) -> Plot:
    measured = [s for s in progress.steps if not math.isnan(s.effort)]
    across = _across(progress.steps)
    up = PlotAxis(0, max((s.effort for s in measured), default=1.0) * 1.1, BOTTOM, TOP)
    points = [(s.upto, s.effort) for s in measured]
    last = number(measured[-1].effort) if measured else ""
    return Plot(
        "effort",
        "Looked at per document",
        "How many categories an expert looks at, down the list, until the last right "
        "one; lower is better.",
        ACROSS,
        "categories",
        (ACROSS, "documents", "looked at per document"),
        tuple((whole(s.upto), whole(s.documents), number(s.effort)) for s in measured),
        across.ticks(whole),
        up.ticks(whole),
        curves(across, up, [("effort", points, f"{last} looked at")]),
    )


def _precision(steps: Sequence[Step]) -> Plot:
    named = (
        ("found", "in first 5", [s.found for s in steps]),
        ("first", "P@1", [s.first for s in steps]),
        ("five", "P@5", [s.five for s in steps]),
    )
    rows = tuple(
        (whole(s.upto), percent(s.first), percent(s.five), percent(s.found))
        for s in steps
    )
    return _shares(
        "precision",
        "Right in the first place, among the first five",
        "P@1: how often the first suggestion is right. P@5: the right ones among five, "
        "by five. In first 5: the share of the right labels that is among the five.",
        (ACROSS, "P@1", "P@5", "in first 5"),
        rows,
        steps,
        named,
    )


def _errors(steps: Sequence[Step]) -> Plot:
    named = (
        ("precise", "AvgP", [s.average_precision for s in steps]),
        ("wrong", "one-error", [s.one_error for s in steps]),
    )
    rows = tuple(
        (whole(s.upto), percent(s.one_error), f"{s.average_precision:.3f}")
        for s in steps
    )
    return _shares(
        "errors",
        "One-error and average precision",
        "One-error: how often the first suggestion is wrong. AvgP: the mean precision "
        "down to each right label; 1 when all right ones come first.",
        (ACROSS, "one-error", "AvgP"),
        rows,
        steps,
        named,
    )


def _shares(  # noqa: PLR0913, PLR0917 - one panel, said once
    name: str,
    title: str,
    says: str,
    columns: tuple[str, ...],
    rows: tuple[tuple[str, ...], ...],
    steps: Sequence[Step],
    named: Sequence[tuple[str, str, list[float]]],
) -> Plot:
    across, up = _across(steps), PlotAxis(0, 1, BOTTOM, TOP)
    lines = [
        (
            kind,
            list(zip([s.upto for s in steps], values, strict=True)),
            f"{words} {percent(values[-1])}",
        )
        for kind, words, values in named
    ]
    return Plot(
        name, title, says, ACROSS, "share", columns, rows, across.ticks(whole),
        up.ticks(percent, 2), curves(across, up, lines),
    )  # fmt: skip


def _across(steps: Sequence[Step]) -> PlotAxis:
    return PlotAxis(0, max(s.upto for s in steps), LEFT, RIGHT)


def calibration(promises: Promises) -> Plot:
    """What was promised against what came true."""
    across, up = PlotAxis(0, 1, LEFT, RIGHT), PlotAxis(0, 1, BOTTOM, TOP)
    most = max(each.count for each in promises.bins)
    return Plot(
        "calibration",
        "Promised and kept",
        f"Of the suggestions called so likely, how many were right, on "
        f"{promises.documents:,} documents the model had not learned; the larger the "
        "dot the more suggestions. Off the line by "
        f"{percent(promises.error)} on average.",
        "promised",
        "kept",
        ("promised", "kept", "suggestions"),
        tuple(
            (percent(b.promised), percent(b.kept), whole(b.count))
            for b in promises.bins
        ),
        across.ticks(percent, 2),
        up.ticks(percent, 2),
        dots=tuple(
            Dot(
                across.at(b.promised),
                up.at(b.kept),
                round(3 + 7 * math.sqrt(b.count / most), 1),
                f"promised {percent(b.promised)}, kept {percent(b.kept)}, {b.count:,}",
            )
            for b in promises.bins
        ),
        diagonal=True,
    )


def tail(
    counts: Sequence[tuple[str, int]], unused: int, names: Mapping[str, str]
) -> Plot:
    """How many documents categories have, the most used first; both axes by powers."""
    across = PlotAxis(1, max(2, len(counts)), LEFT, RIGHT, log=True)
    up = PlotAxis(1, max(2, counts[0][1]), BOTTOM, TOP, log=True)
    half = sum(count for _, count in counts) / 2
    heads, seen = 0, 0
    for _, count in counts:
        if seen >= half:
            break
        heads, seen = heads + 1, seen + count
    thinned = sorted(
        {round(1.12**n) for n in range(200)} & {*range(1, len(counts) + 1)}
    )
    points = [(rank, counts[rank - 1][1]) for rank in (*thinned, len(counts))]
    return Plot(
        "tail",
        "The long tail of categories",
        f"Documents of each category, the most used first. {heads:,} of the "
        f"{len(counts):,} in use have half of the labels; {unused:,} have none.",
        "categories, the most used first",
        "documents",
        ("category", "documents"),
        tuple((names.get(id_, id_), whole(count)) for id_, count in counts[:MANY]),
        across.ticks(whole),
        up.ticks(whole),
        curves(across, up, [("tail", points, "")]),
    )


def days(counts: Sequence[tuple[str, int]]) -> Plot:
    """Decisions of each day."""
    shown = counts[-DAYS:]
    up = PlotAxis(0, max(count for _, count in shown) * 1.1, BOTTOM, TOP)
    return Plot(
        "days",
        "Decisions a day",
        f"How many documents people decided; {sum(n for _, n in counts):,} in all, on "
        f"{len(counts):,} days.",
        f"{shown[0][0]} to {shown[-1][0]}",
        "decisions",
        ("day", "decisions"),
        tuple((day, whole(count)) for day, count in reversed(shown)),
        (),
        up.ticks(whole),
        bars=bars(shown, up),
    )
