"""The options that bring machines to a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from classmark.machines.cluster import Machines

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


@contextmanager
def machines_for(
    workers: int | None, on: str | None, *, dashboard: bool = False
) -> Iterator[Machines | None]:
    """Bring the machines that are asked for, and say where they are to be seen."""
    from classmark.workbench import cluster

    with cluster.machines_for(workers, on, dashboard=dashboard) as machines:
        if machines is not None and machines.dashboard is not None:
            typer.echo(f"the workers are to be seen at {machines.dashboard}", err=True)
        yield machines
