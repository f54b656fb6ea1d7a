"""The projects of a server: a list, and making, renaming, archiving, restoring them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Form, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from pydantic import Field
from starlette.datastructures import UploadFile

from classmark.language import _
from classmark.problems import refusal, worded
from classmark.web import fields
from classmark.web.guard.auth import Admin, Caller, Reader
from classmark.web.guard.errors import Missing
from classmark.web.render import PROJECT, page, redirect
from classmark.web.settings import openapi
from classmark.workbench.files.backup import ENDINGS
from classmark.workbench.files.exporting import download
from classmark.workbench.project import Project
from classmark.workbench.projects import LONGEST_TITLE, ProjectSummary

if TYPE_CHECKING:
    from classmark.web.serve_projects import OpenProjects

home = APIRouter()
pages = APIRouter(prefix="/projects")
api = fields.calls("projects")
api.get("/openapi.json", include_in_schema=False)(openapi)

HERE = "/projects"
PIECE = 1 << 20  # bytes written at once
Title = Annotated[str, Form(max_length=1000)]
Name = Annotated[str, Form(max_length=1000)]


@home.get("/")
def home_page(_me: Reader) -> RedirectResponse:
    """Go to the list."""
    return redirect(HERE)


@pages.get("")
def projects_page(me: Reader) -> HTMLResponse:
    """Show the projects that one may enter; to an admin, also the archived ones."""
    found = _visible(me)
    return page(
        me, "Projects", "projects.html", prefixes=PROJECT, longest=LONGEST_TITLE,
        projects=[each for each in found if not each.archived],
        archived=[each for each in found if each.archived],
    )  # fmt: skip


@pages.post("")
def new_form(me: Admin, title: Title, name: Name = "") -> RedirectResponse:
    """Make a project and go there: its first page says how to begin."""
    id_ = _new(me, title, name.strip())
    return redirect(f"{PROJECT}{id_}/")


@pages.post("/rename")
def rename_form(me: Admin, name: Name, title: Title) -> RedirectResponse:
    """Call a project otherwise."""
    _rename(me, name, title)
    renamed = _("%(name)s is now called %(title)s", name=name, title=title.strip())
    return redirect(HERE, saved=renamed)


@pages.post("/archive")
def archive_form(me: Admin, name: Name) -> RedirectResponse:
    """Close a project."""
    _archive(me, name, archived=True)
    return redirect(HERE, saved=_("%(name)s has been archived", name=name))


@pages.post("/unarchive")
def unarchive_form(me: Admin, name: Name) -> RedirectResponse:
    """Bring an archived project back."""
    _archive(me, name, archived=False)
    return redirect(HERE, saved=_("%(name)s has been brought back", name=name))


@pages.post("/restore")
async def restore_form(me: Admin) -> RedirectResponse:
    """Make a project of a backup that is sent."""
    async with me.request.form(max_files=1, max_fields=10) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise refusal("no file was sent: choose a backup")
        title, name = (str(form.get(each, "")).strip() for each in ("title", "name"))
        people = form.get("people") == "yes"
        sent = FilePath(file.filename)
        id_ = await _restored(me, _pieces(file), sent, title, name, people=people)
    return redirect(HERE, saved=_("%(id)s has been restored", id=id_))


@pages.get("/backup")
def download_backup(
    me: Admin, name: Annotated[str, Query(max_length=1000)]
) -> FileResponse:
    """Take a project out, whole, also an archived one."""
    return _backup(me, name, "zip")


def _of(me: Caller) -> OpenProjects:
    opened: OpenProjects = me.request.app.state.projects
    return opened


def _visible(me: Caller) -> list[ProjectSummary]:
    """The projects that somebody may enter; for an admin all, also damaged ones."""
    opened = _of(me)
    if me.may("admin"):
        return opened.projects.summaries()
    return [each for each in opened.visible(me.request) if not each.archived]


def _require(me: Caller, name: str) -> None:
    if not _of(me).projects.has(name):
        remedy = worded("see classmark projects list")
        raise Missing(
            _("there is no project %(name)r: %(remedy)s", name=name, remedy=remedy)
        )


def _note(me: Caller, event: str, name: str) -> None:
    with me.desk.writing() as server:
        server.store.note_event(event, me.name, project=name)


def _new(me: Caller, title: str, name: str) -> str:
    id_ = _of(me).projects.new(title.strip(), name)
    _note(me, "project made", id_)
    return id_


def _rename(me: Caller, name: str, title: str) -> None:
    _require(me, name)
    _of(me).rename(name, title, me.name)
    _note(me, "project renamed", name)


def _archive(me: Caller, name: str, *, archived: bool) -> None:
    _require(me, name)
    opened = _of(me)
    with opened.closed(name):
        if archived:
            opened.projects.archive(name, me.name)
        else:
            opened.projects.unarchive(name, me.name)
    _note(me, "project archived" if archived else "project brought back", name)


def _backup(me: Caller, name: str, kind: str) -> FileResponse:
    _require(me, name)
    with Project(_of(me).projects.place(name)) as project:
        path, remove = download(project, f"backup.{kind}", whole=True)
    sent = fields.sent_once(path, remove, fields.BYTES)
    sent.headers["Content-Disposition"] = (
        f'attachment; filename="{_ascii(name)}.{kind}"'
    )
    return sent


def _ascii(name: str) -> str:
    """A name as a header may have it."""
    plain = (letter if letter.isalnum() or letter in "-_" else "_" for letter in name)
    return "".join(plain).encode("ascii", "replace").decode().replace("?", "_")


async def _restored(
    me: Caller,
    pieces: AsyncIterator[bytes],
    sent: FilePath,
    title: str,
    name: str,
    *,
    people: bool,
) -> str:
    """Keep what is sent in a file of our own, and make a project of it."""
    if sent.suffix not in ENDINGS:
        raise refusal(
            "%(name)s is not a backup: choose a file that ends in .zip or .jsonl",
            name=sent.name,
        )
    place = me.desk.folder / "uploads"
    place.mkdir(mode=0o700, exist_ok=True)
    path = place / f"{secrets.token_hex(16)}{sent.suffix}"
    try:
        with path.open("xb") as file:
            async for piece in pieces:
                await run_in_threadpool(file.write, piece)
        restore = partial(
            _of(me).projects.restore, path, me.name, title, name, people=people
        )
        id_ = await run_in_threadpool(restore)
    finally:
        path.unlink(missing_ok=True)
    await run_in_threadpool(_note, me, "project restored", id_)
    return id_


async def _pieces(file: UploadFile) -> AsyncIterator[bytes]:
    while piece := await file.read(PIECE):
        yield piece


class NewProject(fields.Body):
    """A project to be made."""

    title: Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE)] = Field(
        examples=["Town library"]
    )
    name: Annotated[str, Field(max_length=63)] = Field(
        "", description="of its directory and address; derived from the title if empty"
    )


class ProjectChange(fields.Body):
    """What is different from now on; what is left out stays."""

    title: Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE)] | None = None
    archived: bool | None = Field(None, description="closed, or brought back")


ProjectList = fields.listing(
    "ProjectList", "Those that you may enter, by title.", projects=ProjectSummary
)
InBody: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "the backup",
        "content": {fields.BYTES: {"schema": {"type": "string", "format": "binary"}}},
    }
}
Kind = Annotated[Literal["zip", "jsonl"], Query(description="of the backup")]


@api.get("/projects", response_model=ProjectList)
def list_projects(me: Reader) -> Any:
    """The projects that you may enter, with progress and people."""
    return {"projects": _visible(me)}


@api.post("/projects", status_code=201)
def add_project(me: Admin, body: NewProject) -> ProjectSummary:
    """Make an empty project."""
    return _of(me).projects.summary(_new(me, body.title, body.name))


@api.post("/projects/restore", status_code=201, openapi_extra=InBody)
async def restore_project(
    me: Admin,
    kind: Kind = "zip",
    title: Annotated[str, Query(max_length=LONGEST_TITLE)] = "",
    name: Annotated[str, Query(max_length=63)] = "",
    people: Annotated[
        bool, Query(description="let those in whom the backup names, and its tokens")
    ] = False,
) -> ProjectSummary:
    """Make a project of a backup."""
    sent = FilePath(f"project.{kind}")
    pieces = me.request.stream()
    id_ = await _restored(me, pieces, sent, title, name, people=people)
    return await run_in_threadpool(_of(me).projects.summary, id_)


@api.patch("/projects/{name}", responses=fields.MISSING)
def change_project(
    me: Admin, name: fields.InPath, body: ProjectChange
) -> ProjectSummary:
    """Call a project otherwise, archive it or bring it back."""
    _require(me, name)
    if body.archived is False:
        _archive(me, name, archived=False)
    if body.title is not None:
        _rename(me, name, body.title)
    if body.archived:
        _archive(me, name, archived=True)
    return _of(me).projects.summary(name)


@api.get("/projects/{name}/backup", response_class=FileResponse, responses=fields.FILE)
def backup_project(me: Admin, name: fields.InPath, kind: Kind = "zip") -> FileResponse:
    """A project as it is at one moment, also an archived one."""
    return _backup(me, name, kind)
