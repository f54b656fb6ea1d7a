"""Answers to what was not done: a page for people, JSON for programs."""

from __future__ import annotations

import errno
import logging
import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response

from classmark.problems import DamagedFolder, Mistake
from classmark.web.guard.headers import dress
from classmark.web.people import NotAllowed
from classmark.web.rendering import alone, fragment, page

if TYPE_CHECKING:
    from starlette.types import Scope

    from classmark.web.guard.refusing import Refused

LOG = logging.getLogger("classmark.web")
PROGRAMS = ("/api/", "/v1/", "/v1")
NOT_FOUND = "There is no such page: it may have been renamed, or its address mistyped."
FAILED = (
    "Something failed in the program. What was acknowledged before as saved is on "
    "disk; the last request may not be: look at History before you repeat it."
)

FULL = "The disk of the project is full, so nothing was written: make room, then repeat"
CLOSED = (
    "The folder of the project cannot be written: let the server write to it, then "
    "repeat"
)
ON_DISK = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EROFS: CLOSED,
    errno.EACCES: CLOSED,
    errno.EPERM: CLOSED,
    errno.EIO: "The disk of the project does not answer: see that it is well",
}


def for_programs(path: str) -> bool:
    """Whether an address is called by programs."""
    return path.startswith(PROGRAMS) or path == "/openapi.json"


def answer(
    request: Request, status: int, said: str, headers: dict[str, str] | None = None
) -> Response:
    """Say that something was not done, and what to do."""
    if for_programs(request.url.path):
        message, colon, remedy = said.rpartition(": ")
        error = {"message": message if colon else said, "remedy": remedy * bool(colon)}
        return JSONResponse({"error": error}, status, headers)
    heading = _heading(status)
    values = {"heading": heading, "said": said, "status": status}
    if request.headers.get("hx-request"):
        shown = fragment("mistake_part.html", **values)
    elif status >= 500 or getattr(request.state, "who", None) is None:
        shown = alone(request, "mistake_alone.html", title=heading, **values)
    else:
        shown = page(request, "", "mistake.html", title=heading, **values)
    shown.status_code = status
    shown.headers.update(headers or {})
    return shown


def answer_refused(scope: Scope, refused: Refused) -> Response:
    """Answer a request that was stopped at the door."""
    return answer(
        Request(scope), refused.status_code, refused.said, dict(refused.headers or {})
    )


def ask_to_log_in(scope: Scope) -> Response:
    """Answer somebody unknown: a program is told, a person is shown the door."""
    request = Request(scope)
    if for_programs(request.url.path):
        said = (
            "Nobody is known by this request: send a token in the header Authorization"
        )
        return answer(request, 401, said, {"WWW-Authenticate": "Bearer"})
    back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    door = "/enter" if back == "/" else f"/enter?next={quote(back, safe='/')}"
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": "/enter"})
    if request.method not in ("GET", "HEAD"):
        said = "You are not logged in any more, so nothing was saved: log in again."
        return answer(request, 401, said)
    return RedirectResponse(door, 303)


def answer_for(app: FastAPI, *, secure: bool) -> None:
    """Teach an application to answer what goes wrong within."""

    def mistaken(request: Request, mistake: Exception) -> Response:
        status = 503 if isinstance(mistake, DamagedFolder) else 400
        return answer(request, status, str(mistake))

    def not_written(request: Request, problem: Exception) -> Response:
        said = ON_DISK.get(getattr(problem, "errno", 0))
        if said is None:
            raise problem
        return answer(request, 503, said)

    def not_allowed(request: Request, problem: Exception) -> Response:
        return answer(request, 403, str(problem))

    def malformed(request: Request, problem: Exception) -> Response:
        return answer(request, 400, _malformed(problem))

    def known(request: Request, problem: Exception) -> Response:
        return _known(request, problem)

    def failed(request: Request, problem: Exception) -> Response:
        reference = secrets.token_hex(4)
        kind = type(problem).__name__
        LOG.error("failure %s: %s at %s", reference, kind, request.url.path)
        shown = answer(request, 500, f"{FAILED} Reference: {reference}")
        dress(shown.headers, secure=secure)
        return shown

    app.add_exception_handler(Mistake, mistaken)
    app.add_exception_handler(OSError, not_written)
    app.add_exception_handler(NotAllowed, not_allowed)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException.__base__ or HTTPException, known)
    app.add_exception_handler(Exception, failed)


def _known(request: Request, problem: Exception) -> Response:
    status = getattr(problem, "status_code", 500)
    said = str(getattr(problem, "detail", "")) or HTTPStatus(status).phrase
    if status == 404 and said == HTTPStatus.NOT_FOUND.phrase:
        said = NOT_FOUND
    if status == 405:
        said = f"This address does not take {request.method}: open the page anew."
    return answer(request, status, said, dict(getattr(problem, "headers", None) or {}))


def _malformed(problem: Exception) -> str:
    assert isinstance(problem, RequestValidationError)  # noqa: S101 - by registration
    first = problem.errors()[0]
    where = " ".join(str(part) for part in first["loc"][1:]) or "the request"
    said = str(first["msg"])
    return f"{where} cannot be used: {said[:1].lower()}{said[1:]}"


def _heading(status: int) -> str:
    known = {401: "Log in again", 403: "Not allowed", 404: "Not here"}
    if status >= 500:
        known = {500: "Something failed", 503: "The project cannot be used now"}
    return known.get(status, "Not done")
