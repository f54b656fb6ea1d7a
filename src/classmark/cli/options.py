"""Options that several commands take."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.machines.cluster import Machines
    from classmark.workbench.project import Project
    from classmark.workbench.settings import StoreSettings


Workers = Annotated[
    int | None,
    typer.Option(metavar="N", help="Spread the work over N processes of this machine."),
]
On = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Spread it over the machines of a Dask scheduler: dask://host:8786",
    ),
]
Dashboard = Annotated[
    bool, typer.Option("--dashboard", help="Show what the workers do, in a browser.")
]


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
AllColumns = Annotated[
    bool, typer.Option("--all", help="Show every column, and texts in full.")
]
Where = Annotated[
    Path,
    typer.Option("--project", "-p", envvar="CLASSMARK_PROJECT", help="The project."),
]
Format = Annotated[
    str | None, typer.Option("--format", help="The file's format; else by its name.")
]
HERE = Path()


def open_project(folder: Path) -> Project:
    """Open a project for one command."""
    from classmark.workbench.project import Project

    return Project(folder)


@contextmanager
def machines_for(
    workers: int | None, on: str | None, *, dashboard: bool = False
) -> Iterator[Machines | None]:
    """Start workers, or go to those that are there; None where nobody asked for any.

    What is spread inside (``classmark.spreading``) is spread over them.
    """
    if workers is not None and on is not None:
        raise Mistake("--workers starts machines, --on names them: give one of both")
    if dashboard and workers is None:
        raise Mistake("--dashboard is of the machines that --workers starts: give it")
    if workers is None and on is None:
        yield None
        return
    from classmark.machines.cluster import Machines, require_dask
    from classmark.spreading import spread_by

    require_dask()
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # we say it ourselves
    if on is not None:
        opened = Machines.at(on)
    else:
        opened = Machines.local(workers or 0, dashboard=dashboard)
    with opened as machines, spread_by(machines):
        if machines.dashboard is not None:
            typer.echo(f"the workers are to be seen at {machines.dashboard}", err=True)
        yield machines


Url = Annotated[
    str | None,
    typer.Option(
        "--store", help="Keep it in PostgreSQL: postgresql://user@host/database"
    ),
]


def store_of(url: str | None, folder: Path) -> StoreSettings:
    """Where the store of a new project is to be: on a server, or in its folder."""
    from classmark.workbench.settings import StoreSettings, store_at

    return StoreSettings() if url is None else store_at(url, folder.resolve().name)
