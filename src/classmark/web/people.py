"""Who asks, and what they may do: the arguments of every page and API call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from classmark.workbench.team.desk import Desk

ROLES = ("reader", "classifier", "admin")


@dataclass(frozen=True, slots=True)
class Who:
    """A person, or a program with a person's token.

    role : reader, classifier or admin.
    """

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Whether this role is enough for what asks for ``role``.

        >>> Who("ada", "classifier").may("reader"), Who("ada", "reader").may("admin")
        (True, False)
        """
        return ROLES.index(self.role) >= ROLES.index(role)


class NotAllowed(Exception):
    """Somebody known asks for what their role does not allow."""

    def __init__(self, who: Who, role: str) -> None:
        super().__init__(
            f"{who.name} is here as {who.role}, and this needs the role {role}: "
            "ask an admin for it"
        )


async def open_desk(request: Request) -> Desk:
    """The project that is served."""
    desk: Desk = request.app.state.desk
    return desk


async def reader(request: Request) -> Who:
    """Somebody who may look."""
    return _at_least(request, "reader")


async def classifier(request: Request) -> Who:
    """Somebody who may decide."""
    return _at_least(request, "classifier")


async def admin(request: Request) -> Who:
    """Somebody who may change settings, people and files."""
    return _at_least(request, "admin")


def _at_least(request: Request, role: str) -> Who:
    who: Who = request.state.who
    if not who.may(role):
        raise NotAllowed(who, role)
    return who


OpenDesk = Annotated[Desk, Depends(open_desk)]
Reader = Annotated[Who, Depends(reader)]
Classifier = Annotated[Who, Depends(classifier)]
Admin = Annotated[Who, Depends(admin)]
