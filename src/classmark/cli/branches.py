"""The shape of the tree on the command line: what it is like, what pruning would do."""

from __future__ import annotations

from typing import Annotated

import typer

from classmark.cli.options import HERE, AllColumns, AsJson, Where, open_project


def report(
    project: Where = HERE, everything: AllColumns = False, as_json: AsJson = False
) -> None:
    """Say what the taxonomy is like, and whether flat or top-down suits it."""
    from classmark.cli.output import say, show_json, show_table
    from classmark.workbench.categories.report import report_taxonomy

    with open_project(project) as opened:
        summary = report_taxonomy(opened)
    if as_json:
        show_json({**summary.facts, "plot": summary.plot})
        return
    show_table(summary.table, everything=everything)
    if summary.plot is not None:
        say(f"  plot: {summary.plot}\n")


def prune(
    policy: Annotated[
        str, typer.Option(help="bound, meta or random: which nodes go.")
    ] = "bound",
    share: Annotated[
        float | None, typer.Option(help="At most this share of the inner nodes.")
    ] = None,
    bold: Annotated[
        bool, typer.Option("--bold", help="Also where the gain is not sure.")
    ] = False,
    base: Annotated[
        str, typer.Option(help="At the nodes: svm, logistic or naive-bayes.")
    ] = "svm",
    project: Where = HERE,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Try a classifier without some inner nodes; the taxonomy stays as it is.

    train --strategy pruned trains a classifier on such a tree, by [learning] policy.
    """
    from classmark.cli.output import show_json, show_table, tell
    from classmark.workbench.categories.report import try_pruning

    with open_project(project) as opened:
        trial = try_pruning(opened, policy, share=share, bold=bold, base=base)
    if as_json:
        show_json(trial.facts)
        return
    show_table(trial.table, everything=everything)
    for gone in trial.facts["removed"]:
        tell(f"{gone['category']}: {gone['why']}", "  ", "    ")
