"""Annif's REST API, so that its clients work unchanged."""

from __future__ import annotations

import re
from hashlib import blake2b
from math import exp
from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, Query
from pydantic import BaseModel, Field

from classmark import __version__
from classmark.problems import Mistake
from classmark.text import detect_languages, language_code
from classmark.web.fields import (
    ALWAYS,
    NO_NUL,
    Documented,
    Id,
    Note,
    Text,
    error_answer,
    listing,
)
from classmark.web.guard.auth import Classifier, Reader
from classmark.web.guard.errors import Missing, Unavailable
from classmark.workbench.deciding import suggest as suggesting
from classmark.workbench.deciding.decide import Decision, decide_on
from classmark.workbench.files.documents import put_document
from classmark.workbench.meaning import compute_soon
from classmark.workbench.team.desk import Desk

UNKNOWN = "und"  # the language of words as they are


class NoProject(Missing):
    """There is no project of the name that a call gives."""

    title = "Project not found"


NOT_FOUND: Documented = {404: error_answer("there is no such project")}
UNTRAINED = error_answer("there is no model yet, or the store cannot be used")
api = APIRouter(prefix="/v1", tags=["annif"], responses=ALWAYS | {503: UNTRAINED})

ProjectId = Annotated[str, Path(max_length=1000, examples=["town-library"])]
Code = Annotated[str, Field(min_length=2, max_length=3, pattern=NO_NUL)]


class AnnifInfo(BaseModel):
    """What answers."""

    title: str
    version: str


class AnnifVocabulary(BaseModel):
    """The categories."""

    vocab_id: str
    languages: list[str]
    size: int
    loaded: bool


class AnnifBackend(BaseModel):
    """What makes the suggestions."""

    backend_id: str


class AnnifProject(BaseModel):
    """The project that is served."""

    project_id: str
    name: str
    language: str
    backend: AnnifBackend
    vocab: AnnifVocabulary
    vocab_language: str
    is_trained: bool
    modification_time: str | None = None


class AnnifOptions(BaseModel):
    """How many subjects, from which score on, and the language of the text."""

    limit: Annotated[int, Field(ge=0, le=1000)] = 10
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.0
    language: Annotated[str, Field(max_length=100)] | None = None


class SuggestForm(AnnifOptions):
    """A form with a text; names that begin with metadata_ are passed over."""

    text: Text


class BatchDocument(BaseModel):
    """A text in a batch."""

    text: Text
    document_id: Note | None = None
    metadata: dict[str, str] = {}


class BatchBody(BaseModel):
    """Texts to suggest subjects for."""

    documents: Annotated[list[BatchDocument], Field(max_length=32)]


class AnnifSubject(BaseModel):
    """A subject that was found right."""

    uri: Id
    label: str = ""


class IndexedText(BaseModel):
    """A text with its subjects."""

    text: Text = ""
    metadata: dict[str, str] = {}
    subjects: Annotated[list[AnnifSubject], Field(max_length=1000)] = []


class AnnifResult(BaseModel):
    """A subject for a text; score : from 0 to 1."""

    uri: str
    label: str
    notation: str | None
    score: float


class AnnifResults(BaseModel):
    """The subjects of a text, best first."""

    results: list[AnnifResult]


class BatchResults(AnnifResults):
    """The subjects of one text of a batch."""

    document_id: str | None = None


class LanguageBody(BaseModel):
    """A text, and the languages that it may be in."""

    text: Text
    languages: Annotated[list[Code], Field(min_length=1, max_length=5)]


class LanguageScore(BaseModel):
    """A language, and how sure it is."""

    language: str | None
    score: float


AnnifVocabularies = listing(
    "AnnifVocabularies", "All vocabularies: one.", vocabs=AnnifVocabulary
)
AnnifProjects = listing("AnnifProjects", "All projects: one.", projects=AnnifProject)
LanguageScores = listing(
    "LanguageScores", "The languages of a text.", results=LanguageScore
)


@api.get("/")
def show_info(_: Reader) -> AnnifInfo:
    """What answers here."""
    return AnnifInfo(title="Classmark, by Annif's REST API", version=__version__)


@api.get("/vocabs", response_model=AnnifVocabularies)
def list_vocabs(me: Reader) -> Any:
    """The taxonomy of the project, as the one vocabulary."""
    return {"vocabs": [_project(me.desk).vocab]}


