"""Which published results can be computed again here, and what comes out?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from classmark.experiments import mmp_reuters as mmp
from classmark.experiments import qbme as examples
from classmark.experiments import retrieval_models as models
from classmark.experiments.click_report import clicks_report
from classmark.experiments.click_simulation import click_simulation
from classmark.experiments.figures import (
    learning_curves,
    learning_panel,
    rank_curves,
)
from classmark.experiments.graphs_rcv1 import Table, graphs_rcv1
from classmark.experiments.ltr_mq2008 import ltr_mq2008
from classmark.experiments.ltr_report import ltr_report
from classmark.experiments.off_policy import off_policy
from classmark.experiments.paper_figures import (
    dot_panels,
    error_panels,
    require_matplotlib,
)
from classmark.experiments.plm_reuters import RANKS, Curves, Row, plm_reuters
from classmark.experiments.qbme_figures import hardness_curves
from classmark.experiments.ranker_report import service_report
from classmark.experiments.ranker_service import ranker_service
from classmark.experiments.rare_lshtc import rare_lshtc
from classmark.experiments.rare_report import rare_report
from classmark.experiments.taxonomy_lshtc import taxonomy_lshtc
from classmark.experiments.taxonomy_report import taxonomy_report
from classmark.preferences.decompose import NAMES as ERRORS
from classmark.problems import Mistake


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


def reproduce(name: str, data: Path | None = None) -> Reproduction:
    """Compute a published result again.

    name : one of EXPERIMENTS;  data : the folder of the data sets, or None for that of
    ``CLASSMARK_DATA``.
    """
    if name not in EXPERIMENTS:
        raise Mistake(
            f"experiment {name!r} is not known: use {', '.join(sorted(EXPERIMENTS))}"
        )
    if name not in DRAWN_AS_SVG:
        require_matplotlib()
    return EXPERIMENTS[name](data)


def of_graphs(data: Path | None) -> Reproduction:
    """The four by four errors of label ranking graphs [DekelManningSinger03]."""
    return graphs_report(graphs_rcv1(data))


def graphs_report(table: Table) -> Reproduction:
    """Put the table's errors beside the paper's."""
    rows: list[dict[str, str | float | None]] = []
    for row in table.rows:
        cells: dict[str, str | float | None] = {"trained for": row.method}
        for error in ERRORS:
            cells[error] = row.measures[error]
            cells[f"{error}, paper"] = row.paper[error]
        rows.append(cells)
    return Reproduction(
        "Label ranking graphs: error by training loss, five folds",
        rows,
        table.claims,
        partial(
            error_panels,
            {row.method: row.measures for row in table.rows},
            {row.method: row.paper for row in table.rows},
            title="Errors by training loss: measured, and as published",
        ),
        f"{table.documents:,} documents, {table.labels} labels, {table.words:,} words, "
        f"{table.edges:.0f} edges a graph (the paper's: {table.paper_edges:.0f})",
        asdict(table),
    )


def of_preferences(data: Path | None) -> Reproduction:
    """Precision at rank of the preference learning model [AiolliSebastianiSperduti08].

    The paper has a plot and sentences, no numbers: the sentences are what is checked.
    """
    return curves_report(plm_reuters(data))


def curves_report(curves: Curves) -> Reproduction:
    """Show precision at some ranks, and every claim."""
    baseline = next(row for row in curves.rows if row.method == "svm")
    return Reproduction(
        "Preference learning model: normalised precision at rank, Reuters ModApté",
        [_precision(row, baseline) for row in curves.rows],
        curves.claims,
        partial(
            rank_curves,
            {row.method: row.precision for row in curves.rows},
            title="Reuters ModApté: precision along the ranking",
        ),
        f"{curves.trained:,} training and {curves.tested:,} test documents, "
        f"{len(baseline.precision)} categories, {curves.words:,} words; the paper "
        "prints curves without numbers",
        asdict(curves),
    )


def of_rounds(data: Path | None) -> Reproduction:
    """Losses and measures of on-line category rankers [CrammerSinger03]."""
    return rounds_report(mmp.mmp_reuters(data))


def rounds_report(table: mmp.Table) -> Reproduction:
    """Put the measures beside the paper's; draw the losses of the training stream."""
    rows: list[dict[str, str | float | None]] = []
    for row in table.rows:
        cells: dict[str, str | float | None] = {"method": row.method}
        for key in mmp.COLUMNS:
            published = row.paper[key]
            beside = "" if published is None else f" ({published:g})"
            cells[key] = f"{row.measures[key]:.3f}{beside}"
        rows.append(cells)
    panels = [
        learning_panel(
            f"{loss[:4]} {loss[4:]}",
            {name: (table.rounds, values) for name, values in curves.items()},
            log=loss != "loss1",
        )
        for loss, curves in table.curves.items()
    ]
    return Reproduction(
        "On-line category ranking: Reuters-21578, five folds",
        rows,
        table.claims,
        partial(learning_curves, panels, title="Mean loss up to a training document"),
        "measured (published); losses 1 and 3 and one-error × 100; "
        f"{table.documents:,} documents, {table.topics} topics, {table.words:,.0f} "
        f"words in a fold (the paper's: {mmp.PAPER_WORDS:,}), {table.features:,.0f} "
        f"selected ({mmp.PAPER_FEATURES:,})",
        asdict(table),
    )


