"""Commands for the taxonomy: show, import and export, edit, report, propose."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from classmark.cli.options import (
    ALL,
    FOLDER,
    FORMAT,
    JSON,
    argument,
    command,
    deferred,
    flag,
    option,
)
from classmark.cli.output import Text, View
from classmark.workbench.results import Logged, Table

with deferred():
    from classmark.workbench.categories import browse, edit
    from classmark.workbench.categories import build as building
    from classmark.workbench.categories import propose as proposing
    from classmark.workbench.categories import report as reporting
    from classmark.workbench.files import exporting, importing
    from classmark.workbench.project import Project

ID = argument("The category's id.", "ID")
NODE = argument("The category's id.", "NODE")
LABEL = option("What people call it.", "")
PARENT = option("The id of the category above.")
NOTE = option("What belongs there.", "")


@command(ALL | JSON)
def show(
    project: Project = FOLDER,
    below: str | None = argument("Only below this id.", None, None),
) -> Table:
    """Show the tree of categories, with their documents."""
    return browse.show_taxonomy(project, below)


@command(JSON)
def import_(
    project: Project = FOLDER,
    path: Path = argument("CSV, pairs, SKOS, Annif's TSV …", "FILE"),
    format_: str | None = FORMAT,
    break_cycles: bool = flag("Cut edges that close a cycle.", "--break-cycles"),
    language: str | None = option(
        "Of labels in several languages, as in fi; else the project's."
    ),
) -> View | Table:
    """Bring in a taxonomy."""
    if not break_cycles:
        return importing.import_taxonomy(project, path, format_, language=language)
    cut: list[tuple[str, str]] = []
    table = importing.import_taxonomy(
        project, path, format_, cut=cut, language=language
    )
    return View({**table.facts(), "cut": cut}, [table])


@command(JSON)
def export(
    project: Project = FOLDER,
    path: Path = argument(".csv, .ttl or .rdf", "FILE"),
) -> Table:
    """Write the taxonomy to a file."""
    return exporting.export_taxonomy(project, path)


@command(JSON)
def add(
    id_: str = ID,
    label: str = LABEL,
    parent: str | None = PARENT,
    note: str = NOTE,
    guideline: str = option("How experts decide what belongs there.", ""),
    project: Project = FOLDER,
) -> Logged:
    """Add a category."""
    new = edit.new_category(id_, label, parent, note, guideline)
    return edit.add(project, new)


@command(JSON)
def rename(
    id_: str = ID,
    label: str | None = option("Its new label."),
    new_id: str | None = option("Its new id.", None, "--id"),
    project: Project = FOLDER,
) -> Logged:
    """Give a category another label or another id; its documents stay with it."""
    return edit.rename(project, id_, label=label, new_id=new_id)


@command(JSON)
def describe(
    id_: str = ID,
    note: str | None = option("What belongs there."),
    guideline: str | None = option("How experts decide what belongs there."),
    notation: str | None = option("Its class mark."),
    synonym: list[str] | None = option("Another name; may be repeated. All others go."),
    project: Project = FOLDER,
) -> Logged:
    """Say anew what belongs to a category, and how experts decide; "" empties it."""
    options = {"note": note, "guideline": guideline, "notation": notation}
    changes = {name: text for name, text in options.items() if text is not None}
    return edit.describe(project, id_, changes, synonym)


@command(JSON)
def merge(
    id_: str = ID,
    into: str = option("The category that takes all over.", ...),
    project: Project = FOLDER,
) -> Logged:
    """Join a category to another: its documents and what is below it go there."""
    return edit.merge(project, id_, into)


@command(JSON)
def split(
    id_: str = ID,
    new: str = option("The id of the new category.", ...),
    documents: str = option("Ids with commas between, or @FILE with one a line.", ...),
    label: str = LABEL,
    parent: str | None = PARENT,
    note: str = NOTE,
    project: Project = FOLDER,
) -> Logged:
    """Make a new category of some documents of another."""
    category = edit.new_category(new, label, parent, note)
    return edit.split(project, id_, category, edit.listed_documents(documents))


@command(JSON)
def move(
    id_: str = ID,
    under: str | None = option("The new parent; without it, to the top."),
    project: Project = FOLDER,
) -> Logged:
    """Put a category, with all below it, under another one."""
    return edit.move(project, id_, under)


@command(JSON)
def retire(project: Project = FOLDER, id_: str = ID) -> Logged:
    """Let no new document come to a category; those that are there stay."""
    return edit.retire(project, id_)


@command(ALL | JSON)
def report(project: Project = FOLDER) -> View:
    """Say what the taxonomy is like, and whether flat or top-down suits it."""
    summary = reporting.report_taxonomy(project)
    plot = [] if summary.plot is None else [f"  plot: {summary.plot}\n"]
    facts = {**summary.facts, "plot": summary.plot}
    return View(facts, [summary.table, *plot])


@command(ALL | JSON)
def prune(
    policy: str | None = option(
        "Which nodes go: bound (if none is given), meta, random, flatten-top, "
        "flatten-bottom, flatten-alternate, flatten:LAYER."
    ),
    meta: Path | None = option("Of the policy meta: what taxonomy train-meta wrote."),
    share: float | None = option("At most this share of the inner nodes."),
    bold: bool = flag("Also where the gain is not sure.", "--bold"),
    base: str = option("At the nodes: svm, logistic or naive-bayes.", "svm"),
    project: Project = FOLDER,
) -> View:
    """Try a classifier without some inner nodes; the taxonomy stays as it is.

    train --strategy pruned trains a classifier on such a tree, by [learning] policy.
    """
    policy = reporting.policy_with(policy, meta)
    trial = reporting.try_pruning(project, policy, share=share, bold=bold, base=base)
    reasons = [
        Text(f"{removed['category']}: {removed['why']}", "  ", "    ")
        for removed in trial.facts["removed"]
    ]
    return View(trial.facts, [trial.table, *reasons])


@command(ALL | JSON)
def train_meta(
    path: Path = argument("The file to write.", "FILE"),
    also: list[Path] | None = option("Another project to learn from; may be repeated."),
    alone: bool = flag("Do not go on from the classifier that is shipped.", "--alone"),
    base: str = option("At the nodes: svm, logistic or naive-bayes.", "svm"),
    project: Project = FOLDER,
) -> View:
    """Learn which inner nodes to prune, by trying the tree without each of them."""
    done = reporting.train_meta(project, path, also or (), alone=alone, base=base)
    return View(done.facts, [done.table])


@command(ALL | JSON)
def propose(
    node: str = NODE,
    clusters: int | None = option("How many; without it, by silhouette."),
    method: str = option("kmeans, mixture (of words alone) or agglomerative", "kmeans"),
    project: Project = FOLDER,
) -> View:
    """Propose daughters of a category, from the documents in it."""
    proposals = proposing.propose(project, node, k=clusters, method=method)
    facts = [asdict(proposal) for proposal in proposals]
    return View(facts, [proposing.as_table(node, proposals)])


@command(ALL | JSON)
def build(
    by: str = option("content, or co-occurrence: what brings together.", "content"),
    below: str | None = option("Group what is right below this id; else the top."),
    branching: int = option("Daughters that a category may have.", 10),
    accept: bool = flag("Take the tree that was shown last.", "--accept"),
    project: Project = FOLDER,
) -> View | Logged:
    """Build a tree over categories that have none, and show it; --accept takes it."""
    if accept:
        return building.take_tree(project)
    groups = building.build(project, by, below=below, branching=branching)
    facts = [asdict(group) for group in groups]
    return View(facts, [building.as_table(below, groups)])


@command(JSON)
def accept(
    node: str = NODE,
    number: int = argument("Of the proposal."),
    id_: str | None = option("Another id.", None, "--id"),
    label: str | None = option("Another label."),
    project: Project = FOLDER,
) -> Logged:
    """Make a proposed daughter a category; its documents move there."""
    return proposing.accept(project, node, number, id_=id_, label=label)
