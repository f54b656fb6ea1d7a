"""The two options that bring machines to a command."""

from __future__ import annotations

from typing import Annotated

import typer

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
