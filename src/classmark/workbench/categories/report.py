"""What is the project's taxonomy like, and would a classifier gain by pruning it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import rows_from
from classmark.evaluation.figures import power_laws
from classmark.hierarchies.held_out import NodeLearner
from classmark.hierarchies.meta import (
    NodeTrials,
    crossed,
    judge_meta,
    learn_meta,
    shipped,
    try_nodes,
)
from classmark.hierarchies.places import places_of
from classmark.hierarchies.pruning import PruningOptions, pruning_report
from classmark.hierarchies.report import (
    WORDS,
    feature_counts,
    taxonomy_report,
)
from classmark.problems import Mistake, worded
from classmark.workbench.learning.fit import TEST, labelled, new_vectorizer, part_of
from classmark.workbench.project import Project
from classmark.workbench.results import FACTS, Cell, Column, Evaluated, Table, plain
from classmark.workbench.settings import MeaningSettings

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from classmark.taxonomy.tree import Taxonomy


PLOT = "taxonomy.svg"
SHOWN_NODES = 15  # of which the second theorem is shown
SCALES = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1e3, " thousand"))
NEEDED = (
    Column("category", wrap=True),
    Column("daughters"),
    Column("documents"),
    Column("logistic", "logistic\nregression"),
    Column("naive_bayes", "naive\nBayes"),
    Column("n_min", "n_min\n(words)"),
    Column("n_max", "n_max\n(words)"),
    Column("features", brief=False),
)
META_NOTE = (
    "{nodes} trials (all documents, and halves), in {path}. Shipped and learned "
    "are compared on this project's nodes, learned by folds: on nodes it did not learn "
    "from. Clear: the gain reaches its standard error; gains are documents, over nodes "
    "tried one by one. To use it: classmark taxonomy prune --meta {path}, and "
    "classmark train --strategy pruned --policy meta:{path}"
)
NEEDED_NOTE = (
    "How many times its documents a category needs before the second theorem vouches "
    "for the decision among its daughters: at a risk of 5 %, the classifier then errs "
    "no more often than one that has read endless documents, but for documents whose "
    "two best daughters score about alike. Where a category needs more than it has "
    "(× above 1), the theorem promises nothing: compare categories by it, and trust "
    "the held-out errors above. n_min, n_max: words (weighted) of the smallest and of "
    "the largest daughter."
)
SHOWN_LEVELS = 4  # of which the features by rank are drawn


def report_taxonomy(project: Project) -> Evaluated:
    """Describe the taxonomy, with the documents that are not set apart for testing.

    Without labelled documents only the tree is described, and nothing is drawn. The
    features that are counted are words: meaning is left out.
    """
    tree, X, y = _material(project, MeaningSettings())
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


def bounds_table(bounds: Sequence[Mapping[str, Any]] | None) -> list[Table]:
    """The second theorem at the nodes with most documents; none without documents.

    bounds : those of a report, as plain values.
    """
    rows: list[dict[str, Cell]] = [
        {
            "category": "(top)" if each["node"] is None else str(each["node"]),
            **{name: each[name] for name in ("daughters", "documents", "features")},
            **{name: round(each[name], 1) for name in ("n_min", "n_max")},
            **{name: _needed(each, name) for name in ("logistic", "naive_bayes")},
        }
        for each in (bounds or ())[:SHOWN_NODES]
    ]
    if not rows:
        return []
    first = (
        f"The {len(rows)} of {len(bounds or ())} inner categories with most documents"
    )
    note = NEEDED_NOTE if len(rows) == len(bounds or ()) else f"{first}. {NEEDED_NOTE}"
    return [
        Table("Documents that a decision among daughters needs", rows, note, NEEDED)
    ]


def _needed(bound: Mapping[str, Any], learner: str) -> str:
    """What the theorem says of one learner at a node."""
    times, risk = bound[f"{learner}_needs"], bound[learner]
    if times <= 1:
        return f"enough (risk {risk:.2g})"
    if not isfinite(times):
        return "no documents"
    for power, name in SCALES:
        if times >= power:
            return f"× {times / power:,.3g}{name}"
    return f"× {times:.3g}"


def train_meta(
    project: Project,
    path: Path,
    others: Sequence[Path] = (),
    *,
    alone: bool = False,
    base: str = "svm",
) -> Evaluated:
    """Try the nodes of taxonomies one by one, learn which to prune, write it to a file.

    others : folders of further projects;  alone : do not go on from the shipped
    classifier. Reported is how well the project's nodes are foretold: by the shipped
    one, and by what is learned from the others and from four fifths of the nodes.
    """
    trials = {project.settings.name: _node_trials(project, base)}
    for folder in others:
        with Project(folder) as other:
            name = f"{other.settings.name}, {folder}"
            trials[name] = _node_trials(other, base)
    start = None if alone else shipped()
    learn_meta(trials, start).save(path)
    own = project.settings.name
    judged = {
        "shipped": judge_meta(shipped(), trials[own]),
        "learned": judge_meta(crossed(trials, own, start), trials[own]),
    }
    rows: list[dict[str, Cell]] = [
        {"what": name, **{who: judged[who][name] for who in judged}}
        for name in judged["shipped"]
    ]
    nodes = {name: len(each) for name, each in trials.items()}
    note = META_NOTE.format(nodes=sum(nodes.values()), path=path)
    facts = {"file": str(path), "nodes": nodes, "foretold": judged}
    return Evaluated(
        Table(f"Which nodes of {own} to prune", rows, note), None, facts=facts
    )


def _node_trials(project: Project, base: str) -> NodeTrials:
    tree, X, y = _material(project)
    if X is None:
        raise _unlabelled()
    return try_nodes(tree, X, y, NodeLearner(base))


def _unlabelled() -> Mistake:
    return Mistake(
        "there are no labelled documents to try a pruned tree on: import some with "
        f"labels {worded('(classmark import FILE)')}"
    )


def policy_with(policy: str | None, meta: Path | None) -> str:
    """The policy of ``prune_taxonomy`` that two options stand for."""
    if meta is not None and policy not in (None, "meta"):
        raise Mistake(
            f"--meta goes with --policy meta, not with {policy}: leave one out"
        )
    return (policy or "bound") if meta is None else f"meta:{meta}"


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
        raise _unlabelled()
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


def _material(
    project: Project, meaning: MeaningSettings | None = None
) -> tuple[Taxonomy, csr_matrix | None, list[Any]]:
    """The tree, and rows and categories of the documents to learn from.

    meaning : the source of vectors, or the project's.
    """
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
    vectors = project.meaning(meaning)
    if vectors is not None:
        vectors.compute(texts)
    X = new_vectorizer(project, meaning=meaning).fit_transform(texts)
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
