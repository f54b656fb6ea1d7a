"""The project as a whole: what is in it, and the description of all calls."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from pydantic import Field

from classmark import __version__
from classmark.web.api.calls import calls, schemas_of_refusals
from classmark.web.api.shapes import Answer
from classmark.web.people import OpenDesk, Reader
from classmark.workbench.team.desk import Desk

router = calls("project")
ABOUT = """Everything that the pages of a Classmark project do.

A program shows its token with every call: `Authorization: Bearer TOKEN`. What is
refused is answered with `{"error": {"message": …, "remedy": …}}`, and nothing of it was
written. The calls below `/v1` are Annif's, for programs that speak with it."""


class Info(Answer):
    """What is in the project."""

    name: str = Field(examples=["Town library"])
    me: str = Field(description="under which name your acts are logged")
    role: str = Field(examples=["classifier"])
    counts: dict[str, int] = Field(examples=[{"documents": 3150, "categories": 1139}])
    about: dict[str, str | None] = Field(
        description="how it learns, and the model in service",
        examples=[{"learner": "plm"}],
    )


@router.get("/project")
def project(desk: OpenDesk, who: Reader) -> Info:
    """What is in the project, and who you are in it."""
    return Info(
        name=desk.project.settings.name,
        me=who.name,
        role=who.role,
        counts=_counts(desk),
        about=_about(desk),
    )


@router.get("/openapi.json", include_in_schema=False)
def openapi(request: Request, _: Reader) -> JSONResponse:
    """The description of all calls."""
    return JSONResponse(described(request.app))


def _counts(desk: Desk) -> dict[str, int]:
    state = desk.state
    decided, aside = len(state.labels), state.n_aside
    return {
        "documents": len(state.ids),
        "decided": decided,
        "aside": aside,
        "waiting": max(0, len(state.ids) - decided - aside),
        "categories": len(desk.categories),
    }


def _about(desk: Desk) -> dict[str, str | None]:
    settings, model = desk.project.settings, desk.project.models.current()
    return {
        "analyzer": settings.text.analyzer,
        "weighting": settings.learning.weighting,
        "learner": settings.learning.learner,
        "strategy": settings.learning.strategy,
        "model": None if model is None else model.name,
    }


def described(app: FastAPI) -> dict[str, Any]:
    """All calls in OpenAPI: ours and Annif's, with nothing but what is answered."""
    if not hasattr(app.state, "described"):
        app.state.described = _description(app)
    found: dict[str, Any] = app.state.described
    return found


def _description(app: FastAPI) -> dict[str, Any]:
    told = get_openapi(
        title="Classmark",
        version=__version__,
        description=ABOUT,
        routes=app.routes,
        tags=[{"name": "annif", "description": "Annif's calls, in its shapes"}],
    )
    for calls_at in told["paths"].values():
        for call in calls_at.values():
            call["responses"].pop("422", None)
            call["security"] = [{"token": []}]
    schemas = told["components"]["schemas"] | schemas_of_refusals()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    told["components"]["schemas"] = dict(sorted(schemas.items()))
    told["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"}
    }
    return told
