"""What came of asking close calls again, as a table, sentences and a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from classmark.experiments import rare_lshtc as rare
from classmark.experiments.click_report import Report
from classmark.experiments.figures import points_of
from classmark.figures import HUES, Axis, Figure, Panel, Series, write_figure

VOTED = " + rare"  # how the voted form of a method is called
DRAWN = ("true", rare.CS, rare.FIXED)


def rare_report(table: rare.Table) -> Report:
    """One row a method and collection, the paper's values in brackets."""
    rows: list[dict[str, str | float | None]] = []
    for row in table.rows:
        cells: dict[str, str | float | None] = {
            "collection": row.collection,
            "method": row.method,
        }
        for key in rare.KEYS:
            form = {"detected": ".0f", "time": ".1f"}.get(key, ".4f")
            beside = f" ({row.paper[key]:{form}})" if row.paper else ""
            cells[key] = f"{row.measures[key]:{form}}{beside}"
        cells["asked again"] = "" if row.again is None else f"{row.again:.1%}"
        rows.append(cells)
    sizes = "; ".join(
        f"{name}: {size.trained:,} documents learned from, {size.asked:,} asked, "
        f"{size.categories:,} categories, {size.features:,} features, "
        f"{size.per_document:.2f} categories a document"
        for name, size in table.sizes.items()
    )
    return Report(
        "Rare categories: re-ranking beside CS-SVM and HR-SVM",
        rows,
        table.claims,
        partial(induced_curves, curves(table), title="How often is a category chosen?"),
        f"measured (published for DMOZ-2010-s); time in multiples of CS-SVM's; {sizes}",
        asdict(table),
    )


def curves(table: rare.Table) -> dict[str, dict[str, list[int]]]:
    """For each collection, how often each category occurs, largest first."""
    found = {}
    for name, size in table.sizes.items():
        here = {row.method: row.counts for row in table.rows if row.collection == name}
        found[name] = {"true": size.counts} | {
            method: here[method] for method in DRAWN if method in here
        }
    return found


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
    found = {methods[0]: (HUES[5], "")}
    for name in methods[1:]:
        base = name.removesuffix(VOTED)
        dash = "" if name == base else "6 4"
        found[name] = (hues.get(base, others[0]), dash)
    return found
