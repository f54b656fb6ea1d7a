"""Serve the workbench, and who may use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project.")],
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8000,
) -> None:
    """Serve the workbench of a project in the browser."""
    from classmark.cli.output import say
    from classmark.web.serving import serve_project

    serve_project(folder, host, port, say)
