"""Where in the tree does a document belong for sure?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from classmark.cli.options import HERE, AllColumns, AsJson, Where, open_project


def place(
    documents: Annotated[
        list[str] | None, typer.Argument(metavar="[DOCUMENT]...", help="Their ids.")
    ] = None,
    project: Where = HERE,
    precision: Annotated[
        float, typer.Option(help="How many of those placed are to be right (0 to 1).")
    ] = 0.95,
    top: Annotated[
        int, typer.Option("-n", help="Of those waiting so many; 0 for all.")
    ] = 20,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Put documents at a leaf, higher up, or leave them to the expert."""
    from classmark.cli.output import in_percent, show_table
    from classmark.workbench.deciding.place import place as place_documents
    from classmark.workbench.small_work import kernels_for

    with (
        open_project(project) as opened,
        kernels_for(opened, len(documents or ()) or top or opened.store.waiting()),
    ):
        table = place_documents(opened, documents or (), precision, top)
    if not as_json:
        rows = [
            row | {"probability": in_percent(float(row["probability"] or 0.0))}
            for row in map(dict, table.rows)
        ]
        table = replace(table, rows=rows)
    show_table(table, as_json=as_json, everything=everything)
