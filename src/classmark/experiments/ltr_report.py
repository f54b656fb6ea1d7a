"""What came of learning to rank MQ2008, as a table, sentences and a drawing."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from classmark.experiments import ltr_mq2008 as ltr
from classmark.experiments.click_report import Report
from classmark.experiments.paper_figures import STYLE, save
from classmark.figures import HUES, LINE


def ltr_report(table: ltr.Table) -> Report:
    """One row a learner: means, and the interval of nDCG@10 and MAP."""
    rows: list[dict[str, str | float | None]] = []
    for row in table.rows:
        cells: dict[str, str | float | None] = {"method": row.method}
        for measure in ltr.MEASURES:
            low, high = row.intervals[measure]
            shown = f"{row.means[measure]:.4f}"
            if measure in ("ndcg@10", "map"):
                shown += f" ({low:.3f} … {high:.3f})"
            cells[measure] = shown
        rows.append(cells)
    return Report(
        f"Learning to rank: MQ2008, {table.parts} parts, each asked once",
        rows,
        table.claims,
        partial(rank_bars, table, title="MQ2008: nDCG by rank, 95 % intervals"),
        f"{table.queries} queries, {table.pairs:,} rows, {table.features} features; "
        "parameters chosen by nDCG@10 on the other parts; intervals by bootstrap over "
        "queries",
        asdict(table),
    )


def rank_bars(table: ltr.Table, path: Path, title: str) -> None:
    """Draw nDCG at ranks 1 to 10: a dot a learner, a bar its interval."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    ranks = np.arange(1, 11)
    with rc_context(STYLE):
        figure = Figure(figsize=(8.0, 4.4))
        axes = figure.subplots()
        for at, row in enumerate(table.rows):
            hue = HUES[at % len(HUES)]
            places = ranks + 0.12 * (at - 0.5 * (len(table.rows) - 1))
            means = [row.means[f"ndcg@{rank}"] for rank in ranks]
            low, high = np.array([row.intervals[f"ndcg@{rank}"] for rank in ranks]).T
            axes.vlines(places, low, high, color=hue, linewidth=0.8)
            axes.scatter(places, means, color=hue, s=14, label=row.method, zorder=3)
        axes.set(title=title, xlabel="rank k", ylabel="nDCG@k")
        axes.set_xticks(ranks)
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        axes.legend(frameon=False, labelcolor="linecolor", ncols=2, loc="lower right")
        save(figure, path)
