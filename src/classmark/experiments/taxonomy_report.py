"""What came of flat, top-down and pruned trees, as a table and a drawing."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from classmark.experiments.click_report import Report
from classmark.experiments.paper_figures import STYLE, save
from classmark.experiments.taxonomy_claims import SURE, by_strategy, claims
from classmark.experiments.taxonomy_lshtc import STRATEGIES, Row, Table
from classmark.figures import HUES, INK, LINE

SHORT = {"svm": "SVM", "logistic": "MLR", "naive-bayes": "NB"}


def taxonomy_report(table: Table) -> Report:
    """A row a collection and strategy: errors by learner, the rest for the first."""
    first = table.rows[0].base
    cells: dict[tuple[str, str], dict[str, str | float | None]] = {}
    for row in table.rows:
        key = (row.collection, row.strategy)
        line = cells.setdefault(
            key, {"collection": row.collection, "strategy": row.strategy}
        )
        line[f"{SHORT[row.base]} error"] = f"{row.error:.3f}{_mark(row)}"
    for row in table.rows:
        if row.base == first:
            name = SHORT[first]
            cells[row.collection, row.strategy] |= {
                f"{name} tree error": f"{row.tree_error:.2f}",
                f"{name} hF1": f"{row.hierarchical_f1:.3f}",
                f"{name} macro-F1": f"{row.macro_f1:.3f}",
                f"{name} seconds": f"{row.seconds:.1f}",
                f"{name} MB": f"{row.megabytes:.1f}",
                "nodes removed": f"{row.removed:.0f}",
            }
    told = "; ".join(
        f"{name}: {size.trained:,} training and {size.tested:,} test documents, "
        f"{size.categories:,} categories, depth {size.depth}"
        for name, size in table.sizes.items()
    )
    return Report(
        "Flat, top-down and pruned: error rate",
        list(cells.values()),
        claims(table),
        partial(strategy_dots, table, title="Error by strategy and learner"),
        f"{told}; a document errs when its best category is none of its own; * surely "
        f"different from FH (micro sign test, p < {SURE}); processor seconds to train",
        asdict(table),
    )


def _mark(row: Row) -> str:
    return "*" if row.sign < SURE and row.strategy != "FH" else ""


def strategy_dots(table: Table, path: Path, title: str) -> None:
    """Draw a panel a collection: the error of each strategy, a line a learner."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    names, places = list(table.sizes), np.arange(len(STRATEGIES))
    with rc_context(STYLE):
        figure = Figure(figsize=(2.6 * len(names), 3.4))
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            lines = [
                (base, here)
                for (own, base), here in by_strategy(table.rows).items()
                if own == name
            ]
            for hue, (base, here) in zip(HUES, lines, strict=False):
                errors = [here[strategy].error for strategy in STRATEGIES]
                axes.plot(
                    places, errors, "o-", color=hue, label=SHORT[base], linewidth=0.8
                )
            axes.set(title=name, xticks=places, xticklabels=STRATEGIES)
            axes.tick_params(axis="x", labelsize=8)
            axes.grid(axis="y", color=LINE, linewidth=0.6)
        panels[0].set_ylabel("error")
        panels[0].legend(frameon=False, labelcolor="linecolor")
        figure.suptitle(title, x=0.02, ha="left", color=INK)
        figure.tight_layout()
        save(figure, path)
