"""The settings of the project: read and change them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from classmark.problems import Mistake
from classmark.web.api.calls import calls
from classmark.web.api.shapes import NO_NUL, Answer, Body
from classmark.web.people import Admin, OpenDesk, Reader
from classmark.workbench import settings_form

router = calls("project")
Given = Annotated[str, Field(max_length=500, pattern=NO_NUL)]


class Setting(Answer):
    """One setting; choices : empty where anything goes."""

    name: str = Field(examples=["learning.learner"])
    value: str = Field(examples=["plm"])
    says: str
    choices: list[str]


class Settings(Answer):
    """All settings that may be changed."""

    settings: list[Setting]


class Changed(Body):
    """Name → the new value, as text."""

    settings: dict[Given, Given] = Field(
        min_length=1, max_length=100, examples=[{"search.log": "anonymous"}]
    )


class Names(Answer):
    """The settings that are different now."""

    changed: list[str]


@router.get("/settings")
def read_settings(desk: OpenDesk, _: Reader) -> Settings:
    """The settings of the project, each with what it means."""
    groups = settings_form.settings_of(desk.project.settings).values()
    found = [Setting.model_validate(one) for group in groups for one in group]
    return Settings(settings=found)


@router.patch("/settings")
def change_settings(desk: OpenDesk, who: Admin, said: Changed) -> Names:
    """Change settings: all that are given, or none."""
    known = {one.name for one in read_settings(desk, who).settings}
    if unknown := sorted(said.settings.keys() - known):
        raise Mistake(f"{unknown[0]!r} is no setting: use {', '.join(sorted(known))}")
    return Names(changed=settings_form.change_settings(desk, said.settings, who.name))
