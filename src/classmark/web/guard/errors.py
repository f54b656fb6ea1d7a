"""Answers to requests that are refused or fail, and the headers of every answer."""

from __future__ import annotations

import errno
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classmark.language import N_, _
from classmark.problems import DamagedFolder, Mistake
from classmark.web.guard.auth import caller_of
from classmark.web.guard.wrong_fields import wrong_field
from classmark.web.render import PROJECT, alone, fragment, outside, page
from classmark.workbench.deciding.decide import Conflict
from classmark.workbench.examples.open_searches import BeingRead
from classmark.workbench.store.schema import StoreInUse

LOG = logging.getLogger("classmark.web")
PROGRAMS = ("/api", "/v1")
PROBLEM = "application/problem+json"
Pair = tuple[bytes, bytes]  # a header as it is sent
NOT_FOUND = N_(
    "There is no such page: it may have been renamed, or the address mistyped."
)
FAILED = N_(
    "An internal error occurred. Everything reported as saved is on disk; the last "
    "request may not be: check the history before you repeat it. Reference: "
    "%(reference)s"
)
FULL = N_(
    "The disk of the project is full, so nothing was written: free some space, then "
    "repeat"
)
CLOSED = N_(
    "The folder of the project is not writable: let the server write to it, then repeat"
)
FILES = N_(
    "The server has too many files open, so nothing was written: try again in a moment"
)
ON_DISK = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EROFS: CLOSED,
    errno.EACCES: CLOSED,
    errno.EPERM: CLOSED,
    errno.EMFILE: FILES,
    errno.ENFILE: FILES,
    errno.EIO: N_("The disk of the project does not respond: check it"),
}
NOT_DONE = N_("Not done")
HEADINGS = {
    401: N_("Log in again"),
    403: N_("Not allowed"),
    404: N_("Not found"),
    500: N_("Internal error"),
    503: N_("The project is not available now"),
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
IMMUTABLE = "public, max-age=31536000, immutable"
ONE_YEAR = "max-age=31536000"


class RefusedRequest(HTTPException):
    """A request is refused; its detail says what is wrong and what to do."""


class Missing(Mistake):
    """What an address names is not there; title : of the problem, for programs."""

    title = HTTPStatus.NOT_FOUND.phrase


class Unavailable(Mistake):
    """There is nothing yet that could answer."""


@contextmanager
def or_missing(message: str = "") -> Iterator[None]:
    """Let what is not found be 404, in these words; a bad disk stays one."""
    try:
        yield
    except DamagedFolder:
        raise
    except Mistake as mistake:
        raise Missing(message or str(mistake)) from None


def warm(*steps: Callable[[], object]) -> None:
    """Load ahead what nobody waits for yet; whoever needs it is told what is wrong."""
    try:
        for step in steps:
            step()
    except Mistake as problem:
        LOG.warning("not warm yet: %s", problem)


class Headers:
    """Add the headers to every answer of an application; answer HEAD on pages as GET.

    The server leaves the body out.
    """

    def __init__(self, app: ASGIApp, *, secure: bool) -> None:
        self.app, self.secure = app, secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with the headers."""
        path = scope.get("path", "")
        marked = path.startswith("/static/") and scope["query_string"]
        if scope.get("method") == "HEAD" and not for_programs(path):
            scope = {**scope, "method": "GET"}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                if marked and message["status"] == 200:
                    MutableHeaders(scope=message)["Cache-Control"] = IMMUTABLE
                headers = with_headers(message["headers"], secure=self.secure)
                message = {**message, "headers": headers}
            await send(message)

        await self.app(scope, receive, sending)


def with_headers(pairs: Iterable[Pair], *, secure: bool) -> list[Pair]:
    """The headers of an answer, and those that are missing."""
    own = list(pairs)
    names = {name.lower() for name, _ in own}
    return own + [pair for pair in _for_all(secure) if pair[0] not in names]


@cache
def _for_all(secure: bool) -> list[Pair]:
    """The headers of every answer; secure : whether the browser speaks TLS."""
    tls = {"Strict-Transport-Security": ONE_YEAR} if secure else {}
    return [(n.lower().encode(), v.encode()) for n, v in (tls | HEADERS).items()]


def for_programs(path: str) -> bool:
    """Whether an address is called by programs, of one project or among several.

    >>> for_programs("/api/v1/project"), for_programs("/p/shelf/api/v1/project")
    (True, True)
    """
    if path.startswith(PROJECT):
        path = "/" + path.removeprefix(PROJECT).partition("/")[2]
    return path.startswith(PROGRAMS) or path == "/openapi.json"


def refuse(
    request: Request,
    status: int,
    message: str,
    headers: dict[str, str] | None = None,
    **more: Any,
) -> Response:
    """Answer that something was not done, and what to do: a page, or JSON.

    more : what else programs are told, or otherwise than by its status.
    """
    if for_programs(request.url.path):
        wrong, remedy = in_two(message)
        problem: dict[str, Any] = {"type": "about:blank"}
        problem |= {"title": HTTPStatus(status).phrase, "status": status}
        problem |= {"detail": message, "error": {"message": wrong, "remedy": remedy}}
        return JSONResponse(problem | more, status, headers, media_type=PROBLEM)
    heading = _(HEADINGS.get(status, NOT_DONE))
    values: dict[str, Any] = {"heading": heading, "message": message, "status": status}
    values["status_code"] = status
    if request.headers.get("hx-request"):
        shown = fragment("mistake_part.html", **values)
    elif status >= 500 or getattr(request.state, "who", None) is None:
        shown = alone(request, "mistake_alone.html", title=heading, **values)
    else:
        me = caller_of(request, "reader")
        back = _came_from(request)
        shown = page(me, "", "mistake.html", title=heading, back=back, **values)
    shown.headers.update(headers or {})
    return shown


def _came_from(request: Request) -> str:
    """The page of ours on which a form was filled in; "" where none is named."""
    try:
        came = urlsplit(request.headers.get("referer", ""))
    except ValueError:  # a stranger may send anything
        return ""
    if came.netloc != request.url.netloc or came.path == outside(request.url.path):
        return ""
    return came.path + (f"?{came.query}" if came.query else "")


def refuse_scope(scope: Scope, refused: HTTPException) -> Response:
    """Answer a request that was stopped before the application."""
    headers = dict(refused.headers or {})
    return refuse(Request(scope), refused.status_code, _(str(refused.detail)), headers)


def ask_to_log_in(scope: Scope) -> Response:
    """Answer somebody unknown: JSON for programs, the page to log in for people."""
    request = Request(scope)
    if for_programs(request.url.path):
        message = (
            "Nobody is known by this request: send a token in the header Authorization"
        )
        return refuse(request, 401, message, {"WWW-Authenticate": "Bearer"})
    back = outside(request.url.path) + (
        f"?{request.url.query}" if request.url.query else ""
    )
    door = "/enter" if back == "/" else f"/enter?next={quote(back, safe='/')}"
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": "/enter"})
    if request.method not in ("GET", "HEAD"):
        message = _("Your session has ended, so nothing was saved: log in again.")
        return refuse(request, 401, message)
    return RedirectResponse(door, 303)


def handle_errors(app: FastAPI, *, secure: bool) -> None:
    """Let an application answer the errors of its routes."""

    def failed(request: Request, problem: Exception) -> Response:
        reference = secrets.token_hex(4)
        kind = type(problem).__name__
        LOG.error("failure %s: %s at %s", reference, kind, request.url.path)
        shown = refuse(request, 500, _(FAILED, reference=reference))
        shown.raw_headers = with_headers(shown.raw_headers, secure=secure)
        return shown

    app.add_exception_handler(Mistake, _mistaken)
    app.add_exception_handler(OSError, _not_written)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException.__base__ or HTTPException, _http_error)
    app.add_exception_handler(Exception, failed)


def _mistaken(request: Request, mistake: Exception) -> Response:
    more: dict[str, Any] = {}
    kinds: dict[type, int] = {
        DamagedFolder: 503,
        Missing: 404,
        StoreInUse: 503,
        Unavailable: 503,
    }
    if isinstance(mistake, Missing):
        more["title"] = mistake.title
    if for_programs(request.url.path):
        kinds |= {Conflict: 409, BeingRead: 409}
        if isinstance(mistake, Conflict):
            more["theirs"] = [act._asdict() for act in mistake.theirs]
    status = next((kinds[kind] for kind in kinds if isinstance(mistake, kind)), 400)
    again = {"Retry-After": "5"} if isinstance(mistake, StoreInUse) else None
    return refuse(request, status, str(mistake), again, **more)


def _not_written(request: Request, problem: Exception) -> Response:
    message = ON_DISK.get(getattr(problem, "errno", 0))
    if message is None:
        raise problem
    return refuse(request, 503, _(message), {"Retry-After": "2"})


def _http_error(request: Request, problem: Exception) -> Response:
    status = getattr(problem, "status_code", 500)
    message = str(getattr(problem, "detail", "")) or HTTPStatus(status).phrase
    if status == 404 and message == HTTPStatus.NOT_FOUND.phrase:
        message = _(NOT_FOUND)
    if status == 405:
        message = _(
            "This address does not accept %(method)s: reload the page.",
            method=request.method,
        )
    headers = dict(getattr(problem, "headers", None) or {})
    return refuse(request, status, message, headers)


def _malformed(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)  # noqa: S101 - by registration
    if for_programs(request.url.path):
        return refuse(request, 400, malformed(problem))
    return refuse(request, 400, wrong_field(problem.errors()[0]))


def malformed(problem: RequestValidationError) -> str:
    """The first thing that is wrong with a call, and where.

    >>> malformed(RequestValidationError([{"loc": ("body", "top"), "msg": "Too few"}]))
    'body.top is not as it should be: too few'
    """
    first = problem.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    message = str(first["msg"])
    return f"{where} is not as it should be: {message[:1].lower()}{message[1:]}"


def in_two(message: str) -> tuple[str, str]:
    """What is wrong and what to do: a mistake says one, a colon, the other.

    >>> in_two("there is no act 9: see the numbers with classmark history")
    ('there is no act 9', 'see the numbers with classmark history')
    """
    wrong, colon, remedy = message.rpartition(": ")
    return (wrong, remedy) if colon else (message, "")
