"""Who asks, and what they may do: the arguments of every page and API call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from classmark.workbench.desk.desk import Desk
from classmark.workbench.project import whoami


@dataclass(frozen=True, slots=True)
class Who:
    """A person, or a program with a person's token.

    role : reader, classifier or admin.
    """

    name: str
    role: str


def open_desk(request: Request) -> Desk:
    """The project that is served."""
    desk: Desk = request.app.state.desk
    return desk


def reader(request: Request) -> Who:
    """Somebody who may look."""
    del request
    return Who(whoami(), "admin")


def classifier(request: Request) -> Who:
    """Somebody who may decide."""
    return reader(request)


def admin(request: Request) -> Who:
    """Somebody who may change settings, people and files."""
    return reader(request)


OpenDesk = Annotated[Desk, Depends(open_desk)]
Reader = Annotated[Who, Depends(reader)]
Classifier = Annotated[Who, Depends(classifier)]
Admin = Annotated[Who, Depends(admin)]
