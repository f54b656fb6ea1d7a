"""What came of learning from clicks, as a table, sentences and a drawing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from classmark.experiments import click_simulation as clicks
from classmark.experiments import off_policy as policies
from classmark.experiments.click_figures import Curves, click_curves


class Report(NamedTuple):
    """A title, rows for people, claims, a drawing, a note, and everything."""

    title: str
    rows: list[dict[str, str | float | None]]
    claims: list[str]
    draw: Callable[[Path], None]
    note: str
    facts: dict[str, Any]


def clicks_report(table: clicks.Table, policy: policies.Table) -> Report:
    """One row a method; in a cell NDCG@10 after each number of impressions."""
    methods: dict[str, dict[str, str | float | None]] = {}
    for row in table.rows:
        cells = methods.setdefault(row.method, {"method": row.method})
        values = row.ndcg[-1:] if row.method in clicks.NOT_CLICKS else row.ndcg
        cells[f"{row.collection}, {row.service}"] = " ".join(
            f"{value:.3f}" for value in values
        )
    sizes = ", ".join(f"{size:,}" for size in table.sizes)
    halves = "; ".join(
        f"{name} in service: {clicked} queries clicked on, {judged} judged"
        for name, (clicked, judged) in table.queries.items()
    )
    title = "NDCG@10 learned from clicks, beside the truth"
    return Report(
        f"Clicks: NDCG@10 after {sizes} impressions",
        list(methods.values()),
        [*table.claims, *_policy_claims(policy)],
        partial(click_curves, panels(table), table.sizes, title=title),
        f"{halves}; means of {clicks.SEEDS} logs",
        {"simulation": asdict(table), "policies": asdict(policy)},
    )


def panels(table: clicks.Table) -> list[Curves]:
    """One panel a collection and ranker in service."""
    found = []
    for name in table.queries:
        here = {
            row.method: row.ndcg
            for row in table.rows
            if f"{row.collection}, {row.service}" == name
        }
        lines = {
            (strategy, way): values
            for method, values in here.items()
            if method not in clicks.NOT_CLICKS
            for strategy, _, way in [method.partition("; ")]
        }
        levels = {key: here[key][-1] for key in (clicks.SERVICE, clicks.TRUTH)}
        found.append(Curves(f"{name} in service", lines, levels))
    return found


def _policy_claims(table: policies.Table) -> list[str]:
    said = [
        f"obp {row.campaign}, {row.policy} from the log of {row.log}: "
        f"{row.estimate.value:.3%} ({row.estimate.low:.3%} to {row.estimate.high:.3%}) "
        f"by {row.estimator}, {row.seen.value:.3%} ({row.seen.low:.3%} to "
        f"{row.seen.high:.3%}) seen"
        for row in table.rows
        if row.estimator == "snips"
    ]
    return [*said, *(f"obp, {claim}" for claim in table.claims)]
