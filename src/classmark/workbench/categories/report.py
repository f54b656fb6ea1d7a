"""What is the project's taxonomy like, and would a classifier gain by pruning it?"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import rows_from
from classmark.evaluation.figures import power_laws
from classmark.hierarchies.held_out import NodeLearner
from classmark.hierarchies.places import places_of
from classmark.hierarchies.pruning import PruningOptions, pruning_report
from classmark.hierarchies.report import (
    WORDS,
    feature_counts,
    taxonomy_report,
)
from classmark.problems import Mistake, worded
from classmark.workbench.learning.fit import TEST, labelled, new_vectorizer, part_of
from classmark.workbench.results import FACTS, Cell, Evaluated, Table, plain

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from classmark.taxonomy.tree import Taxonomy
    from classmark.workbench.project import Project


PLOT = "taxonomy.svg"
SHOWN_LEVELS = 4  # of which the features by rank are drawn


def report_taxonomy(project: Project) -> Evaluated:
    """Describe the taxonomy, with the documents that are not set apart for testing.

    Without labelled documents only the tree is described, and nothing is drawn.
    """
    tree, X, y = _material(project)
    report = taxonomy_report(tree, X, None if X is None else y)
    rows: list[dict[str, Cell]] = [
        {"what": row["what"], "value": _shown(row["value"])}
        for row in report.rows()
        if row["what"] != WORDS["why"]
    ]
    table = Table(f"Taxonomy of {project.settings.name}", rows, report.why, FACTS)
    plot = None if X is None else _plotted(project, tree, X, y)
    facts = {field.name: plain(report[field.name]) for field in fields(report)}
    return Evaluated(table, plot, facts=facts)


def try_pruning(
    project: Project,
    policy: str = "bound",
    *,
    share: float | None = None,
    bold: bool = False,
    base: str = "svm",
) -> Evaluated:
    """Prune with three quarters of the labelled documents, try it on the others.

    The taxonomy of the project stays as it is: pruning concerns the tree that a
    classifier works on.
    """
    options = PruningOptions(policy, share, bold)
    tree, X, y = _material(project)
    if X is None:
        raise Mistake(
            "there are no labelled documents to try a pruned tree on: import some with "
            f"labels {worded('(classmark import FILE)')}"
        )
    trial = pruning_report(tree, X, y, options, NodeLearner(base))
    title = f"Taxonomy of {project.settings.name}, pruned by {policy}"
    facts = {
        "before": plain(trial.before),
        "after": plain(trial.after),
        "p": trial.chance.p_value,
        "trained": trial.trained,
        "tested": trial.tested,
        "tried": trial.tried,
        "removed": [{"category": r.node, "why": r.why} for r in trial.removed],
        "said": trial.said,
        "explained": trial.explained,
    }
    rows: list[dict[str, Cell]] = trial.rows()
    note = "\n".join(filter(None, (trial.said, trial.explained)))
    return Evaluated(Table(title, rows, note), None, facts=facts)


def _material(project: Project) -> tuple[Taxonomy, csr_matrix | None, list[Any]]:
    """The tree, and rows and categories of the documents to learn from."""
    tree = project.tree
    if not len(tree):
        raise Mistake(
            "there are no categories: bring some in "
            f"{worded('with classmark taxonomy import FILE')}"
        )
    records = [r for r in labelled(project) if part_of(r) != TEST]
    if not records:
        return tree, None, []
    texts = [project.text_of(record) for record in records]
    X = new_vectorizer(project).fit_transform(texts)
    return tree, X, [list(record.labels) for record in records]


def _plotted(
    project: Project, tree: Taxonomy, X: csr_matrix, y: list[Any]
) -> Path | None:
    """Draw documents by rank of the leaf, and features by rank of the node.

    Nothing is drawn where there is no second rank.
    """
    places = places_of(tree, y)
    shape = feature_counts(places, rows_from(X))
    series = {"documents of a leaf": _by_rank(places.sizes)}
    for level in list(shape.laws)[:SHOWN_LEVELS]:
        name = f"features of a node, level {level}"
        series[name] = _by_rank(shape.features[shape.inner_at(level)])
    series = {name: curve for name, curve in series.items() if len(curve[0]) > 1}
    if not series:
        return None
    path = project.folder / "reports" / PLOT
    title = f"{project.settings.name}: how sizes fall with rank"
    power_laws(series, path, title, ("rank", "documents, features"))
    return path


def _shown(value: Any) -> str:
    """A figure as people read it, for a column that also holds words."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _by_rank(values: Any) -> tuple[Any, Any]:
    """Ranks from 1 and the values above 0, the largest first."""
    sizes = np.sort(np.asarray(values))[::-1]
    sizes = sizes[sizes > 0]
    return np.arange(1, len(sizes) + 1), sizes
