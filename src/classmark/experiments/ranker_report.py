"""The table and the plot of learned rankers beside single models."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import numpy as np

from classmark.experiments.click_report import Report
from classmark.experiments.paper_figures import dot_panels
from classmark.experiments.ranker_learning import LEARNED
from classmark.experiments.ranker_service import LEARNER, Table
from classmark.experiments.ranker_training import MEASURES, SURE

Cells = dict[str, str | float | None]


def service_report(table: Table) -> Report:
    """Show means over partings, and in how many the learned order surely differs."""
    rows: dict[str, Cells] = {}
    panels: dict[str, dict[str, float]] = {}
    for name in table.sizes:
        for method in dict.fromkeys(row.method for row in table.rows):
            own = [r for r in table.rows if (r.collection, r.method) == (name, method)]
            cells = rows.setdefault(method, {"order": method})
            for key in MEASURES:
                mean = float(np.mean([row.measures[key] for row in own]))
                cells[f"{name} {key}"] = mean
                panels.setdefault(f"{name}, {key}", {})[method] = mean
            sure = sum(row.chance.get(MEASURES[0], 1.0) < SURE for row in own)
            told = "" if method == LEARNED else f"{sure} of {len(own)}"
            cells[f"{name}, p < {SURE:g}"] = told
    shown = {k: v for k, v in panels.items() if not k.endswith(MEASURES[2])}
    sizes = "; ".join(
        f"{name}: {taught} queries teach, {held} judge"
        for name, (taught, held) in table.sizes.items()
    )
    partings = len({row.seed for row in table.rows})
    return Report(
        f"A learned ranker ({LEARNER}) beside single models, {partings} partings",
        list(rows.values()),
        table.claims,
        partial(dot_panels, shown, title="Held-out queries", mark=LEARNED),
        f"{sizes}; p by randomisation test of {MEASURES[0]} against {LEARNED}, in how "
        "many partings",
        asdict(table),
    )
