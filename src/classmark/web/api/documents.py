"""Documents: read them, put them, bring many in and take all out."""

from __future__ import annotations

from pydantic import Field

from classmark.web.api.calls import MISSING, calls
from classmark.web.api.naming import record_named
from classmark.web.api.shapes import (
    After,
    Answer,
    Body,
    Id,
    InOrder,
    InPath,
    Note,
    Preferred,
    Text,
    Top,
)
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.workbench.files.exporting import documents_after
from classmark.workbench.files.importing import put_document as put_content
from classmark.workbench.store.log import Judged

router = calls("documents")


class Link(Body):
    """From one document to another."""

    id: Id
    anchor: Note = ""


class NewContent(Body):
    """What a document says; its labels stay as they are."""

    fields: dict[Id, Text] = Field(
        min_length=1, max_length=100, examples=[{"title": "The hive", "text": "Bees."}]
    )
    meta: dict[Id, Note] = Field({}, max_length=100)
    links: list[Link] = Field([], max_length=1000)


class Linked(InOrder):
    """From one document to another."""

    id: str
    anchor: str


class Preference(Preferred):
    """One category above another, and by how much."""

    weight: float


class Document(Answer):
    """A document, and what was said of it.

    labels : category → grade (2 primary, 1 else);  aside : left for later.
    """

    id: str
    fields: dict[str, str]
    meta: dict[str, str]
    links: list[Linked]
    labels: dict[str, float]
    primary: list[str]
    rejected: list[str]
    unsure: list[str]
    preferences: list[Preference]
    aside: bool


class Documents(Answer):
    """A page of documents; next : what to give as ``after``, null at the end."""

    documents: list[Document]
    next: str | None


@router.get("/documents")
def list_documents(
    desk: OpenDesk, _: Reader, after: After = None, top: Top = 100
) -> Documents:
    """The documents in order of arrival, page by page."""
    found = documents_after(desk.project, after, top)
    last = found[-1].id if len(found) == top else None
    return Documents(documents=[shown(each) for each in found], next=last)


@router.get("/documents/{document:path}", responses=MISSING)
def read_document(desk: OpenDesk, _: Reader, document: InPath) -> Document:
    """One document, with all that was said of it."""
    return shown(record_named(desk, document))


@router.put("/documents/{document:path}")
def put_document(
    desk: OpenDesk, _: Classifier, document: InPath, content: NewContent
) -> Document:
    """Add a document, or replace what it says; its labels stay."""
    links = [(link.id, link.anchor) for link in content.links]
    with desk.writing() as project:
        put_content(project, document, content.fields, content.meta, links)
    return shown(record_named(desk, document))


def shown(record: Judged) -> Document:
    """A document as it is answered."""
    return Document(
        id=record.id,
        fields=dict(record.document.fields),
        meta=dict(record.meta),
        links=[Linked(id=to, anchor=anchor) for to, anchor in record.links],
        labels=dict(record.labels),
        primary=sorted(record.primary),
        rejected=sorted(record.rejected),
        unsure=sorted(record.unsure),
        preferences=[
            Preference(winner=winner, loser=loser, weight=weight)
            for (winner, loser), weight in record.preferences.items()
        ],
        aside=record.aside,
    )