def of_models(data: Path | None) -> Reproduction:
    """Effectiveness of every retrieval model on four collections [Robertson94]."""
    return models_report(models.retrieval_models(data))


def models_report(table: models.Table) -> Reproduction:
    """Show both measures of each method on each collection; draw the MAP."""
    methods: dict[str, dict[str, str | float | None]] = {}
    panels: dict[str, dict[str, float]] = {}
    for row in table.rows:
        cells = methods.setdefault(row.method, {"method": row.method})
        for key, value in row.measures.items():
            cells[f"{row.collection} {key}"] = value
        panels.setdefault(row.collection, {})[row.method] = row.measures["map"]
    sizes = [
        f"{name}: {size.documents:,} documents, tuned on {size.tuned} queries, "
        f"reported on {size.reported}"
        for name, size in table.sizes.items()
    ]
    return Reproduction(
        "Retrieval models: parameters tuned on half of the queries, the rest reported",
        list(methods.values()),
        table.claims,
        partial(dot_panels, panels, title="MAP by model", mark=models.BASELINE),
        "; ".join(sizes),
        asdict(table),
    )


def of_clicks(data: Path | None) -> Reproduction:
    """What clicks of a known user teach, and counterfactual values [Joachims17]."""
    return Reproduction(*clicks_report(click_simulation(data), off_policy(data)))


def of_learners(data: Path | None) -> Reproduction:
    """Learning to rank on LETOR's MQ2008: is RSVM-IR better at the top [Cao06]?"""
    return Reproduction(*ltr_report(ltr_mq2008(data)))


def of_service(data: Path | None) -> Reproduction:
    """A learned ranker beside the best single model, on half of the queries."""
    return Reproduction(*service_report(ranker_service(data)))


def of_rare(data: Path | None) -> Reproduction:
    """Close calls in favour of large categories, made again [Babbar14]."""
    return Reproduction(*rare_report(rare_lshtc(data)))


def of_strategies(data: Path | None) -> Reproduction:
    """Flat, top-down and pruned classification on four taxonomies [Babbar13]."""
    return Reproduction(*taxonomy_report(taxonomy_lshtc(data)))


def of_examples(name: str, data: Path | None) -> Reproduction:
    """Query by multiple examples: a table of [ZhangLee09]."""
    return examples_report(examples.qbme(name, data))


def examples_report(tables: Sequence[examples.Table]) -> Reproduction:
    """Put the means beside the paper's; draw the first table's topics by hardness."""
    first = tables[0]
    rows: list[dict[str, str | float | None]] = []
    for own in zip(*(table.rows for table in tables), strict=True):
        cells: dict[str, str | float | None] = {"method": own[0].label}
        for table, row in zip(tables, own, strict=True):
            where = "" if len(tables) == 1 else f", {len(table.topics)} topics"
            cells |= {f"{key}{where}": cell for key, cell in _cells(row).items()}
        rows.append(cells)
    claims = [
        claim if len(tables) == 1 else f"{len(table.topics)} topics: {claim}"
        for table in tables
        for claim in table.claims
    ]
    drawn = {
        row.label: row.topics["prbep"]
        for row in first.rows
        if row.label in examples.DRAWN
    }
    title = f"Query by examples: {first.name}, PRBEP of each topic"
    return Reproduction(
        f"Query by multiple examples: {first.name}",
        rows,
        claims,
        partial(hardness_curves, drawn, title=title),
        f"measured (published); {len(first.topics)} topics, {first.documents:,} "
        f"documents, {first.features:,} features; processor seconds a topic",
        {"tables": [asdict(table) for table in tables]},
    )


def _cells(row: examples.Row) -> dict[str, str]:
    cells = {}
    for key, form in examples.FORMS.items():
        published = row.paper.get(key)
        beside = "" if published is None else f" ({published:{form}})"
        cells[key] = f"{row.means[key]:{form}}{beside}"
    return cells


def _precision(row: Row, baseline: Row) -> dict[str, str | float | None]:
    cells: dict[str, str | float | None] = {
        "method": row.method,
        "C": row.C,
        "center": row.center,
    }
    for rank in RANKS:
        if rank <= len(row.precision):
            cells[f"π({rank})"] = row.precision[rank - 1]
    pairs = zip(row.precision, baseline.precision, strict=True)
    return cells | {
        "AvgP": row.measures["average_precision"],
        "coverage": row.measures["coverage"],
        "ranks above svm": sum(own > other for own, other in pairs),
    }


EXPERIMENTS: dict[str, Callable[[Path | None], Reproduction]] = {
    "clicks": of_clicks,
    "graphs-rcv1": of_graphs,
    "ltr-cranfield": of_service,
    "ltr-mq2008": of_learners,
    "mmp-reuters": of_rounds,
    "plm-reuters": of_preferences,
    **{f"qbme-{name}": partial(of_examples, name) for name in examples.TASKS},
    "rare-lshtc": of_rare,
    "retrieval-models": of_models,
    "taxonomy-lshtc": of_strategies,
}
DRAWN_AS_SVG = {"mmp-reuters", "plm-reuters", "rare-lshtc"}  # without matplotlib
