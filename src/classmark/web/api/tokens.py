"""Tokens: keys that programs show instead of a password."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Request, Response
from pydantic import Field

from classmark.web.api.calls import MISSING, calls, or_missing
from classmark.web.api.shapes import Answer, Body, Id, Note
from classmark.web.people import Admin, OpenDesk
from classmark.workbench.team import people

router = calls("tokens")
TokenId = Annotated[str, Path(min_length=1, max_length=100)]
Role = Literal["reader", "classifier", "admin"]


class Wanted(Body):
    """A token to be made."""

    user: Id = Field(description="under whose name it acts", examples=["ada"])
    role: Role = Field("reader", description="no more than the user's own")
    label: Note = Field("", examples=["the catalogue's nightly run"])
    days: float | None = Field(
        None, gt=0, lt=36_500, description="how long it opens; null: until withdrawn"
    )


class Made(Answer):
    """A new token; secret : told once, kept nowhere."""

    id: str
    secret: str


class Token(Answer):
    """A token, without its secret."""

    id: str
    user: str
    role: str
    label: str
    created: str
    expires: str | None
    revoked: str | None


class Tokens(Answer):
    """All tokens, the newest first."""

    tokens: list[Token]


@router.get("/tokens")
def list_tokens(desk: OpenDesk, _: Admin) -> Tokens:
    """All tokens, also those that open nothing any more."""
    found = people.tokens(desk.project.store)
    return Tokens(tokens=[Token.model_validate(token) for token in found])


@router.post("/tokens", status_code=201)
def add_token(desk: OpenDesk, _: Admin, wanted: Wanted) -> Made:
    """Make a token; its secret is told this once."""
    with desk.writing() as project:
        id_, secret = people.add_token(
            project.store, wanted.user, wanted.role, wanted.label, wanted.days
        )
    return Made(id=id_, secret=secret)


@router.delete("/tokens/{token}", status_code=204, responses=MISSING)
def revoke_token(
    request: Request, desk: OpenDesk, _: Admin, token: TokenId
) -> Response:
    """Let a token open nothing from now on."""
    with or_missing(), desk.writing() as project:
        people.revoke(project.store, token)
    request.app.state.identity.forget()
    return Response(status_code=204)
