"""The application: every page and call over one desk, behind one gate."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles

from classmark import __version__
from classmark.web import (
    annif,
    decide,
    events,
    history,
    inbox,
    like,
    people,
    progress,
    search,
    settings,
    taxonomy,
)
from classmark.web import files as exchange
from classmark.web.events import Listening
from classmark.web.guard.auth import Identity, Reader, Sessions
from classmark.web.guard.errors import PROGRAMS, Headers, Heads, handle_errors
from classmark.web.guard.gate import Doors, Gate
from classmark.web.guard.limits import RequestLimits, Tries

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk

FEATURES = (  # the busiest first: a request is compared with every route before its own
    decide,
    inbox,
    taxonomy,
    like,
    search,
    history,
    progress,
    exchange,
    settings,
    people,
    events,
    annif,
)


def create_app(desk: Desk, doors: Doors | None = None) -> FastAPI:
    """The workbench over one project; ``doors`` : how it is reached, else locally."""
    doors = doors or Doors()
    app = FastAPI(
        title="Classmark",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "auto_configure": False,
        },
    )
    state = app.state
    state.desk, state.doors, state.tries = desk, doors, Tries()
    state.sessions, state.identity = Sessions(), Identity(desk)
    state.listening = Listening()
    app.mount("/static", StaticFiles(directory=str(files("classmark.web") / "static")))
    app.add_api_route("/", home, include_in_schema=False)
    app.add_api_route("/openapi.json", settings.openapi, include_in_schema=False)
    for feature in FEATURES:
        for router in vars(feature).values():
            if isinstance(router, APIRouter):
                documented = router.prefix.startswith(PROGRAMS)
                app.include_router(router, include_in_schema=documented)
    handle_errors(app, secure=doors.secure)
    app.add_middleware(Heads)
    app.add_middleware(
        Gate, doors=doors, sessions=state.sessions, identity=state.identity
    )
    app.add_middleware(RequestLimits)
    app.add_middleware(Headers, secure=doors.secure)
    return app


async def home(_: Reader) -> RedirectResponse:
    """Go to the next document."""
    return RedirectResponse("/decide", 303)
