"""Logging what was opened from a search, on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from classmark.cli.options import HERE, AsJson, Where, open_project


def click(
    impression: Annotated[
        int, typer.Argument(help="The number a logged search printed.")
    ],
    document: Annotated[
        str, typer.Argument(help="What was opened: its id, or its position.")
    ],
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Log that a document was opened from a search that was logged."""
    from classmark.cli.output import say, show_json
    from classmark.workbench.search.clicks import log_click

    with open_project(project) as opened:
        logged = log_click(opened.store, impression, document)
    if as_json:
        show_json(logged._asdict())
    else:
        say(
            f"{logged.document}, position {logged.position}, was opened from "
            f"impression {logged.impression}"
        )
