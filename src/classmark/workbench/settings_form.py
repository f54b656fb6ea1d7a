"""The settings as a form: every setting as text, explained, and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from classmark.problems import Mistake
from classmark.workbench.settings import (
    NUMBERS,
    SECTIONS,
    YES_NO,
    Settings,
    fields_of,
    validated,
)


@dataclass(frozen=True, slots=True)
class FormField:
    """A setting as a form shows it: its full name, its value as text, what it means.

    choices : empty where any text may be sent.
    """

    name: str
    value: str
    says: str
    choices: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Its name without the section's."""
        return self.name.rpartition(".")[2].replace("_", " ")


def form_fields(settings: Settings) -> dict[str, list[FormField]]:
    """All settings that a form may change, by section; "" has the name.

    >>> [field.value for field in form_fields(Settings("Shelf"))["search"]]
    ['no', 'auto', '2', 'no']
    """
    form: dict[str, list[FormField]] = {}
    for section in ("", *SECTIONS):
        part, form[section] = getattr(settings, section) if section else settings, []
        for key, setting in fields_of(section).items():
            if about := setting.metadata:
                name, text = f"{section}.{key}", as_text(getattr(part, key))
                choices = about["examples"]
                if choices and text not in choices:
                    choices = (text, *choices)
                shown = name.removeprefix("."), text, about["description"], choices
                form[section].append(FormField(*shown))
    return form


def as_text(value: Any) -> str:
    """A setting as a form shows it."""
    if isinstance(value, bool):
        return YES_NO[value]
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_form_values(
    settings: Settings, texts: Mapping[str, str]
) -> tuple[Settings, dict[str, str]]:
    """The settings with values that a form sent, by full name; and which are others.

    >>> with_form_values(Settings("Shelf"), {"name": "Shelf", "learning.C": "2"})[1]
    {'learning.C': '2'}
    """
    values, changes = asdict(settings), {}
    for setting in chain.from_iterable(form_fields(settings).values()):
        text = texts.get(setting.name, setting.value).strip()
        if text == setting.value:
            continue
        if setting.choices and text not in setting.choices:
            choices = ", ".join(setting.choices)
            raise Mistake(f"{setting.name} is {text!r}: use {choices}")
        section, _, key = setting.name.rpartition(".")
        part = values[section] if section else values
        part[key] = _from_text(setting.name, type(part[key]), text)
        changes[setting.name] = text
    return validated(values), changes


def _from_text(name: str, kind: type, text: str) -> Any:
    """A value out of a text; one that does not fit stays text, and is refused later."""
    if kind is bool:
        return text == YES_NO[True]
    if kind is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if kind in NUMBERS:
        try:
            return kind(text)
        except ValueError:
            return text
    least, most = (1, 200) if name == "name" else (0, 500)
    if not text.isprintable() or not least <= len(text) <= most:
        length = f"{least} to {most}" if least else f"up to {most}"
        raise Mistake(f"{name} is not usable: give one line of {length} characters")
    return text
