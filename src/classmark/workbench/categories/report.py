"""What is the project's taxonomy like, and would a classifier gain by pruning it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
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
    RARE,
    TaxonomyReport,
    feature_counts,
    taxonomy_report,
)
from classmark.language import N_, _, decimal, general, joined, percent, whole
from classmark.problems import Mistake, refusal, worded
from classmark.workbench.learning.fit import TEST, labelled, part_of
from classmark.workbench.learning.unfitted import new_vectorizer
from classmark.workbench.meaning import require_vectors
from classmark.workbench.project import Project
from classmark.workbench.results import FACTS, Cell, Evaluated, Table, plain
from classmark.workbench.settings import MeaningSettings

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from classmark.taxonomy.tree import Taxonomy


PLOT = "taxonomy.svg"
META_NOTE = (
    "{nodes} trials (all documents, and halves), in {path}. Shipped and learned "
    "are compared on this project's nodes, learned by folds: on nodes it did not learn "
    "from. Clear: the gain reaches its standard error; gains are documents, over nodes "
    "tried one by one. To use it: classmark taxonomy prune --meta {path}, and "
    "classmark train --strategy pruned --policy meta:{path}"
)
FLAT = N_("It is proven that at most %(share)s go wrong without the tree.")
DOWN = N_("It is proven that at most %(share)s go wrong down the tree.")
GOOD_FIT = 0.8  # r² from which a power law is told
SHOWN_LEVELS = 4  # of which the features by rank are drawn


def report_taxonomy(project: Project) -> Evaluated:
    """Describe the taxonomy, with the documents that are not set apart for testing.

    Without labelled documents only the tree is described, and nothing is drawn. The
    features that are counted are words: meaning is left out.
    """
    tree, X, y = _material(project, MeaningSettings())
    report = taxonomy_report(tree, X, None if X is None else y)
    rows: list[dict[str, Cell]] = [
        {"what": what, "value": sentence}
        for what, sentence in sentences(report).items()
        if sentence
    ]
    title = _("Taxonomy of %(name)s", name=project.settings.name)
    table = Table(title, rows, report.why, FACTS)
    plot = None if X is None else _plotted(project, tree, X, y)
    facts = {field.name: plain(report[field.name]) for field in fields(report)}
    return Evaluated(table, plot, facts=facts)


def sentences(report: TaxonomyReport) -> dict[str, str]:
    """What the figures of a report say, by what they are about; "" if nothing."""
    return {
        _("categories"): _of_categories(report),
        _("documents"): _of_documents(report),
        _("work"): _of_work(report),
        _("held-out error"): _of_errors(report),
        _("theory"): _of_theory(report),
    }


def _of_categories(report: TaxonomyReport) -> str:
    if report.nodes == report.roots:
        flat = N_("The taxonomy has %(n)s categories, none above another.")
        return _(flat, n=whole(report.nodes))
    return _(
        "The taxonomy has %(nodes)s categories: %(roots)s at the top, %(leaves)s "
        "without subcategories, %(depth)s levels below the top. A category with "
        "subcategories has %(mean)s of them on average and %(most)s at most; "
        "%(single)s have only one.",
        nodes=whole(report.nodes),
        roots=whole(report.roots),
        leaves=whole(report.leaves),
        depth=whole(report.depth),
        mean=decimal(report.mean_branching, 1),
        most=whole(report.max_branching),
        single=whole(report.single_daughters),
    )


def _of_documents(report: TaxonomyReport) -> str:
    if report.documents is None:
        return ""
    parts = [
        _(
            "%(documents)s documents contain %(features)s different terms.",
            documents=whole(report.documents),
            features=whole(report.features or 0),
        )
    ]
    if report.empty_leaves:
        empty = N_("%(n)s leaves have no document.")
        parts.append(_(empty, n=whole(report.empty_leaves)))
    else:
        parts.append(_("Every leaf has a document."))
    if report.rare_leaves is not None:
        few = N_("%(share)s of the leaves have at most %(n)s.")
        parts.append(_(few, share=percent(report.rare_leaves), n=RARE))
    if (law := report.class_sizes) is not None and law.fit >= GOOD_FIT:
        falls = N_("Ordered by size, a leaf at twice the rank has %(share)s of them.")
        parts.append(_(falls, share=percent(2**-law.exponent)))
    return joined(*parts, by=" ")


def _of_work(report: TaxonomyReport) -> str:
    parts = [
        _(
            "To classify a document, %(flat)s categories are scored without the tree, "
            "and %(top_down)s down the tree.",
            flat=whole(report.cost_flat),
            top_down=whole(report.cost_top_down),
        )
    ]
    if report.size_flat is not None and report.size_top_down is not None:
        sizes = N_("The models have %(flat)s and %(top_down)s weights.")
        values = whole(report.size_flat), whole(report.size_top_down)
        parts.append(_(sizes, flat=values[0], top_down=values[1]))
    if report.condition_holds:
        parts.append(_("The way sizes fall also proves that the second is smaller."))
    return joined(*parts, by=" ")


def _of_errors(report: TaxonomyReport) -> str:
    if report.error_flat is None or report.error_top_down is None:
        return ""
    measured = _(
        "On test documents, %(flat)s are placed wrongly without the tree, and "
        "%(top_down)s down the tree (with %(base)s at the nodes).",
        flat=percent(report.error_flat, 1),
        top_down=percent(report.error_top_down, 1),
        base=report.base,
    )
    if report.chance is None:
        return measured
    chance = N_("A difference of this size arises by chance with p = %(p)s.")
    return joined(measured, _(chance, p=general(report.chance, 2)), by=" ")


def _of_theory(report: TaxonomyReport) -> str:
    parts = []
    if report.bound_flat is not None and report.bound_top_down is not None:
        bounds = {FLAT: report.bound_flat, DOWN: report.bound_top_down}
        parts += [
            _(sentence, share=percent(bound.total))
            for sentence, bound in bounds.items()
            if bound.total < 1
        ] or [_("No limit on the errors can be proven: rely on the measured ones.")]
    if nodes := report.node_bounds or ():
        sure = sum(min(n.logistic_needs, n.naive_bayes_needs) <= 1 for n in nodes)
        enough = N_(
            "At %(n)s of the %(all)s categories with subcategories, there are enough "
            "documents for a theoretical guarantee."
        )
        parts.append(_(enough, n=whole(sure), all=whole(len(nodes))))
        if sure < len(nodes):
            parts.append(_("The others may work as well."))
    return joined(*parts, by=" ")


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
    return refusal(
        "there are no labelled documents to try a pruned tree on: import some "
        "with labels %(remedy)s",
        remedy=worded("(classmark import FILE)"),
    )


def policy_with(policy: str | None, meta: Path | None) -> str:
    """The policy of ``prune_taxonomy`` that two options stand for."""
    if meta is not None and policy not in (None, "meta"):
        raise refusal(
            "--meta goes with --policy meta, not with %(policy)s: leave one out",
            policy=policy,
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
    title = _(
        "Taxonomy of %(name)s without some inner categories (%(policy)s)",
        name=project.settings.name,
        policy=policy,
    )
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
    note = joined(trial.said, trial.explained, by="\n")
    return Evaluated(Table(title, rows, note), None, facts=facts)


def _material(
    project: Project, meaning: MeaningSettings | None = None
) -> tuple[Taxonomy, csr_matrix | None, list[Any]]:
    """The tree, and rows and categories of the documents to learn from.

    meaning : the source of vectors, or the project's.
    """
    tree = project.tree
    if not len(tree):
        raise refusal(
            "there are no categories: bring some in %(remedy)s",
            remedy=worded("with classmark taxonomy import FILE"),
        )
    records = [r for r in labelled(project) if part_of(r) != TEST]
    if not records:
        return tree, None, []
    texts = [project.text_of(record) for record in records]
    how = meaning or project.settings.meaning
    require_vectors(project, how, [record.id for record in records], texts)
    X = new_vectorizer(project, meaning=how).fit_transform(texts)
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


def _by_rank(values: Any) -> tuple[Any, Any]:
    """Ranks from 1 and the values above 0, the largest first."""
    sizes = np.sort(np.asarray(values))[::-1]
    sizes = sizes[sizes > 0]
    return np.arange(1, len(sizes) + 1), sizes
