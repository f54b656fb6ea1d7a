"""Change the categories: every change is one act of the log, and can be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import Field

from classmark.problems import Mistake
from classmark.web.api.calls import MISSING, calls
from classmark.web.api.naming import category_named
from classmark.web.api.shapes import Answer, Body, Id, InPath, Note, Written, written
from classmark.web.people import Admin, OpenDesk
from classmark.workbench.categories import edit as acts
from classmark.workbench.project import Project
from classmark.workbench.results import Logged
from classmark.workbench.team.desk import Desk

router = calls("categories")


class New(Body):
    """A category to be."""

    id: Id = Field(examples=["local.harbour"])
    label: Note = Field("", examples=["Harbour"])
    parent: Id | None = Field(None, description="the category above; null: the top")
    note: Note = ""
    guideline: Note = ""


class Changed(Body):
    """What is to be said of a category; what is left out stays."""

    id: Id | None = Field(None, description="its new id")
    label: Note | None = None
    note: Note | None = None
    guideline: Note | None = None
    notation: Note | None = None
    synonyms: list[Note] | None = Field(None, max_length=1000)


class Moved(Body):
    """Where a category goes, with all below it."""

    category: Id
    under: Id | None = Field(None, description="null: the top")


class Merged(Body):
    """A category, and the one that takes over its documents and daughters."""

    category: Id
    into: Id


class Split(Body):
    """Documents of a category that go to a new one."""

    category: Id
    new: New
    documents: list[Id] = Field(min_length=1, max_length=10_000)


class Retired(Body):
    """A category that no new document shall come to."""

    category: Id


class Wanted(Body):
    """A change to look at before it is made.

    category : of which, or, for add, the one above;  to : where it goes;  id, label :
    new ones;  documents : that go with a split.
    """

    act: Literal["add", "rename", "move", "merge", "split", "retire"]
    category: Note = ""
    to: Note = ""
    id: Note = ""
    label: Note = ""
    documents: list[Id] = Field([], max_length=10_000)


class Foreseen(Answer):
    """What a change would do, a sentence each."""

    says: list[str] = Field(examples=[["Its 12 documents move there."]])


@router.post("/categories", status_code=201)
def add(desk: OpenDesk, who: Admin, new: New) -> Written:
    """Add a category."""
    made = acts.new_category(new.id, new.label, new.parent, new.note, new.guideline)
    return _done(desk, lambda project: [acts.add(project, made, who.name)])


@router.patch("/categories/one/{category:path}", responses=MISSING)
def change(desk: OpenDesk, who: Admin, category: InPath, said: Changed) -> Written:
    """Rename a category, or say anew what belongs there, or both: an act each."""
    category_named(desk, category)
    if not said.model_fields_set:
        raise Mistake(f"nothing is said of {category}: give a label, a note or an id")
    return _done(desk, lambda project: _changes(project, category, said, who.name))


@router.post("/categories/move")
def move(desk: OpenDesk, who: Admin, moved: Moved) -> Written:
    """Put a category, with all below it, under another one, or at the top."""
    return _done(desk, lambda p: [acts.move(p, moved.category, moved.under, who.name)])


@router.post("/categories/merge")
def merge(desk: OpenDesk, who: Admin, merged: Merged) -> Written:
    """Let one category take over the documents and the daughters of another."""
    one, into = merged.category, merged.into
    return _done(desk, lambda project: [acts.merge(project, one, into, who.name)])


@router.post("/categories/split", status_code=201)
def split(desk: OpenDesk, who: Admin, said: Split) -> Written:
    """Move documents from a category to a new one, its sister unless it says else."""
    new = said.new
    made = acts.new_category(new.id, new.label, new.parent, new.note, new.guideline)
    one, moved = said.category, said.documents
    return _done(desk, lambda p: [acts.split(p, one, made, moved, who.name)])


@router.post("/categories/retire")
def retire(desk: OpenDesk, who: Admin, retired: Retired) -> Written:
    """Let no new document come to a category; those that are there stay."""
    return _done(desk, lambda p: [acts.retire(p, retired.category, who.name)])


@router.post("/categories/preview")
def preview(desk: OpenDesk, _: Admin, wanted: Wanted) -> Foreseen:
    """What a change would do, in sentences; nothing is written."""
    said = wanted.model_dump() | {"documents": tuple(wanted.documents)}
    return Foreseen(says=list(acts.foresee(desk, acts.TaxonomyChange(**said))))


def _done(desk: Desk, act: Callable[[Project], list[Logged]]) -> Written:
    return written(*desk.write(act))


def _changes(project: Project, id_: str, said: Changed, who: str) -> list[Logged]:
    """What belongs there first, while it is still called so; then its names."""
    logged = []
    told = said.model_dump(include=set(acts.DESCRIBED), exclude_none=True)
    if told or said.synonyms is not None:
        logged.append(acts.describe(project, id_, told, said.synonyms, who))
    if said.label is not None or said.id is not None:
        names = {"label": said.label, "new_id": said.id}
        logged.append(acts.rename(project, id_, **names, who=who))
    return logged
