"""People: who may log in, and as what."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request, Response
from pydantic import Field

from classmark.problems import Mistake
from classmark.web.api.calls import MISSING, Documented, Missing, calls, refusal
from classmark.web.api.shapes import Answer, Body, Id, InPath
from classmark.web.api.tokens import Role
from classmark.web.guard.passwords import fits, hash_password
from classmark.web.guard.refusing import Refused as NotLetIn
from classmark.web.people import Admin, OpenDesk, Reader
from classmark.workbench.store.store import Store
from classmark.workbench.team import people
from classmark.workbench.team.desk import Desk

router = calls("users")
TRIES: Documented = {429: refusal("too many were wrong")}
Password = Annotated[str, Field(min_length=12, max_length=1024)]


class User(Answer):
    """A person; disabled : may not log in any more."""

    name: str
    role: str
    added: str
    disabled: bool


class Users(Answer):
    """Everybody, by name."""

    users: list[User]


class New(Body):
    """A person to be added."""

    name: Id = Field(examples=["ada"])
    password: Password
    role: Role = "classifier"


class Changed(Body):
    """What is different from now on; what is left out stays."""

    role: Role | None = None
    disabled: bool | None = None
    password: Password | None = Field(None, description="their sessions end")


class Own(Body):
    """One's own password, as it is and as it is to be."""

    old: Annotated[str, Field(max_length=1024)]
    new: Password


@router.put("/me/password", status_code=204, responses=TRIES)
def own_password(request: Request, desk: OpenDesk, who: Reader, own: Own) -> Response:
    """Change your own password; your sessions end, your tokens stay."""
    state, address = request.app.state, request.client.host if request.client else ""
    state.tries.check(address, who.name)
    found = people.find_user(desk.project.store, who.name)
    if not fits(own.old, None if found is None else found.password):
        state.tries.failed(address, who.name)
        raise NotLetIn(403, "The old password is another one: nothing was changed")
    _change(desk, who.name, Changed(password=own.new), local=True)
    state.identity.forget()
    state.sessions.close_all_of(who.name)
    return Response(status_code=204)


@router.get("/users")
def list_users(desk: OpenDesk, _: Admin) -> Users:
    """Who may log in, and as what."""
    found = people.users(desk.project.store)
    return Users(users=[User.model_validate(user) for user in found])


@router.post("/users", status_code=201)
def add_user(desk: OpenDesk, _: Admin, new: New) -> User:
    """Add a person."""
    hashed = hash_password(new.password, new.name)
    with desk.writing() as project:
        made = people.add_user(project.store, new.name, hashed, new.role)
    return User.model_validate(made)


@router.patch("/users/{name}", responses=MISSING)
def change_user(
    request: Request, desk: OpenDesk, _: Admin, name: InPath, said: Changed
) -> User:
    """Give a person another role or password, or let them log in no more."""
    if people.find_user(desk.project.store, name) is None:
        raise Missing(f"there is no user {name!r}: see the list of users")
    _change(desk, name, said, local=bool(request.app.state.doors.code))
    request.app.state.identity.forget()
    if said.disabled or said.password is not None:
        request.app.state.sessions.close_all_of(name)
    return User.model_validate(people.user_of(desk.project.store, name))


def _change(desk: Desk, name: str, said: Changed, *, local: bool) -> None:
    hashed = None if said.password is None else hash_password(said.password, name)
    with desk.writing() as project:
        if hashed is not None:
            people.set_password(project.store, name, hashed)
        if said.role is not None:
            people.set_role(project.store, name, said.role)
        if said.disabled is not None:
            people.disable(project.store, name, disabled=said.disabled)
        if not local:
            _require_an_admin(project.store)


def _require_an_admin(store: Store) -> None:
    """Refuse what would leave nobody who can change people."""
    if not any(u.role == "admin" and not u.disabled for u in people.users(store)):
        raise Mistake("nobody would be an admin any more: make another one first")
