"""Serve a project: an address, until somebody stops it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def serve_project(
    folder: Path, host: str, port: int, say: Callable[[str], None]
) -> None:
    """Serve the workbench of a project; ``say`` is told the address."""
    import uvicorn

    from classmark.web.app import create_app
    from classmark.workbench.desk.desk import Desk

    with Desk(folder) as desk:
        config = uvicorn.Config(
            create_app(desk), host=host, port=port, log_level="warning"
        )
        server = uvicorn.Server(config)
        say(f"Classmark serves {folder} at http://{host}:{port}/")
        server.run()
