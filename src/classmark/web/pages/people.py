"""People: who may log in, as what, and the tokens of programs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from classmark.problems import Mistake
from classmark.web.guard.passwords import fits, hash_password
from classmark.web.guard.refusing import Refused
from classmark.web.people import ROLES, Admin, OpenDesk, Reader
from classmark.web.rendering import page
from classmark.workbench.team import people
from classmark.workbench.team.desk import Desk

router = APIRouter(prefix="/settings")
Text = Annotated[str, Form(max_length=1024)]
Days = Annotated[str, Form(max_length=10)]


@router.get("/people")
def everybody(request: Request, desk: OpenDesk, _: Admin) -> HTMLResponse:
    """Show who may log in."""
    found = people.users(desk.project.store)
    return page(
        request, "Settings", "people.html", part="people", users=found, roles=ROLES
    )


@router.post("/people")
def add(
    desk: OpenDesk, _: Admin, name: Text, password: Text, role: Text
) -> RedirectResponse:
    """Add a user."""
    hashed = hash_password(password, name)
    with desk.writing() as project:
        people.add_user(project.store, name, hashed, role)
    return _back("people", f"{name} is now {role}")


@router.post("/people/change")
def change(
    request: Request, desk: OpenDesk, _: Admin, name: Text, role: Text
) -> RedirectResponse:
    """Give a user another role, or let them log in no more."""
    with desk.writing() as project:
        people.user_of(project.store, name)
        people.disable(project.store, name, disabled=role == "none")
        if role != "none":
            people.set_role(project.store, name, role)
        _require_an_admin(request, desk)
    request.app.state.identity.forget()
    if role == "none":
        request.app.state.sessions.close_all_of(name)
    said = "may not log in any more" if role == "none" else f"is now {role}"
    return _back("people", f"{name} {said}")


@router.post("/people/password")
def give_password(
    request: Request, desk: OpenDesk, _: Admin, name: Text, password: Text
) -> RedirectResponse:
    """Give a user another password; their sessions end."""
    _set_password(request, desk, name, password)
    return _back("people", f"{name} has a new password")


@router.post("/me/password")
def own_password(
    request: Request, desk: OpenDesk, who: Reader, old: Text, password: Text
) -> RedirectResponse:
    """Change one's own password; one logs in again."""
    tries, address = request.app.state.tries, _address(request)
    tries.check(address, who.name)
    found = people.find_user(desk.project.store, request.state.user)
    if found is None or not fits(old, found.password):
        tries.failed(address, who.name)
        raise Refused(403, "The old password is another one: nothing was changed.")
    _set_password(request, desk, found.name, password)
    return RedirectResponse("/enter", 303)


@router.get("/tokens")
def tokens(request: Request, desk: OpenDesk, who: Admin) -> HTMLResponse:
    """Show the tokens, without their secrets."""
    return _tokens(request, desk, who.name, None)


@router.post("/tokens")
def new_token(
    request: Request,
    desk: OpenDesk,
    who: Admin,
    user: Text,
    role: Text,
    label: Text = "",
    days: Days = "",
) -> HTMLResponse:
    """Make a token; the answer shows its secret, this once."""
    with desk.writing() as project:
        made = people.add_token(project.store, user, role, label, _days(days))
    return _tokens(request, desk, who.name, made)


@router.post("/tokens/revoke")
def revoke(request: Request, desk: OpenDesk, _: Admin, id: Text) -> Response:  # noqa: A002
    """Let a token open nothing from now on."""
    with desk.writing() as project:
        people.revoke(project.store, id)
    request.app.state.identity.forget()
    return _back("tokens", f"token {id} opens nothing any more")


def _tokens(
    request: Request, desk: Desk, me: str, made: tuple[str, str] | None
) -> HTMLResponse:
    store = desk.project.store
    names = dict.fromkeys([me, *(user.name for user in people.users(store))])
    return page(
        request, "Settings", "tokens.html", part="tokens", made=made, roles=ROLES,
        tokens=people.tokens(store), names=list(names),
    )  # fmt: skip


def _set_password(request: Request, desk: Desk, name: str, password: str) -> None:
    hashed = hash_password(password, name)
    with desk.writing() as project:
        people.set_password(project.store, name, hashed)
    request.app.state.sessions.close_all_of(name)
    request.app.state.identity.forget()


def _require_an_admin(request: Request, desk: Desk) -> None:
    """Refuse what would leave nobody who can change this page."""
    found = people.users(desk.project.store)
    left = any(user.role == "admin" and not user.disabled for user in found)
    if not left and not request.app.state.doors.code:
        raise Mistake("nobody would be an admin any more: make another one first")


def _days(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        raise Mistake(f"days is {text!r}: give a number, or nothing") from None


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _back(where: str, said: str) -> RedirectResponse:
    from urllib.parse import quote

    return RedirectResponse(f"/settings/{where}?saved={quote(said)}", 303)
