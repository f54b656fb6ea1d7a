"""The application: pages over one desk."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles

from classmark.problems import Mistake
from classmark.web.pages import decide
from classmark.web.rendering import HEADERS, page

if TYPE_CHECKING:
    from starlette.middleware.base import RequestResponseEndpoint
    from starlette.responses import Response

    from classmark.workbench.desk.desk import Desk


def create_app(desk: Desk) -> FastAPI:
    """The workbench over one project."""
    app = FastAPI(title="Classmark", docs_url=None, redoc_url=None)
    app.state.desk = desk
    app.mount("/static", StaticFiles(directory=str(files("classmark.web") / "static")))
    app.include_router(decide.router)

    @app.get("/")
    def home() -> RedirectResponse:
        return RedirectResponse("/decide")

    @app.exception_handler(Mistake)
    def mistaken(request: Request, mistake: Mistake) -> Response:
        shown = page(request, "", "mistake.html", title="Not done", said=str(mistake))
        shown.status_code = 400
        return shown

    @app.middleware("http")
    async def guarded(request: Request, onward: RequestResponseEndpoint) -> Response:
        response = await onward(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return app
