"""The curve of what clicks teach: NDCG against impressions, strategy by strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from classmark.experiments.paper_figures import STYLE, save
from classmark.figures import HUES, INK, LINE, SOFT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DASHES = {"": "-", "propensities": "--", "order kept": ":"}


class Curves(NamedTuple):
    """One panel: lines by (strategy, way), and levels by name."""

    title: str
    lines: Mapping[tuple[str, str], Sequence[float]]
    levels: Mapping[str, float]


def click_curves(
    panels: Sequence[Curves], sizes: Sequence[int], path: Path, title: str
) -> None:
    """Draw every way to learn from clicks between the ranker in service and the truth.

    A colour a strategy; a line plain, dashed with propensities, dotted with the order
    kept.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for name, _ in panels[0].lines))
    hue = dict(zip(names, HUES * len(names), strict=False))
    across = min(2, len(panels))
    down = -(-len(panels) // across)
    with rc_context(STYLE):
        figure = Figure(figsize=(4.2 * across, 3.0 * down + 1.3))
        grid = figure.subplots(down, across, squeeze=False, sharex=True)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw(axes, panel, sizes, hue)
        for axes in grid[-1]:
            axes.set_xlabel("impressions")
        figure.tight_layout(rect=(0, 0, 1, 1 - 1.3 / figure.get_figheight()))
        height = figure.get_figheight()
        figure.text(0.02, 1 - 0.25 / height, title, fontsize=12, color=INK)
        for at, name in enumerate(names):
            place = (0.02 + 0.5 * (at % 2), 1 - (0.5 + 0.22 * (at // 2)) / height)
            figure.text(*place, f"— {name}", color=hue[name])
        ways = "— plain   - - propensities   ··· order kept"
        figure.text(0.52, 1 - (0.5 + 0.44) / height, ways, color=SOFT)
        save(figure, path)


def _draw(
    axes: Axes, panel: Curves, sizes: Sequence[int], hue: Mapping[str, str]
) -> None:
    for (name, way), values in panel.lines.items():
        axes.plot(sizes, values, color=hue[name], linestyle=DASHES[way], linewidth=1.4)
    axes.set(xscale="log", title=panel.title)
    axes.set_xticks(sizes, labels=[f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    _name_levels(axes, panel.levels)
    axes.grid(axis="y", color=LINE, linewidth=0.6)


def _name_levels(axes: Axes, levels: Mapping[str, float]) -> None:
    """Draw each level, its name right of it, none on another."""
    apart, place = 0.06 * axes.get_ylim()[1], -1.0
    for name, level in sorted(levels.items(), key=lambda entry: entry[1]):
        axes.axhline(level, color=SOFT, linewidth=0.8)
        place = max(level, place + apart)
        axes.text(
            1.02, place, name, transform=axes.get_yaxis_transform(), color=SOFT,
            fontsize=8, va="center",
        )  # fmt: skip
