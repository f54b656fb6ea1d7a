"""The links between documents on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classmark.cli.options import HERE, AllColumns, AsJson, Where, open_project


def pagerank(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="Source and target a line, instead of a project."
        ),
    ] = None,
    project: Where = HERE,
    damping: Annotated[
        float, typer.Option(help="The chance that a reader follows a link.")
    ] = 0.85,
    personalise: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Readers begin here; repeatable."),
    ] = None,
    method: Annotated[str, typer.Option(help="power, gauss-seidel or eigen")] = "power",
    k: Annotated[int, typer.Option("-k", help="How many pages.")] = 20,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Rank documents by the links that lead to them."""
    from classmark.cli.output import show_table
    from classmark.workbench.search import links

    reader = links.Reader(damping, tuple(personalise or ()), method)
    if path is not None:
        table = links.rank_edges(path, reader, k)
        show_table(table, as_json=as_json, everything=everything)
        return
    with open_project(project) as opened:
        table = links.rank_documents(opened, reader, k)
    show_table(table, as_json=as_json, everything=everything)
