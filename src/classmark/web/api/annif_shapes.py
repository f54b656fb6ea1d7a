"""The shapes of Annif's calls, as its own description of them has them."""

from __future__ import annotations

import re
from math import exp
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from classmark.problems import DamagedFolder, Mistake
from classmark.web.api import calls
from classmark.web.api.calls import Documented, Handler, Missing, malformed
from classmark.web.api.shapes import NO_NUL, Id, Note, Text
from classmark.workbench.results import Explained
from classmark.workbench.team.desk import Desk

MOST = 32  # documents of one batch
TITLES = {400: "Bad Request", 404: "Project not found", 503: "Service unavailable"}
LANGUAGES = {
    "arabic": "ar", "catalan": "ca", "danish": "da", "dutch": "nl", "english": "en",
    "finnish": "fi", "french": "fr", "german": "de", "greek": "el", "hungarian": "hu",
    "italian": "it", "norwegian": "no", "porter": "en", "portuguese": "pt",
    "romanian": "ro", "russian": "ru", "spanish": "es", "swedish": "sv",
    "turkish": "tr",
}  # fmt: skip


class Unavailable(Mistake):
    """There is no model that could suggest anything."""


class Problem(BaseModel):
    """What was not done, and why."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"


def _problem(said: str) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": Problem.model_json_schema()}}
    return {"description": said, "content": content}


ALWAYS: Documented = calls.ALWAYS | {
    400: _problem("the call cannot be understood"),
    503: _problem("there is no model yet, or the store cannot be used"),
}
NOT_FOUND: Documented = {404: _problem("there is no such project")}

ProjectId = Annotated[str, Path(max_length=1000, examples=["town-library"])]
Limit = Annotated[int, Query(ge=0, le=1000)]
Threshold = Annotated[float, Query(ge=0, le=1)]


class AnnifCall(APIRoute):
    """A call whose refusals are of the kind application/problem+json."""

    def get_route_handler(self) -> Handler:
        """Wrap the handler so that mistakes become answers."""
        answer = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await answer(request)
            except RequestValidationError as problem:
                return _refused(400, malformed(problem))
            except HTTPException as problem:
                if problem.status_code != 400:
                    raise
                return _refused(400, str(problem.detail))
            except Missing as missing:
                return _refused(404, str(missing))
            except (Unavailable, DamagedFolder) as problem:
                return _refused(503, str(problem))
            except Mistake as mistake:
                return _refused(400, str(mistake))

        return guarded


def _refused(status: int, detail: str) -> Response:
    problem = Problem(title=TITLES[status], status=status, detail=detail)
    kind = "application/problem+json"
    return JSONResponse(problem.model_dump(), status, media_type=kind)


def annif_calls() -> APIRouter:
    """A router for Annif's calls."""
    return APIRouter(
        prefix="/v1", tags=["annif"], route_class=AnnifCall, responses=ALWAYS
    )


class Info(BaseModel):
    """What answers."""

    title: str
    version: str


class Vocabulary(BaseModel):
    """The categories."""

    vocab_id: str
    languages: list[str]
    size: int
    loaded: bool


class Vocabularies(BaseModel):
    """All vocabularies: one."""

    vocabs: list[Vocabulary]


class Backend(BaseModel):
    """What makes the suggestions."""

    backend_id: str


class Project(BaseModel):
    """The project that is served."""

    project_id: str
    name: str
    language: str
    backend: Backend
    vocab: Vocabulary
    vocab_language: str
    is_trained: bool
    modification_time: str | None = None


class Projects(BaseModel):
    """All projects: one."""

    projects: list[Project]


class Asked(BaseModel):
    """A form with a text; names that begin with metadata_ are passed over."""

    model_config = ConfigDict(extra="ignore")

    text: Text
    limit: Annotated[int, Field(ge=0, le=1000)] = 10
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.0
    language: Annotated[str, Field(max_length=100)] | None = None


class Document(BaseModel):
    """A text in a batch."""

    text: Text
    document_id: Note | None = None
    metadata: dict[str, str] = {}


class Batch(BaseModel):
    """Texts to suggest subjects for."""

    documents: Annotated[list[Document], Field(max_length=MOST)]


class Subject(BaseModel):
    """A subject that was found right."""

    uri: Id
    label: str = ""


class Indexed(BaseModel):
    """A text with its subjects."""

    text: Text = ""
    metadata: dict[str, str] = {}
    subjects: Annotated[list[Subject], Field(max_length=1000)] = []


Taught = Annotated[list[Indexed], Field(max_length=1000)]


class Result(BaseModel):
    """A subject for a text; score : from 0 to 1."""

    uri: str
    label: str
    notation: str | None
    score: float


class Results(BaseModel):
    """The subjects of a text, best first."""

    results: list[Result]


class BatchResults(Results):
    """The subjects of one text of a batch."""

    document_id: str | None = None


Code = Annotated[str, Field(min_length=2, max_length=3, pattern=NO_NUL)]


class Spoken(BaseModel):
    """A text, and the languages that it may be in."""

    text: Text
    languages: Annotated[list[Code], Field(min_length=1, max_length=5)]


class Found(BaseModel):
    """A language, and how sure it is."""

    language: str | None
    score: float


class Languages(BaseModel):
    """The languages of a text."""

    results: list[Found]


def slug(name: str) -> str:
    """A name as part of an address.

    >>> slug("Eskerton Town Library")
    'eskerton-town-library'
    """
    return re.sub(r"[^\w]+", "-", name.lower()).strip("-") or "project"


def language_of(analyzer: str) -> str:
    """The code of the language that an analyzer is for; ``und`` if it is for none.

    >>> language_of("words|lower|stop(english)"), language_of("words|lower")
    ('en', 'und')
    """
    named = re.findall(r"[a-z]+", analyzer.lower())
    return next((LANGUAGES[word] for word in named if word in LANGUAGES), "und")


def vocabulary_of(desk: Desk) -> Vocabulary:
    """The categories as a vocabulary."""
    settings, size = desk.project.settings, len(desk.categories)
    language = language_of(settings.text.analyzer)
    return Vocabulary(
        vocab_id=slug(settings.name), languages=[language], size=size, loaded=True
    )


def project_of(desk: Desk) -> Project:
    """The project as Annif describes one."""
    settings = desk.project.settings
    language = language_of(settings.text.analyzer)
    return Project(
        project_id=slug(settings.name),
        name=settings.name,
        language=language,
        backend=Backend(backend_id="classmark"),
        vocab=vocabulary_of(desk),
        vocab_language=language,
        is_trained=desk.project.model() is not None,
    )


def require_model(desk: Desk) -> None:
    """Refuse where nothing can be suggested yet."""
    if desk.project.model() is None:
        raise Unavailable("Project not trained: decide on documents, or train it first")


def result_of(desk: Desk, found: Explained) -> Result:
    """A suggestion in Annif's shape; without a calibration 1/(1 + e^-score)."""
    category = desk.categories.get(found.category)
    likely = found.probability
    return Result(
        uri=found.category,
        label=found.path[-1],
        notation=(category.notation or None) if category else None,
        score=1 / (1 + exp(-min(max(found.score, -50), 50)))
        if likely is None
        else likely,
    )