@api.get("/projects", response_model=AnnifProjects)
def list_projects(me: Reader) -> Any:
    """The project that is served, as a list of one."""
    return {"projects": [_project(me.desk)]}


@api.get("/projects/{project_id}", responses=NOT_FOUND)
def show_project(me: Reader, project_id: ProjectId) -> AnnifProject:
    """The project that is served."""
    return _project_named(me.desk, project_id)


@api.post("/projects/{project_id}/suggest", responses=NOT_FOUND)
def suggest(
    me: Reader, project_id: ProjectId, form: Annotated[SuggestForm, Form()]
) -> AnnifResults:
    """Suggest subjects for a text."""
    _project_named(me.desk, project_id, form.language)
    return AnnifResults(results=_suggested(me.desk, form.text, form))


@api.post("/projects/{project_id}/suggest-batch", responses=NOT_FOUND)
def suggest_batch(
    me: Reader,
    project_id: ProjectId,
    batch: BatchBody,
    options: Annotated[AnnifOptions, Query()],
) -> list[BatchResults]:
    """Suggest subjects for up to 32 texts."""
    _project_named(me.desk, project_id, options.language)
    results = [_suggested(me.desk, each.text, options) for each in batch.documents]
    return [
        BatchResults(document_id=document.document_id, results=subjects)
        for document, subjects in zip(batch.documents, results, strict=True)
    ]


@api.post("/projects/{project_id}/learn", status_code=204, responses=NOT_FOUND)
def learn(
    me: Classifier,
    project_id: ProjectId,
    taught: Annotated[list[IndexedText], Field(max_length=1000)],
) -> None:
    """Keep texts with their subjects, and learn from them."""
    _project_named(me.desk, project_id)
    subjects = {
        each.text: tuple(s.uri for s in each.subjects if s.uri in me.desk.categories)
        for each in taught
        if each.text.strip()
    }
    digests = {text: blake2b(text.encode(), digest_size=10) for text in subjects}
    texts = {f"learned-{d.hexdigest()}": t for t, d in digests.items() if subjects[t]}
    with me.desk.writing() as project:
        for id_, text in texts.items():
            put_document(project, id_, {"text": text})
    for id_, text in texts.items():
        compute_soon(me.desk, id_)
        decide_on(me.desk, id_, Decision(subjects[text]), {}, me.name)


@api.post("/detect-language", response_model=LanguageScores)
def detect_language(_: Reader, body: LanguageBody) -> Any:
    """Say which of some languages a text is in, the surest first; null: another."""
    shares = detect_languages(body.text, body.languages)
    return {"results": [{"language": code, "score": each} for code, each in shares]}


def slug(name: str) -> str:
    """A name as part of an address.

    >>> slug("Eskerton Town Library")
    'eskerton-town-library'
    """
    return re.sub(r"[^\w]+", "-", name.lower()).strip("-") or "project"


def _project(desk: Desk) -> AnnifProject:
    settings, size = desk.settings, len(desk.categories)
    language = language_code(settings.text.analyzer) or UNKNOWN
    id_ = slug(settings.name)
    return AnnifProject(
        project_id=id_,
        name=settings.name,
        language=language,
        backend=AnnifBackend(backend_id="classmark"),
        vocab=AnnifVocabulary(
            vocab_id=id_, languages=[language], size=size, loaded=True
        ),
        vocab_language=language,
        is_trained=desk.model() is not None,
    )


def _project_named(
    desk: Desk, project_id: str, language: str | None = None
) -> AnnifProject:
    project = _project(desk)
    if project_id not in {project.project_id, project.name}:
        raise NoProject(f"Project '{project_id}' not found")
    if language and project.language not in (UNKNOWN, language):
        raise Mistake(f'language "{language}" not supported by vocabulary')
    return project


def _suggested(desk: Desk, text: str, options: AnnifOptions) -> list[AnnifResult]:
    if not (options.limit and text.strip() and desk.categories):
        return []
    if desk.model() is None:
        raise Unavailable("Project not trained: decide on documents, or train it first")
    results = []
    for suggestion in suggesting.suggest(desk, text, options.limit, 0):
        score, id_ = suggestion.probability, suggestion.category
        if score is None:  # without a calibration
            score = 1 / (1 + exp(-min(max(suggestion.score, -50), 50)))
        if score >= options.threshold:
            category, label = desk.categories.get(id_), suggestion.path[-1]
            notation = (category.notation or None) if category else None
            results.append(
                AnnifResult(uri=id_, label=label, notation=notation, score=score)
            )
    return results
