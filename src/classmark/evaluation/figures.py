"""Which curves show how good a ranker is? Figures as data, drawn as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from classmark.corpus.power_laws import VocabularyLaws
from classmark.figures import HUES, Axis, Figure, Panel, Series, write_figure

Curves = Mapping[str, tuple[ArrayLike, ArrayLike]]

RANKS = 200  # of terms that are drawn
VOTED = " + rare"  # how the voted form of a method is called


def points_of(x: ArrayLike, y: ArrayLike) -> list[tuple[float, float]]:
    """Pair up the coordinates of points."""
    across, up = np.asarray(x, float).tolist(), np.asarray(y, float).tolist()
    return list(zip(across, up, strict=True))


def color_of(number: int) -> str:
    """The colour of the series with this number."""
    return HUES[number % len(HUES)]


def lines_of(curves: Curves) -> list[Series]:
    """Return a line per name, each in its own colour."""
    return [
        Series(name, points_of(x, y), color_of(number))
        for number, (name, (x, y)) in enumerate(curves.items())
    ]


def rank_curves(curves: Mapping[str, ArrayLike], path: Path, title: str) -> None:
    """Draw normalised precision at each rank, one line per name."""
    lengths = {name: len(np.asarray(curve)) for name, curve in curves.items()}
    ranked = {name: (range(1, lengths[name] + 1), y) for name, y in curves.items()}
    longest = max(lengths.values(), default=1)
    x = Axis("categories looked at (rank)", log=True, low=1, high=longest)
    y = Axis("precision / best possible", high=1.0)
    panel = Panel(lines_of(ranked), x, y)
    write_figure(Figure(title, [panel], labels="start"), path)


def power_laws(
    series: Curves,
    path: Path,
    title: str,
    axes_names: tuple[str, str] = ("non-zeros × labels", "seconds per pass"),
) -> None:
    """Draw values against sizes on log axes, each series with its fitted slope."""
    drawn: list[Series] = []
    for number, (name, (x, y)) in enumerate(series.items()):
        points = [p for p in points_of(x, y) if min(p) > 0]
        ends, slope = _fitted(points)
        fit = "" if slope is None else f": slope {slope:.2f}".replace("-", "−")
        color = color_of(number)
        drawn.append(Series("", ends, color, width=1.0))
        drawn.append(Series(name + fit, points, color, width=0, dots=4))
    across, up = (Axis(name, log=True) for name in axes_names)
    write_figure(Figure(title, [Panel(drawn, across, up)]), path)


def _fitted(
    points: Sequence[tuple[float, float]],
) -> tuple[list[tuple[float, float]], float | None]:
    """The ends of the line fitted to the logarithms, and its slope, if there is one."""
    if len({x for x, _ in points}) < 2:
        return [], None
    x, y = np.array(points).T
    slope, shift = np.polyfit(np.log(x), np.log(y), 1)
    ends = np.array([x.min(), x.max()])
    return points_of(ends, np.exp(shift) * ends**slope), float(slope)


def learning_panel(title: str, curves: Curves, *, log: bool = False) -> Panel:
    """A panel of values against documents seen; log : whether values span decades."""
    y = Axis(log=True) if log else Axis(low=0)
    return Panel(lines_of(curves), Axis("documents seen", log=True, low=1), y, title)


def learning_curves(panels: Sequence[Panel], path: Path, title: str) -> None:
    """Draw panels that have the same names, three in a row."""
    write_figure(Figure(title, panels, columns=3, size=(328, 260)), path)


def sweep_curve(
    curves: Curves, path: Path, title: str, axes_names: tuple[str, str]
) -> None:
    """Draw a measure against a parameter, a line per name, a ring at the best."""
    series = [
        replace(
            line, dots=3, rings=sorted(line.points, key=lambda point: -point[1])[:1]
        )
        for line in lines_of(curves)
    ]
    panel = Panel(series, Axis(axes_names[0]), Axis(axes_names[1]))
    write_figure(Figure(title, [panel], labels="end"), path)


def vocabulary_figure(laws: VocabularyLaws, path: Path, title: str) -> None:
    """Draw terms against tokens read, and occurrences against rank, with the laws."""
    panels = []
    if laws.heaps is not None:
        read, known = laws.read[laws.read > 0], laws.known[laws.read > 0]
        name = f"Heaps: {laws.heaps.K:.3g} · tokens^{laws.heaps.beta:.3f}"
        curves = {"different terms": (read, known), name: (read, laws.heaps.at(read))}
        axes = Axis("tokens read", log=True), Axis(log=True)
        panels.append(_with_law(curves, *axes, "How the vocabulary grows"))
    if laws.zipf is not None:
        ranks = np.unique(np.geomspace(1, laws.terms, RANKS).round().astype(int))
        name = f"Zipf: {laws.zipf.head:.3g} · rank^−{laws.zipf.exponent:.3f}"
        times = laws.frequencies[ranks - 1]
        curves = {"occurrences": (ranks, times), name: (ranks, laws.zipf.at(ranks))}
        axes = Axis("rank of the term", log=True, low=1), Axis(log=True)
        panels.append(_with_law(curves, *axes, "How often terms occur"))
    write_figure(Figure(title, panels, columns=2, size=(460, 360)), path)


def _with_law(curves: Curves, x: Axis, y: Axis, title: str) -> Panel:
    """A panel of values and, dashed, the law that was fitted to them."""
    values, law = lines_of(curves)
    return Panel([values, replace(law, dash="6 4", width=1.5)], x, y, title)


def run_figure(
    graphs: Mapping[str, tuple[ArrayLike, ArrayLike]],
    differences: tuple[str, ArrayLike] | None,
    path: Path,
    title: str,
) -> None:
    """Draw precision against recall, a line per run, and a bar for each difference.

    differences : a title, and a value for each query; the largest is drawn first.
    """
    panels = []
    if graphs:
        recall = Axis("recall", low=0, high=1)
        precision = Axis("precision (interpolated)", low=0, high=1)
        panels.append(Panel(lines_of(graphs), recall, precision))
    if differences is not None:
        name, values = differences
        heights = np.sort(np.asarray(values, np.float64))[::-1].tolist()
        width = min(24.0, max(1.0, 300 / len(heights)))
        bars = [
            Series("", [(at, 0.0), (at, up)], color_of(int(up < 0)), width)
            for at, up in enumerate(heights, 1)
        ]
        queries = Axis("queries, by difference", low=0, high=len(heights) + 1)
        panels.append(Panel(bars, queries, Axis(), name))
    write_figure(Figure(title, panels, columns=2, size=(460, 360)), path)


def induced_curves(
    panels: Mapping[str, Mapping[str, list[int]]], path: Path, title: str
) -> None:
    """Draw the true and the induced distributions, share against rank, both log."""
    axes = (
        Axis("rank of the category", log=True, low=1),
        Axis("share of the documents", log=True),
    )
    drawn = []
    for name, lines in panels.items():
        looks, series = _looks(list(lines)), []
        for method, counts in lines.items():
            shares = np.asarray(counts, float) / max(1, sum(counts))
            points = points_of(range(1, len(counts) + 1), shares)
            label = f"{method}: {len(counts)} categories"
            series.append(
                Series(label, points, looks[method][0], dash=looks[method][1])
            )
        drawn.append(Panel(series, *axes, name))
    size = (672, 380) if len(drawn) == 1 else (400, 320)
    write_figure(Figure(title, drawn, columns=2, size=size), path)


def _looks(methods: list[str]) -> dict[str, tuple[str, str]]:
    """Hue and dash of each line: the truth is dark, a method's voted form dashed."""
    others = [hue for hue in HUES if hue != HUES[5]]
    plain = [name for name in methods[1:] if not name.endswith(VOTED)]
    hues = {name: others[at % len(others)] for at, name in enumerate(plain)}
    looks = {methods[0]: (HUES[5], "")}
    for name in methods[1:]:
        base = name.removesuffix(VOTED)
        dash = "" if name == base else "6 4"
        looks[name] = (hues.get(base, others[0]), dash)
    return looks
