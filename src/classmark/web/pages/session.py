"""Come in and go out: by the code that was printed, or by name and password."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from classmark.web.guard.doors import Doors
from classmark.web.guard.identity import stamp_of
from classmark.web.guard.passwords import fits
from classmark.web.guard.sessions import same
from classmark.web.people import OpenDesk
from classmark.web.rendering import alone
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import find_user, users

router = APIRouter()
Text = Annotated[str, Form(max_length=1024)]
Onward = Annotated[str, Query(max_length=2048)]
WRONG = "Name and password do not belong together, or the account is closed."
WRONG_CODE = "This is not the code of this server: it changes when it starts."


@router.get("/enter")
def door(request: Request, desk: OpenDesk, next: Onward = "/") -> HTMLResponse:  # noqa: A002 - in the address
    """Show what is asked for."""
    return _door(request, desk, next)


@router.post("/enter")
def come_in(
    request: Request,
    desk: OpenDesk,
    code: Text = "",
    name: Text = "",
    password: Text = "",
    onward: Text = "/",
) -> Response:
    """Let somebody in who has the code, or name and password."""
    state, address = request.app.state, request.client.host if request.client else ""
    state.tries.check(address, name)
    stamp = _code(state.doors, code) if code else _password(desk, name, password)
    if stamp is None:
        state.tries.failed(address, name)
        return _door(request, desk, onward, WRONG_CODE if code else WRONG, name)
    state.sessions.close(request.state.session)
    secret = state.sessions.open("" if code else name, stamp)
    return _with_cookie(RedirectResponse(_within(onward), 303), state.doors, secret)


@router.post("/leave")
def go_out(request: Request) -> Response:
    """End the session."""
    request.app.state.sessions.close(request.state.session)
    doors: Doors = request.app.state.doors
    return _with_cookie(RedirectResponse("/enter", 303), doors, "")


def _door(
    request: Request, desk: Desk, onward: str, said: str = "", name: str = ""
) -> HTMLResponse:
    doors: Doors = request.app.state.doors
    some = any(not user.disabled for user in users(desk.project.store))
    shown = alone(
        request,
        "enter.html",
        title="Log in",
        onward=_within(onward),
        code=bool(doors.code),
        people=some or not doors.code,
        said=said,
        name=name,
    )
    shown.status_code = 401 if said else 200
    return shown


def _code(doors: Doors, code: str) -> str | None:
    return "" if doors.code and same(code, doors.code) else None


def _password(desk: Desk, name: str, password: str) -> str | None:
    """The stamp of a password that is right; None for another."""
    found = find_user(desk.project.store, name)
    hashed = None if found is None or found.disabled else found.password
    return stamp_of(hashed) if fits(password, hashed) and hashed else None


def _with_cookie(response: Response, doors: Doors, secret: str) -> Response:
    response.set_cookie(
        doors.cookie,
        secret,
        max_age=7 * 24 * 3600 if secret else 0,
        path="/",
        secure=doors.secure,
        httponly=True,
        samesite="strict",
    )
    return response


def _within(address: str) -> str:
    """An address on this server, whatever was asked for.

    >>> _within("/decide/b1?x=1"), _within("//elsewhere.example"), _within("https://a")
    ('/decide/b1?x=1', '/', '/')
    """
    ours = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if ours and address.isprintable() else "/"
