"""Plots that look alike everywhere: quiet, labelled directly, readable on paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, LINE = "#2b2a27", "#6b6860", "#d9d5cb"
HUES = ("#1f5f8b", "#b0532a", "#4d7c3a", "#7a4d8c", "#96761d", "#2b2a27")
STYLE: dict[Any, Any] = {
    "figure.figsize": (7.0, 4.2),
    "figure.facecolor": "#fbfaf7",
    "axes.facecolor": "#fbfaf7",
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "font.size": 10,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "classmark",
}


def rank_curves(curves: Mapping[str, ArrayLike], path: Path, title: str) -> None:
    """Draw normalised precision at each rank, one line per name, to an SVG or PNG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure()
        axes = figure.subplots()
        ends: list[tuple[float, str, str]] = []
        for hue, (name, curve) in zip(HUES * len(curves), curves.items(), strict=False):
            values = np.asarray(curve)
            axes.plot(np.arange(1, len(values) + 1), values, color=hue)
            ends.append((float(values[0]), name, hue))
        axes.set(xscale="log", title=title, xlabel="categories looked at (rank)")
        longest = max((len(np.asarray(curve)) for curve in curves.values()), default=1)
        axes.set_xticks(round_numbers(longest), labels=map(str, round_numbers(longest)))
        axes.minorticks_off()
        axes.set_ylabel("precision / best possible")
        axes.set_ylim(top=1.0)
        _label_starts(axes, ends)
        _save(figure, path)


