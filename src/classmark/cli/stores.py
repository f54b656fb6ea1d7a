"""Where is the store of a new project to be?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from classmark.workbench.settings import StoreSettings

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
