"""Import and export: send a file, look at it, take it in; take the project out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from starlette.background import BackgroundTask

from classmark.web.people import Admin, OpenDesk, Reader
from classmark.web.rendering import fragment, page
from classmark.web.uploading import receive
from classmark.workbench.files.exporting import download, has_preferences
from classmark.workbench.files.uploads import (
    ENDINGS,
    IMPORTING,
    KINDS,
    LARGEST,
    preview,
    start_import,
    throw_away,
    upload_of,
    waiting,
)
from classmark.workbench.search.search_box import make_index, standing
from classmark.workbench.team.jobs import Job

router = APIRouter(prefix="/files")
HERE = "Import and export"
Text = Annotated[str, Form()]
JOBS = (IMPORTING, "index")


@router.get("")
def listed(request: Request, desk: OpenDesk, who: Reader) -> HTMLResponse:
    """What waits, what runs, and what can be taken out."""
    uploads = waiting(desk) if who.may("admin") else []
    return page(
        request, HERE, "files.html", waiting=uploads, jobs=_jobs(desk),
        endings=ENDINGS, largest=LARGEST >> 20,
        preferences=has_preferences(desk), standing=standing(desk),
    )  # fmt: skip


@router.get("/jobs")
def jobs(desk: OpenDesk, _: Reader) -> HTMLResponse:
    """How far the imports are: a piece of the page."""
    return fragment("files_jobs.html", jobs=_jobs(desk))


@router.post("/upload")
async def upload(request: Request, desk: OpenDesk, who: Admin) -> RedirectResponse:
    """Take a file in; it waits to be looked at."""
    found = await receive(request, desk, who.name)
    return RedirectResponse(f"/files/waiting/{found.token}", status_code=303)


@router.get("/waiting/{token}")
def look(
    request: Request, desk: OpenDesk, _: Admin, token: str,
    kind: str = "", format: str = "",  # noqa: A002 - as the form calls it
) -> HTMLResponse:  # fmt: skip
    """The first rows of a file that waits."""
    found = preview(desk, token, kind, format)
    return page(
        request, HERE, "files_preview.html", title=found.upload.name, found=found,
        kinds=KINDS, formats=KINDS[found.kind].formats,
    )  # fmt: skip


@router.post("/waiting/{token}")
def take_in(
    desk: OpenDesk, who: Admin, token: str, act: Text,
    kind: Text = "", format: Text = "",  # noqa: A002 - as the form calls it
) -> RedirectResponse:  # fmt: skip
    """Import a file that waits, or throw it away."""
    if act == "throw":
        throw_away(desk, upload_of(desk, token))
        return RedirectResponse("/files?saved=thrown+away", status_code=303)
    start_import(desk, who.name, token, kind, format)
    return RedirectResponse("/files", status_code=303)


@router.post("/index")
def index(desk: OpenDesk, who: Admin) -> RedirectResponse:
    """Bring the index up to date."""
    make_index(desk, who.name)
    return RedirectResponse("/files", status_code=303)


@router.get("/get/{name}")
def get(desk: OpenDesk, who: Reader, name: str) -> FileResponse:
    """Take a file of the project out; the whole of it is for admins."""
    path, remove = download(desk, name, whole=who.may("admin"))
    return FileResponse(path, filename=name, background=BackgroundTask(remove))


def _jobs(desk: OpenDesk) -> list[Job]:
    return [job for job in reversed(list(desk.jobs)) if job.name in JOBS][:5]
