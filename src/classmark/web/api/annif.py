"""Annif's calls, answered in its shapes, so that its clients work unchanged."""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated

from fastapi import Form, Query, Response

from classmark import __version__
from classmark.problems import Mistake
from classmark.web.api import annif_shapes as shapes
from classmark.web.api.annif_shapes import (
    NOT_FOUND,
    Limit,
    ProjectId,
    Threshold,
    annif_calls,
)
from classmark.web.api.calls import Missing
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.workbench.deciding.decide import Decision, decide_on
from classmark.workbench.deciding.suggest import suggest_for
from classmark.workbench.files.importing import put_document
from classmark.workbench.team.desk import Desk

router = annif_calls()
Language = Annotated[str | None, Query(max_length=100)]


@router.get("/")
def show_info(_: Reader) -> shapes.Info:
    """What answers here."""
    return shapes.Info(title="Classmark, by Annif's REST API", version=_version())


@router.get("/vocabs")
def list_vocabs(desk: OpenDesk, _: Reader) -> shapes.Vocabularies:
    """The taxonomy of the project, as the one vocabulary."""
    return shapes.Vocabularies(vocabs=[shapes.vocabulary_of(desk)])


@router.get("/projects")
def list_projects(desk: OpenDesk, _: Reader) -> shapes.Projects:
    """The project that is served, as a list of one."""
    return shapes.Projects(projects=[shapes.project_of(desk)])


@router.get("/projects/{project_id}", responses=NOT_FOUND)
def show_project(desk: OpenDesk, _: Reader, project_id: ProjectId) -> shapes.Project:
    """The project that is served."""
    _require(desk, project_id)
    return shapes.project_of(desk)


@router.post("/projects/{project_id}/suggest", responses=NOT_FOUND)
def suggest(
    desk: OpenDesk,
    _: Reader,
    project_id: ProjectId,
    asked: Annotated[shapes.Asked, Form()],
) -> shapes.Results:
    """Suggest subjects for a text."""
    _require(desk, project_id, asked.language)
    return _results(desk, asked.text, asked.limit, asked.threshold)


@router.post("/projects/{project_id}/suggest-batch", responses=NOT_FOUND)
def suggest_batch(
    desk: OpenDesk,
    _: Reader,
    project_id: ProjectId,
    batch: shapes.Batch,
    limit: Limit = 10,
    threshold: Threshold = 0.0,
    language: Language = None,
) -> list[shapes.BatchResults]:
    """Suggest subjects for up to 32 texts."""
    _require(desk, project_id, language)
    return [
        shapes.BatchResults(
            document_id=each.document_id,
            results=_results(desk, each.text, limit, threshold).results,
        )
        for each in batch.documents
    ]


@router.post("/projects/{project_id}/learn", status_code=204, responses=NOT_FOUND)
def learn(
    desk: OpenDesk, who: Classifier, project_id: ProjectId, taught: shapes.Taught
) -> Response:
    """Keep texts with their subjects, and learn from them."""
    _require(desk, project_id)
    named = {
        each.text: tuple(s.uri for s in each.subjects if s.uri in desk.categories)
        for each in taught
        if each.text.strip()
    }
    kept = {_id_of(text): text for text, subjects in named.items() if subjects}
    with desk.writing() as project:
        for id_, text in kept.items():
            put_document(project, id_, {"text": text})
    for id_, text in kept.items():
        decide_on(desk, id_, Decision(named[text]), {}, who.name)
    return Response(status_code=204)


@router.post("/detect-language")
def detect_language(_: Reader, asked: shapes.Spoken) -> shapes.Languages:
    """Refuse: languages are not told apart here."""
    told = ", ".join(asked.languages)
    raise Mistake(f"Classmark does not tell languages apart ({told}): name it yourself")


def _require(desk: Desk, project_id: str, language: str | None = None) -> None:
    here = shapes.project_of(desk)
    if project_id not in {here.project_id, here.name}:
        raise Missing(f"Project '{project_id}' not found")
    if language and here.language not in ("und", language):
        raise Mistake(f'language "{language}" not supported by vocabulary')


def _results(desk: Desk, text: str, limit: int, threshold: float) -> shapes.Results:
    if not (limit and text.strip() and desk.categories):
        return shapes.Results(results=[])
    shapes.require_model(desk)
    found = suggest_for(desk, text, limit, 0)
    results = [shapes.result_of(desk, each) for each in found]
    return shapes.Results(results=[r for r in results if r.score >= threshold])


def _id_of(text: str) -> str:
    """The id of a text that came without one: the same for the same text."""
    return f"learned-{blake2b(text.encode(), digest_size=10).hexdigest()}"


def _version() -> str:
    return __version__
