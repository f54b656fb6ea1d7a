"""The application: every page and call over one desk, behind one gate."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.resources import files
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles

from classmark import __version__
from classmark.web import api, pages
from classmark.web.api.events import Listening
from classmark.web.api.project import openapi
from classmark.web.guard.answering import answer_for
from classmark.web.guard.doors import Doors
from classmark.web.guard.gate import Gate
from classmark.web.guard.headers import Headers
from classmark.web.guard.heads import Heads
from classmark.web.guard.identity import Identity
from classmark.web.guard.limits import Limits
from classmark.web.guard.sessions import Sessions
from classmark.web.guard.tries import Tries
from classmark.web.people import Reader

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk

BUSIEST = ("suggesting", "deciding", "decide")  # every router before is asked in vain


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
    app.add_api_route("/openapi.json", openapi, include_in_schema=False)
    for router in routers_of(api):
        app.include_router(router)
    for router in routers_of(pages):
        app.include_router(router, include_in_schema=False)
    answer_for(app, secure=doors.secure)
    app.add_middleware(Heads)
    app.add_middleware(
        Gate, doors=doors, sessions=state.sessions, identity=state.identity
    )
    app.add_middleware(Limits)
    app.add_middleware(Headers, secure=doors.secure)
    return app


async def home(_: Reader) -> RedirectResponse:
    """Go to the next document."""
    return RedirectResponse("/decide", 303)


def routers_of(package: ModuleType) -> Iterator[APIRouter]:
    """The router of every module of a package that has one; the busiest first."""
    names = [found.name for found in iter_modules(package.__path__)]
    for name in sorted(names, key=lambda name: name not in BUSIEST):
        module = import_module(f"{package.__name__}.{name}")
        router = getattr(module, "router", None)
        if router is not None:
            yield router
