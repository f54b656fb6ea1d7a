"""Plots that look alike everywhere: quiet, labelled directly, readable on paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    series: Mapping[str, tuple[ArrayLike, ArrayLike]], path: Path, title: str
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
        axes.set(xscale="log", yscale="log", title=title, ylabel="seconds per pass")
        axes.set_xlabel("non-zeros × labels")
        axes.legend(frameon=False, labelcolor="linecolor")
        _save(figure, path)


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