def _label_starts(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Name each line in its own colour, left of where it starts, none on another."""
    bottom, top = axes.get_ylim()
    place = -np.inf
    for height, name, hue in sorted(ends):
        place = max(height, place + 0.06 * (top - bottom))
        axes.text(0.92, place, name, color=hue, ha="right", va="center")
    longest = max((len(name) for _, name, _ in ends), default=0)
    axes.set_xlim(left=0.9 / 1.12**longest)


def error_panels(
    measured: Mapping[str, Mapping[str, float]],
    published: Mapping[str, Mapping[str, float]],
    path: Path,
    title: str,
) -> None:
    """Draw one panel per error: a dot per method, and a ring where it was published."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    methods = list(measured)
    errors = list(measured[methods[0]])
    places = np.arange(len(methods))
    with rc_context(STYLE):
        figure = Figure(figsize=(2.3 * len(errors), 0.5 * len(methods) + 1.4))
        panels = figure.subplots(1, len(errors), sharey=True, squeeze=False)[0]
        for axes, error in zip(panels, errors, strict=True):
            own = [measured[method][error] for method in methods]
            theirs = [published[method][error] for method in methods]
            axes.scatter(own, places, color=HUES[0], zorder=3)
            axes.scatter(theirs, places, facecolors="none", edgecolors=HUES[1])
            axes.set(title=error, yticks=places, yticklabels=methods)
            axes.set_xlim(0, 1.15 * max(own + theirs))
            axes.grid(axis="x", color=LINE)
        panels[0].invert_yaxis()
        panels[0].set_ylabel("trained for")
        panels[0].set_xlabel("● measured", color=HUES[0])
        panels[-1].set_xlabel("○ published", color=HUES[1])
        figure.suptitle(title, x=0.02, ha="left", color=INK)
        figure.tight_layout()
        _save(figure, path)


def power_laws(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    path: Path,
    title: str,
    axes_labels: tuple[str, str] = ("non-zeros × labels", "seconds per pass"),
) -> None:
    """Draw times against sizes on log axes, each series with its fitted slope."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure()
        axes = figure.subplots()
        for hue, (name, (sizes, seconds)) in zip(HUES, series.items(), strict=False):
            x, y = np.asarray(sizes, float), np.asarray(seconds, float)
            slope, shift = np.polyfit(np.log(x), np.log(y), 1)
            ends = np.array([x.min(), x.max()])
            axes.plot(ends, np.exp(shift) * ends**slope, color=hue, linewidth=0.8)
            label = f"{name}: slope {slope:.2f}"
            axes.scatter(x, y, color=hue, label=label)
        axes.set(xscale="log", yscale="log", title=title)
        axes.set(xlabel=axes_labels[0], ylabel=axes_labels[1])
        axes.legend(frameon=False, labelcolor="linecolor")
        _save(figure, path)


class Panel(NamedTuple):
    """One of several small plots: a title, and per name rounds and values.

    log : whether the values span decades.
    """

    title: str
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]]
    log: bool = False


def learning_curves(panels: Sequence[Panel], path: Path, title: str) -> None:
    """Draw values against documents seen (log axis), the same names in every panel."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    across = min(3, len(panels))
    down = ceil(len(panels) / across)
    names = list(panels[0].curves)
    hue = dict(zip(names, HUES * len(names), strict=False))
    with rc_context(STYLE):
        lines = _lines(names, 3.4 * across)
        above = 0.5 + 0.27 * len(lines)
        figure = Figure(figsize=(3.4 * across, 2.7 * down + above))
        grid = figure.subplots(down, across, squeeze=False, sharex=True)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for axes, panel in zip(grid.flat, panels, strict=False):
            for name, (rounds, values) in panel.curves.items():
                heights = np.asarray(values, float)
                if panel.log:  # nothing to show where there is no loss yet
                    heights = np.where(heights > 0, heights, np.nan)
                axes.plot(np.asarray(rounds), heights, color=hue[name])
            _dress(axes, panel)
        for axes in grid[-1]:
            axes.set_xlabel("documents seen")
        top = 1 - above / figure.get_figheight()
        figure.tight_layout(rect=(0, 0, 1, top), h_pad=1.6, w_pad=1.8)
        _head(figure, title, lines, hue)
        _save(figure, path)


def _dress(axes: Axes, panel: Panel) -> None:
    last = max(int(np.asarray(x)[-1]) for x, _ in panel.curves.values())
    ticks = [tick for tick in round_numbers(last) if str(tick)[0] == "1"]
    axes.set(xscale="log", title=panel.title)
    axes.set_xticks(ticks, labels=[f"{tick:,}" for tick in ticks])
    if panel.log:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        _readable_decades(axes, low, high)
    else:
        highest = max(float(np.max(np.asarray(y))) for _, y in panel.curves.values())
        axes.set_ylim(0, 1.03 * max(highest, 1e-9))
    axes.minorticks_off()
    axes.grid(axis="y", color=LINE, linewidth=0.6)


def _readable_decades(axes: Axes, low: float, high: float) -> None:
    """Ticks at 1, 2 and 5 times powers of ten, or at the powers where they are many."""
    powers = range(-9, 10)
    marks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    seen = [mark for mark in marks if low <= mark <= high]
    if len(seen) > 7:
        seen = [mark for mark in marks[::3] if low <= mark <= high]
    axes.set_yticks(seen, labels=[f"{mark:g}" for mark in seen])


def _lines(names: Sequence[str], width: float) -> list[list[str]]:
    """Share names among lines of so many inches.

    >>> _lines(["plm", "averaged perceptron", "mmp"], 3.0)
    [['plm', 'averaged perceptron'], ['mmp']]
    """
    lines: list[list[str]] = [[]]
    room = width
    for name in names:
        needed = 0.08 * len(name) + 0.4
        if needed > room and lines[-1]:
            lines.append([])
            room = width
        lines[-1].append(name)
        room -= needed
    return lines


def _head(
    figure: Figure, title: str, lines: list[list[str]], hue: Mapping[str, str]
) -> None:
    """The title, and below it every name in its own colour."""
    width, height = figure.get_size_inches()
    figure.text(0.15 / width, 1 - 0.28 / height, title, fontsize=12, color=INK)
    for row, names in enumerate(lines):
        across, up = 0.15, 0.56 + 0.27 * row
        for name in names:
            place = (across / width, 1 - up / height)
            said = figure.text(*place, f"— {name}", color=hue[name])
            across = said.get_window_extent().x1 / figure.dpi + 0.25


def round_numbers(limit: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, … up to the limit: where people look on a log axis.

    >>> round_numbers(60)
    [1, 2, 5, 10, 20, 50]
    """
    return [
        digit * 10**power
        for power in range(len(str(limit)))
        for digit in (1, 2, 5)
        if digit * 10**power <= limit
    ]


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, bbox_inches="tight", dpi=150, metadata=facts)


def sweep_curve(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    path: Path,
    title: str,
    axes_names: tuple[str, str],
) -> None:
    """Draw a measure against a parameter, a line per name, a ring at the best."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure()
        axes = figure.subplots()
        for hue, (name, (x, y)) in zip(
            HUES * len(curves), curves.items(), strict=False
        ):
            values, heights = np.asarray(x, float), np.asarray(y, float)
            axes.plot(values, heights, color=hue, marker=".", label=name)
            best = int(np.argmax(heights))
            axes.scatter(values[best], heights[best], s=90, color=hue, facecolor="none")
        axes.set(title=title, xlabel=axes_names[0], ylabel=axes_names[1])
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        if len(curves) > 1:
            axes.legend(frameon=False, labelcolor="linecolor")
        _save(figure, path)


def dot_panels(
    panels: Mapping[str, Mapping[str, float]], path: Path, title: str, mark: str
) -> None:
    """Draw one panel per name: a dot per method, and a line where ``mark`` stands."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    methods = list(next(iter(panels.values())))
    places = np.arange(len(methods))
    with rc_context(STYLE):
        figure = Figure(figsize=(2.2 * len(panels) + 1, 0.22 * len(methods) + 1.2))
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (name, values) in zip(grid, panels.items(), strict=True):
            axes.axvline(values[mark], color=LINE)
            axes.scatter(
                [values[m] for m in methods], places, color=HUES[0], s=18, zorder=3
            )
            axes.set(title=name, yticks=places, yticklabels=methods)
        grid[0].invert_yaxis()
        figure.suptitle(title, x=0.02, ha="left", color=INK)
        figure.tight_layout()
        _save(figure, path)
