"""The commands that keep a copy of a project and bring it back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classmark.cli.options import AsJson, Url, open_project, store_of


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project.")],
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="A new file: .zip or .jsonl")
    ],
    as_json: AsJson = False,
) -> None:
    """Keep a copy of a project in one file, while others work with it."""
    from classmark.cli.output import show_table
    from classmark.workbench.files.backup import back_up

    with open_project(folder) as opened:
        show_table(back_up(opened, path), as_json=as_json)


def restore(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of classmark backup.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The new directory.")],
    store: Url = None,
    as_json: AsJson = False,
) -> None:
    """Make a new project directory of a backup."""
    from classmark.cli.output import show_table
    from classmark.workbench.files.backup import restore as restored

    show_table(restored(path, folder, store_of(store, folder)), as_json=as_json)
