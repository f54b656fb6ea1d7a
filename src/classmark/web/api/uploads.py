"""Files that wait: send one, look at its first rows, then take it in or not."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request, Response

from classmark.web.api.calls import MISSING, calls, or_missing
from classmark.web.api.exchange import IN, Format, Kind, Name, Wait, received
from classmark.web.api.shapes import Answer
from classmark.web.api.working import Job, require_well, shown
from classmark.web.people import Admin, OpenDesk
from classmark.workbench.files import uploads
from classmark.workbench.team.desk import Desk

router = calls("files")
Token = Annotated[str, Path(max_length=100)]


class Upload(Answer):
    """A file that waits; unpacked : its bytes, once it is unpacked."""

    token: str
    name: str
    size: int
    unpacked: int
    kind: str
    who: str


class Uploads(Answer):
    """The files that wait, the oldest first."""

    uploads: list[Upload]


class Preview(Answer):
    """The first rows, as the file would be read; mistake : why it cannot be."""

    upload: Upload
    kind: str
    format: str
    heads: list[str]
    rows: list[list[str]]
    mistake: str


@router.post("/uploads", status_code=201, openapi_extra=IN)
async def send(request: Request, desk: OpenDesk, who: Admin, name: Name) -> Upload:
    """Send a file; it waits a day to be looked at and taken in."""
    found = await received(request, desk, name, who.name)
    return Upload.model_validate(found)


@router.get("/uploads")
def list_uploads(desk: OpenDesk, _: Admin) -> Uploads:
    """The files that wait."""
    found = [Upload.model_validate(each) for each in uploads.waiting(desk)]
    return Uploads(uploads=found)


@router.get("/uploads/{token}", responses=MISSING)
def look(
    desk: OpenDesk, _: Admin, token: Token, kind: Kind = "", form: Format = ""
) -> Preview:
    """The first rows of a file that waits, as it would be read."""
    _named(desk, token)
    return Preview.model_validate(uploads.preview(desk, token, kind, form))


@router.post("/uploads/{token}/import", status_code=202, responses=MISSING)
def take_in(
    desk: OpenDesk, who: Admin, token: Token,
    kind: Kind = "", form: Format = "", wait: Wait = 60,
) -> Job:  # fmt: skip
    """Take a file in that waits: all of it, or nothing, and then it still waits."""
    _named(desk, token)
    job = uploads.start_import(desk, who.name, token, kind, form).wait(wait)
    require_well(job)
    return shown(job)


@router.delete("/uploads/{token}", status_code=204, responses=MISSING)
def throw_away(desk: OpenDesk, _: Admin, token: Token) -> Response:
    """Throw a file away that waits."""
    uploads.throw_away(desk, _named(desk, token))
    return Response(status_code=204)


def _named(desk: Desk, token: str) -> uploads.UploadedFile:
    with or_missing():
        return uploads.upload_of(desk, token)
