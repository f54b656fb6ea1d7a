"""Where the tree lacks a place: propose daughters of a category, and accept one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from classmark.cli.options import HERE, AllColumns, AsJson, Where, open_project

Node = Annotated[str, typer.Argument(metavar="NODE", help="The category's id.")]


def propose(
    node: Node,
    clusters: Annotated[
        int | None, typer.Option(help="How many; without it, by silhouette.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="kmeans, mixture or agglomerative")
    ] = "kmeans",
    project: Where = HERE,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Propose daughters of a category, from the documents in it."""
    from classmark.cli.output import show_json, show_table
    from classmark.workbench.categories import propose as proposing

    with open_project(project) as opened:
        proposals = proposing.propose(opened, node, k=clusters, method=method)
    if as_json:
        show_json([asdict(proposal) for proposal in proposals])
    else:
        show_table(proposing.as_table(node, proposals), everything=everything)


def accept(
    node: Node,
    number: Annotated[int, typer.Argument(help="Of the proposal.")],
    id_: Annotated[str | None, typer.Option("--id", help="Another id.")] = None,
    label: Annotated[str | None, typer.Option(help="Another label.")] = None,
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Make a proposed daughter a category; its documents move there."""
    from classmark.cli.output import show_logged
    from classmark.workbench.categories import propose as proposing
    from classmark.workbench.learning.live import and_learn

    with open_project(project) as opened:
        done = proposing.accept(opened, node, number, id_=id_, label=label)
        show_logged(and_learn(opened, done), as_json=as_json)
