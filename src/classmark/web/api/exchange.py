"""Many documents at once: a file in, of any format that is read, and files out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, StreamingResponse
from starlette.background import BackgroundTask

from classmark.problems import Mistake
from classmark.web.api.calls import MISSING, Documented, Missing, calls
from classmark.web.api.shapes import NO_NUL
from classmark.web.api.working import Job, require_well, shown
from classmark.web.people import Admin, OpenDesk, Reader
from classmark.workbench.files.backup import back_up
from classmark.workbench.files.exporting import (
    DOWNLOADS,
    as_lines,
    download,
    kept_until_sent,
)
from classmark.workbench.files.uploads import (
    Receiving,
    UploadedFile,
    start_import,
    throw_away,
)
from classmark.workbench.team.desk import Desk

router = calls("files")
LINES, BYTES = "application/x-ndjson", "application/octet-stream"
Wait = Annotated[
    float, Query(ge=0, le=600, description="so many seconds for it to end")
]
Name = Annotated[
    str,
    Query(
        min_length=1, max_length=200, pattern=NO_NUL, description="its ending counts"
    ),
]
Kind = Annotated[Literal["", "documents", "taxonomy", "preferences"], Query()]
Format = Annotated[str, Query(alias="format", max_length=50, pattern=NO_NUL)]
Copy = Annotated[Literal["zip", "jsonl"], Query()]
FileName = Annotated[str, Path(max_length=200, examples=["documents.csv"])]
OUT: Documented = {200: {"content": {LINES: {}}, "description": "a document a line"}}
FILE: Documented = {200: {"content": {BYTES: {}}, "description": "the file"}, **MISSING}
IN: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": 'the file; JSONL: {"id": …, "title": …, "labels": […]} a line',
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in (LINES, BYTES)
        },
    }
}


@router.post("/import", status_code=202, openapi_extra=IN)
async def import_file(
    request: Request,
    desk: OpenDesk,
    who: Admin,
    name: Name = "documents.jsonl",
    kind: Kind = "",
    form: Format = "",
    wait: Wait = 60,
) -> Job:
    """Take a file in as it comes, all of it or nothing: documents, a taxonomy, …"""
    upload = await received(request, desk, name, who.name)
    return await run_in_threadpool(_imported, desk, upload, (kind, form, wait))


@router.get("/export", response_class=StreamingResponse, responses=OUT)
def export_lines(desk: OpenDesk, _: Reader) -> StreamingResponse:
    """Every document with its labels and preferences, line by line."""
    return StreamingResponse(as_lines(desk.folder), media_type=LINES)


@router.get("/export/{name}", response_class=FileResponse, responses=FILE)
def export_file(desk: OpenDesk, _: Reader, name: FileName) -> FileResponse:
    """A file of the project: documents.csv, documents.parquet, taxonomy.ttl, …"""
    if name not in DOWNLOADS:
        raise Missing(f"there is no file {name!r}: use {', '.join(DOWNLOADS)}")
    path, remove = download(desk, name)
    task = BackgroundTask(remove)
    return FileResponse(path, filename=name, media_type=BYTES, background=task)


@router.get("/backup", response_class=FileResponse, responses=FILE)
def backup(desk: OpenDesk, _: Admin, kind: Copy = "zip") -> FileResponse:
    """The whole project, as it is at one moment, to be restored anywhere.

    zip : with people, tokens and models;  jsonl : all else, as lines of text.
    """
    name = f"backup.{kind}"
    path, remove = kept_until_sent(desk, name, lambda p: back_up(desk.project, p))
    task = BackgroundTask(remove)
    return FileResponse(path, filename=name, media_type=BYTES, background=task)


async def received(request: Request, desk: Desk, name: str, who: str) -> UploadedFile:
    """What is sent, in a file that the project names; never whole in memory."""
    with await run_in_threadpool(Receiving, desk, name) as receiving:
        async for part in request.stream():
            await run_in_threadpool(receiving.write, part)
        return await run_in_threadpool(receiving.keep, who)


def _imported(desk: Desk, upload: UploadedFile, how: tuple[str, str, float]) -> Job:
    """Import a file, and wait for it; one that cannot be read is thrown away."""
    kind, format_, wait = how
    try:
        job = start_import(desk, upload.who, upload.token, kind, format_).wait(wait)
        require_well(job)
    except Mistake:
        throw_away(desk, upload)
        raise
    return shown(job)
