"""Files in and out, uploads that wait, and single documents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Depends, Form, Path, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import (
    FileResponse,
    HTMLResponse,
    RedirectResponse,
    StreamingResponse,
)
from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field
from starlette.datastructures import UploadFile

from classmark.language import _
from classmark.problems import Mistake, refusal
from classmark.web import fields
from classmark.web.guard.auth import Admin, Caller, Classifier, Reader
from classmark.web.guard.errors import Missing, or_missing
from classmark.web.render import fragment, page, redirect
from classmark.web.settings import STARTED
from classmark.workbench.files import exporting, previews, uploads
from classmark.workbench.files.documents import (
    DeletedDocument,
    PastImport,
    add_document,
    delete_documents,
    deleted_documents,
    past_imports,
    restore_documents,
)
from classmark.workbench.files.documents import put_document as put_content
from classmark.workbench.files.previews import FilePreview
from classmark.workbench.files.uploads import (
    ColumnGuess,
    Layout,
    Receiving,
    ReceivingSeveral,
    UploadedFile,
    layout_of,
    start_undoing,
)
from classmark.workbench.meaning import compute_soon
from classmark.workbench.results import Logged
from classmark.workbench.search.desk_search import search_state
from classmark.workbench.search.index import start_indexing
from classmark.workbench.store.log import JudgedRecord
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.jobs import RUNNING, Job

pages = APIRouter(prefix="/files")
api = fields.calls("files")
documents_api = fields.calls("documents")

HERE = "Import and export"
FormText = Annotated[str, Form()]
FormId = Annotated[str, Form(alias="id")]
JOBS = (uploads.IMPORTING, uploads.UNDOING, "index")
MOST_FILES = 200  # sent at once
PIECE = 1 << 20  # bytes written at once


class LayoutFields(BaseModel):
    """How the rows of a file are read; what is empty is guessed.

    column : what a column holds, as in ``text=abstract``;  separator : between cells;
    header : whether the first row names the columns, yes or no, or the number of the
    row that does;  label_separator : between labels in one cell;  skip : rows that
    cannot be read or have no text are left out;  sheet : of a spreadsheet.
    """

    model_config = ConfigDict(extra="ignore")
    column: list[Annotated[str, Field(max_length=1000)]] = Field([], max_length=1000)
    encoding: str = Field("", max_length=50)
    separator: str = Field("", max_length=20)
    header: str = Field("", pattern="^(yes|no|[1-9][0-9]{0,5})?$")
    sheet: str = Field("", max_length=100)
    label_separator: str = Field("", max_length=20)
    skip: bool = False


class FormFields(LayoutFields):
    """The same, in a form that imports a file or throws it away."""

    act: str
    kind: str = ""
    format: str = ""


ImportForm = Annotated[FormFields, Form()]


def layout_asked(said: Annotated[LayoutFields, Query()]) -> Layout | None:
    """The layout that was chosen; None where nothing was."""
    layout = layout_of(
        filter(None, said.column),
        encoding=said.encoding,
        delimiter=said.separator,
        header=said.header,
        sheet=said.sheet,
        separator=said.label_separator,
        skip=said.skip,
    )
    return None if layout == Layout() else layout


AskedLayout = Annotated[Layout | None, Depends(layout_asked)]


@pages.get("")
def files_page(me: Reader) -> HTMLResponse:
    """What waits, what runs, and what can be taken out."""
    return page(
        me, HERE, "files.html", jobs=_jobs(me.desk),
        waiting=uploads.waiting(me.desk) if me.may("admin") else [],
        kinds=uploads.KIND_WORDS,
        endings=uploads.ENDINGS, largest=uploads.LARGEST >> 20,
        imports=past_imports(me.desk), deleted=deleted_documents(me.desk),
        preferences=exporting.has_preferences(me.desk), standing=search_state(me.desk),
    )  # fmt: skip


@pages.get("/jobs")
def jobs_part(me: Reader) -> HTMLResponse:
    """How far the imports are: a piece of the page."""
    return fragment("files_jobs.html", jobs=_jobs(me.desk))


@pages.post("/upload")
async def upload_form(me: Admin) -> RedirectResponse:
    """Take a file in; it waits to be looked at."""
    async with me.request.form(max_files=MOST_FILES, max_fields=10) as form:
        files = [each for each in form.getlist("file") if isinstance(each, UploadFile)]
        files = [each for each in files if each.filename]
        if not files:
            raise refusal("no file was sent: choose one")
        if len(files) == 1:
            upload = await _received(me, str(files[0].filename), _pieces(files[0]))
        else:
            upload = await _received_together(me, files)
    return redirect(f"/files/waiting/{upload.token}")


@pages.get("/waiting/{token}")
def preview_page(
    me: Admin,
    token: str,
    layout: AskedLayout,
    kind: str = "",
    form: Annotated[str, Query(alias="format")] = "",
) -> HTMLResponse:
    """The first rows of a file that waits, and what each column is taken for."""
    preview = previews.preview(me.desk, token, kind, form, layout, forgives=True)
    return page(
        me, HERE, "files_preview.html", title=preview.upload.name, preview=preview,
        kinds=uploads.KIND_WORDS, formats=uploads.KINDS[preview.kind].formats,
        choices=previews.CHOICES, words=previews.words_of_formats(preview.kind),
        above=range(2, previews.ABOVE + 1),
    )  # fmt: skip


@pages.post("/waiting/{token}")
def import_form(me: Admin, token: str, form: ImportForm) -> RedirectResponse:
    """Import a file that waits, replacing documents or not, or throw it away."""
    if form.act == "throw":
        uploads.throw_away(me.desk, uploads.upload_of(me.desk, token))
        return redirect("/files", saved=_("discarded"))
    uploads.start_import(
        me.desk, me.name, token, form.kind, form.format, layout_asked(form),
        replace=form.act == "replace",
    )  # fmt: skip
    return redirect("/files")


@pages.post("/imports/{act}")
def undo_import_form(me: Admin, act: int) -> RedirectResponse:
    """Undo an import as one act, or bring it back."""
    start_undoing(me.desk, act, me.name)
    return redirect("/files")


@pages.post("/add")
def add_form(
    me: Classifier, title: FormText = "", text: FormText = "", id_: FormId = ""
) -> RedirectResponse:
    """Add a document that somebody wrote."""
    added = _added(me, id_, {"title": title, "text": text})
    return redirect("/files", saved=_("%(id)s has been added", id=added))


@pages.post("/delete")
def delete_form(me: Admin, id_: FormId) -> RedirectResponse:
    """Delete a document."""
    _changed(me, delete_documents, id_.strip())
    return redirect("/files", saved=_("%(id)s has been deleted", id=id_.strip()))


@pages.post("/restore")
def restore_form(me: Admin, id_: FormId) -> RedirectResponse:
    """Bring a deleted document back."""
    _changed(me, restore_documents, id_)
    return redirect("/files", saved=_("%(id)s has been restored", id=id_))


def _added(me: Caller, id_: str, texts: dict[str, str]) -> str:
    with me.desk.writing() as project:
        added = add_document(project, id_, texts, me.name)
    me.desk.look_again()
    compute_soon(me.desk, added)
    return added


def _changed(me: Caller, change: Callable[..., Logged], document: str) -> Logged:
    """Delete or restore a document, and let every part of the desk follow."""
    logged = me.desk.write(lambda project: change(project, [document], me.name))
    me.desk.after_write([document], me.name, logged)
    return logged


@pages.post("/index")
def index_form(me: Admin) -> RedirectResponse:
    """Bring the index up to date."""
    start_indexing(me.desk, me.name)
    return redirect("/files")


@pages.get("/get/{name}")
def download_file(me: Reader, name: str) -> FileResponse:
    """Take a file of the project out; the whole of it is for admins."""
    return fields.sent_once(*exporting.download(me.desk, name, whole=me.may("admin")))


def _jobs(desk: Desk) -> list[Job]:
    """What runs, newest first, and of what has ended the last alone."""
    jobs = [job for job in reversed(list(desk.jobs)) if job.name in JOBS]
    last = max((job for job in jobs if job.ended), key=lambda j: j.ended, default=None)
    return [job for job in jobs if job.state == RUNNING or job is last]


async def _pieces(file: UploadFile) -> AsyncIterator[bytes]:
    while piece := await file.read(PIECE):
        yield piece


async def _received_together(me: Caller, files: list[UploadFile]) -> UploadedFile:
    """Several files, in one archive that the project names."""
    names = [str(file.filename) for file in files]
    with await run_in_threadpool(ReceivingSeveral, me.desk, names) as receiving:
        for file in files:
            receiving.begin(str(file.filename))
            async for piece in _pieces(file):
                await run_in_threadpool(receiving.write, piece)
        return await run_in_threadpool(receiving.keep, me.name)


async def _received(
    me: Caller, name: str, pieces: AsyncIterator[bytes]
) -> UploadedFile:
    """What is sent, in a file that the project names; never whole in memory."""
    with await run_in_threadpool(Receiving, me.desk, name) as receiving:
        async for piece in pieces:
            await run_in_threadpool(receiving.write, piece)
        return await run_in_threadpool(receiving.keep, me.name)


Wait = Annotated[
    float, Query(ge=0, le=600, description="so many seconds for it to end")
]
Name = Annotated[
    str,
    Query(
        min_length=1,
        max_length=200,
        pattern=fields.NO_NUL,
        description="its ending counts",
    ),
]
Kind = Annotated[Literal["", "documents", "taxonomy", "preferences"], Query()]
Format = Annotated[str, Query(alias="format", max_length=50, pattern=fields.NO_NUL)]
Replace = Annotated[
    bool, Query(description="documents that are here may be replaced; else refused")
]
FileName = Annotated[str, Path(max_length=200, examples=["documents.csv"])]
UploadToken = Annotated[str, Path(max_length=100)]
OUT: fields.Documented = {
    200: {"content": {fields.LINES: {}}, "description": "a document a line"}
}
IN: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": 'the file; JSONL: {"id": …, "title": …, "labels": […]} a line',
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in (fields.LINES, fields.BYTES)
        },
    }
}
fields.answer(UploadedFile, "ending")
Uploads = fields.listing(
    "Uploads", "The files that wait, the oldest first.", uploads=UploadedFile
)
fields.answer(
    FilePreview,
    doc="The first rows, as the file would be read; mistake : why it cannot be; counts "
    ": how many documents are new, replaced and unchanged, or categories new, changed "
    "and unchanged, unless it is very large.",
    heads=list[str],
    rows=list[list[str]],
    counts=dict[str, int],
    reasons=list[str],
    files=list[str],
    textless=list[str],
    sheets=list[str],
    columns=list[ColumnGuess],
)


@api.post("/import", openapi_extra=IN, **STARTED)
async def import_file(
    me: Admin,
    name: Name = "documents.jsonl",
    kind: Kind = "",
    form: Format = "",
    replace: Replace = False,
    wait: Wait = 60,
    *,
    layout: AskedLayout,
) -> Job:
    """Take a file in as it comes, all of it or nothing: documents, a taxonomy, …"""
    upload = await _received(me, name, me.request.stream())
    asked = _Asked(kind, form, layout, replace)
    try:
        return await run_in_threadpool(_imported, me, upload.token, asked, wait)
    except Mistake:
        await run_in_threadpool(uploads.throw_away, me.desk, upload)
        raise


@api.get("/export", response_class=StreamingResponse, responses=OUT)
def export_lines(me: Reader) -> StreamingResponse:
    """Every document with its labels and preferences, line by line."""
    return StreamingResponse(
        exporting.as_lines(me.desk.folder), media_type=fields.LINES
    )


@api.get("/export/{name}", response_class=FileResponse, responses=fields.FILE)
def export_file(me: Reader, name: FileName) -> FileResponse:
    """A file of the project: documents.csv, documents.parquet, taxonomy.ttl, …"""
    if name not in exporting.DOWNLOADS:
        names = ", ".join(exporting.DOWNLOADS)
        raise Missing(
            _("there is no file %(name)r: use %(names)s", name=name, names=names)
        )
    return fields.sent_once(*exporting.download(me.desk, name), fields.BYTES)


@api.get("/backup", response_class=FileResponse, responses=fields.FILE)
def backup(
    me: Admin, kind: Annotated[Literal["zip", "jsonl"], Query()] = "zip"
) -> FileResponse:
    """The whole project, as it is at one moment, to be restored anywhere.

    zip : with people, tokens and models;  jsonl : all else, as lines of text.
    """
    download = exporting.download(me.desk, f"backup.{kind}", whole=True)
    return fields.sent_once(*download, fields.BYTES)


@api.post("/uploads", status_code=201, openapi_extra=IN)
async def send(me: Admin, name: Name) -> UploadedFile:
    """Send a file; it waits a day to be looked at and taken in."""
    return await _received(me, name, me.request.stream())


@api.get("/uploads", response_model=Uploads)
def list_uploads(me: Admin) -> Any:
    """The files that wait."""
    return {"uploads": uploads.waiting(me.desk)}


@api.get("/uploads/{token}", responses=fields.MISSING)
def look(
    me: Admin,
    token: UploadToken,
    layout: AskedLayout,
    kind: Kind = "",
    form: Format = "",
) -> FilePreview:
    """The first rows of a file that waits, as it would be read."""
    _upload_named(me.desk, token)
    return previews.preview(me.desk, token, kind, form, layout)


@api.post("/uploads/{token}/import", responses=fields.MISSING, **STARTED)
def take_in(
    me: Admin,
    token: UploadToken,
    kind: Kind = "",
    form: Format = "",
    replace: Replace = False,
    wait: Wait = 60,
    *,
    layout: AskedLayout,
) -> Job:
    """Take a file in that waits: all of it, or nothing, and then it still waits."""
    _upload_named(me.desk, token)
    return _imported(me, token, _Asked(kind, form, layout, replace), wait)


@api.delete("/uploads/{token}", status_code=204, responses=fields.MISSING)
def throw_away(me: Admin, token: UploadToken) -> None:
    """Throw a file away that waits."""
    uploads.throw_away(me.desk, _upload_named(me.desk, token))


Imports = fields.listing(
    "Imports", "The last imports, the newest first.", imports=PastImport
)
Deleted = fields.listing(
    "Deleted",
    "The documents that are deleted, the last first.",
    deleted=DeletedDocument,
)
ActNumber = Annotated[int, Path(ge=1, le=2**53)]


@api.get("/imports", response_model=Imports)
def list_imports(me: Admin) -> Any:
    """The last imports, each with the act that undoes it."""
    return {"imports": past_imports(me.desk)}


@api.post("/imports/{act}/undo", responses=fields.MISSING, **STARTED)
def undo_import(me: Admin, act: ActNumber, wait: Wait = 60) -> Job:
    """Undo an import as one act, or bring it back where it is undone."""
    with or_missing():
        job = start_undoing(me.desk, act, me.name)
    if job.wait(wait).mistake:
        raise Mistake(job.mistake)
    return job


def _upload_named(desk: Desk, token: str) -> UploadedFile:
    with or_missing():
        return uploads.upload_of(desk, token)


class _Asked(NamedTuple):
    """How a file is to be imported."""

    kind: str
    format: str
    layout: Layout | None
    replace: bool


def _imported(me: Caller, token: str, asked: _Asked, wait: float) -> Job:
    """Import a file, and wait for it; refused where it cannot be read."""
    job = uploads.start_import(
        me.desk, me.name, token, *asked[:3], replace=asked.replace
    )
    if job.wait(wait).mistake:
        raise Mistake(job.mistake)
    return job


class LinkBody(fields.Body):
    """From one document to another."""

    id: fields.Id
    anchor: fields.Note = ""


Texts = dict[fields.Id, fields.Text]
Notes = dict[fields.Id, fields.Note]


class ContentBody(fields.Body):
    """What a document says; its labels stay as they are."""

    fields: Texts = Field(
        min_length=1, max_length=100, examples=[{"title": "The hive", "text": "Bees."}]
    )
    meta: Notes = Field({}, max_length=100)
    links: list[LinkBody] = Field([], max_length=1000)


class LinkAnswer(fields.InOrder):
    """From one document to another."""

    id: str
    anchor: str


class PreferenceAnswer(fields.PreferredPair):
    """One category above another, and by how much."""

    weight: float


Sorted = Annotated[list[str], BeforeValidator(sorted)]


class DocumentAnswer(fields.CallAnswer, of=JudgedRecord):
    """A document, and what was said of it.

    labels : category → grade (2 primary, 1 else);  aside : left for later.
    """

    id: str
    fields: dict[str, str] = Field(validation_alias=AliasPath("document", "fields"))
    meta: dict[str, str]
    links: list[LinkAnswer]
    labels: dict[str, float]
    primary: Sorted
    rejected: Sorted
    unsure: Sorted
    preferences: Annotated[
        list[PreferenceAnswer],
        BeforeValidator(lambda weights: [(*pair, w) for pair, w in weights.items()]),
    ]
    aside: bool


class DocumentsPage(fields.CallAnswer):
    """A page of documents; next : what to give as ``after``, null at the end."""

    documents: list[DocumentAnswer]
    next: str | None


@documents_api.get("/documents", response_model=DocumentsPage)
def list_documents(
    me: Reader, after: fields.After = None, top: fields.Top = 100
) -> Any:
    """The documents in order of arrival, page by page."""
    records = exporting.documents_after(me.desk, after, top)
    last = records[-1].id if len(records) == top else None
    return {"documents": records, "next": last}


@documents_api.get("/documents/{document:path}", responses=fields.MISSING)
def read_document(me: Reader, document: fields.InPath) -> JudgedRecord:
    """One document, with all that was said of it."""
    return fields.record_named(me.desk, document)


@documents_api.put("/documents/{document:path}", responses=fields.MISSING)
def put_document(
    me: Classifier, document: fields.InPath, body: ContentBody
) -> JudgedRecord:
    """Add a document, or replace what it says; its labels stay."""
    links = [(link.id, link.anchor) for link in body.links]
    with me.desk.writing() as project:
        put_content(project, document, body.fields, body.meta, links, me.name)
    compute_soon(me.desk, document)
    return fields.record_named(me.desk, document)


@documents_api.delete("/documents/{document:path}", responses=fields.MISSING)
def delete_document(me: Admin, document: fields.InPath) -> Logged:
    """Delete a document, as an act that can be undone."""
    fields.record_named(me.desk, document)
    return _changed(me, delete_documents, document)


@documents_api.get("/deleted", response_model=Deleted)
def list_deleted(me: Reader) -> Any:
    """The documents that are deleted."""
    return {"deleted": deleted_documents(me.desk)}


@documents_api.post("/deleted/{document:path}/restore", responses=fields.MISSING)
def restore_document(me: Admin, document: fields.InPath) -> JudgedRecord:
    """Bring a deleted document back, with what was said of it."""
    with or_missing():
        _changed(me, restore_documents, document)
    return fields.record_named(me.desk, document)
