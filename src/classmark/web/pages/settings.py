"""Settings: the project, its model and jobs, and what is one's own."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from classmark.problems import Mistake
from classmark.web.people import Admin, OpenDesk, Reader
from classmark.web.rendering import THEMES, fragment, page
from classmark.workbench.project import info
from classmark.workbench.settings_form import SECTIONS, change_settings, settings_of
from classmark.workbench.team.jobs import WORKS, start_work

router = APIRouter(prefix="/settings")
KEYS = (
    ("1–9, 0", "choose a category; again: not"),
    ("Enter", "accept and next"),
    ("j, k", "move down, up"),
    ("p", "make it the primary one"),
    ("x", "not this one"),
    (">", "this over that"),
    ("/", "search the taxonomy"),
    ("u, Ctrl+Z", "undo"),
    ("Shift+U", "redo"),
    ("s", "skip"),
    ("?", "unsure"),
    ("w", "why: evidence on or off"),
    ("e", "similar documents"),
    ("g", "guideline of the category"),
    ("n", "write a note"),
    ("F1", "all keys"),
    ("Esc", "close"),
)


@router.get("")
def project(request: Request, desk: OpenDesk, _: Reader) -> HTMLResponse:
    """Show the project's settings, explained."""
    groups = settings_of(desk.project.settings)
    store = desk.project.settings.store
    return page(
        request, "Settings", "settings.html", part="project", groups=groups,
        says=SECTIONS, store=store.url or "store.sqlite, in the project's folder",
    )  # fmt: skip


@router.post("")
async def change(request: Request, desk: OpenDesk, who: Admin) -> Response:
    """Change the settings that differ."""
    from starlette.concurrency import run_in_threadpool

    given = {key: str(value) for key, value in (await request.form()).items()}
    names = await run_in_threadpool(change_settings, desk, given, who.name)
    said = f"saved: {', '.join(names)}" if names else "nothing to change"
    return _back("/settings", said)


@router.get("/model")
def model(request: Request, desk: OpenDesk, _: Reader) -> HTMLResponse:
    """Show the model in service, and the jobs."""
    rows = info(desk.project).rows
    return page(
        request, "Settings", "settings_model.html", part="model", rows=rows,
        works=WORKS, jobs=list(desk.jobs)[::-1],
    )  # fmt: skip


@router.post("/jobs")
def start(desk: OpenDesk, who: Admin, work: Annotated[str, Form()]) -> Response:
    """Begin some long work."""
    job = start_work(desk, work, who.name)
    return _back("/settings/model", f"{job.name} has begun")


@router.get("/jobs")
def jobs(desk: OpenDesk, _: Reader) -> HTMLResponse:
    """The jobs, as a piece of the page."""
    return fragment("settings_jobs.html", jobs=list(desk.jobs)[::-1])


@router.get("/me")
def mine(request: Request, _: Reader) -> HTMLResponse:
    """Show what is one's own: look, keys, password."""
    return page(
        request, "Settings", "settings_me.html", part="me", keys=KEYS, themes=THEMES,
        user=request.state.user,
    )  # fmt: skip


@router.post("/theme")
def look(request: Request, _: Reader, theme: Annotated[str, Form()]) -> Response:
    """Choose light, dark or the system's."""
    if theme not in THEMES:
        raise Mistake(f"theme is {theme!r}: use {', '.join(THEMES)}")
    answer = _back("/settings/me", "")
    secure = request.app.state.doors.secure
    answer.set_cookie(
        "theme", theme, max_age=365 * 24 * 3600, path="/", secure=secure,
        httponly=True, samesite="strict",
    )  # fmt: skip
    return answer


def _back(where: str, said: str) -> RedirectResponse:
    from urllib.parse import quote

    return RedirectResponse(f"{where}?saved={quote(said)}" if said else where, 303)
