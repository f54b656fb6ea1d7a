"""What a reproduction gives: a table, claims, a plot drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Ints
from classmark.figures import HUES, INK, LINE, PAPER, SOFT, require_svg
from classmark.measures import bootstrap_interval
from classmark.problems import MissingExtra
from classmark.validation import generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


STYLE: dict[Any, Any] = {
    "figure.figsize": (7.0, 4.2),
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
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


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What an experiment found: a row a method, claims, all values, and a drawing.

    rows : for people, one row a method, measured beside published;  claims : which
    hold;  facts : everything, ready for JSON;  draw : writes the plot to a file.
    """

    title: str
    rows: list[dict[str, str | float | None]]
    claims: list[str]
    draw: Callable[[Path], None]
    note: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


def holds(claim: bool) -> str:
    """The words for a claim that could be tried here."""
    return "holds" if claim else "does not hold"


ROUNDS = 2000  # samples of a bootstrap


def chance(p: float) -> str:
    """P as it stands in a claim."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def difference(own: ArrayLike, other: ArrayLike, form: str = "+.4f") -> str:
    """The mean difference of paired values with its 95 % interval, by bootstrap.

    >>> difference([1.0, 2.0], [0.5, 1.5])
    '+0.5000 (+0.5000 … +0.5000)'
    """
    low, high = bootstrap_interval(own, other, rounds=ROUNDS)
    mean = float(np.mean(np.asarray(own) - np.asarray(other)))
    return f"{mean:{form}} ({low:{form}} … {high:{form}})"


def resampled(
    statistic: Callable[[Ints], float], n: int, rounds: int = ROUNDS
) -> tuple[float, float]:
    """95 % interval of any statistic of n documents or topics, by bootstrap.

    statistic : of their numbers, drawn with replacement [EfronTibshirani93].
    """
    rng = generator(0)
    found = [statistic(rng.integers(n, size=n)) for _ in range(rounds)]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def half_width(values: ArrayLike) -> float:
    """Half of the 95 % interval of the mean of a few values, as of folds [Student08].

    >>> round(half_width([1.0, 2.0, 3.0]), 3)
    2.484
    """
    from scipy.special import stdtrit

    each = np.asarray(values, dtype=np.float64)
    error = each.std(ddof=1) / np.sqrt(len(each))
    return float(stdtrit(len(each) - 1, 0.975) * error)


def require_matplotlib() -> None:
    """Say what to install, before hours of work, where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("Plots of this experiment", "plots")


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
        save(figure, path)


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
        save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a file, the same bytes every time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    require_svg(path)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
