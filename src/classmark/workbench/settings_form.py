"""The settings as a form: every setting as text, explained, and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

from classmark.language import N_, _
from classmark.problems import refusal
from classmark.workbench.settings import (
    NUMBERS,
    YES_NO,
    Settings,
    fields_of,
    validated,
)
from classmark.workbench.settings_words import (
    CHOICES,
    CUSTOM,
    EVERYDAY,
    LABELS,
    LANGUAGE,
    SAYS,
    SECTIONS,
    analyzer_of,
    language_choices,
    language_of_analyzer,
)


@dataclass(frozen=True, slots=True)
class FormField:
    """A setting as a form shows it: its full name, its value as text, what it means.

    choices : empty where any text may be sent;  words : what they are called.
    """

    name: str
    value: str
    says: str
    choices: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What it is called, or its name without the section's."""
        plain = self.name.rpartition(".")[2].replace("_", " ")
        return LABELS.get(self.name, plain)


def everyday_fields(settings: Settings) -> list[FormField]:
    """The settings that people choose first, in words.

    >>> [each.value for each in everyday_fields(Settings("Shelf"))][:3]
    ['Shelf', 'auto', 'english']
    """
    form = {
        each.name: each for group in form_fields(settings).values() for each in group
    }
    chosen, choices = language_of_analyzer(settings.text.analyzer), language_choices()
    if chosen == CUSTOM:
        choices[CUSTOM] = N_("as set under Advanced")
    names = tuple(choices)
    form[LANGUAGE] = FormField(LANGUAGE, chosen, SAYS[LANGUAGE], names, choices)
    return [_in_words(form[name]) for name in EVERYDAY]


def _in_words(one: FormField) -> FormField:
    """A setting with the choices that suit most, called by words."""
    says = SAYS.get(one.name, one.says)
    if one.choices or one.name not in CHOICES:
        return replace(one, says=says)
    words = dict(CHOICES[one.name])
    fewer = _("in fewer than %(n)s documents", n=one.value)
    words.setdefault(one.value, fewer)
    return replace(one, says=says, choices=tuple(words), words=words)


def advanced_fields(settings: Settings) -> dict[str, list[FormField]]:
    """The other settings, by section."""
    form = form_fields(settings)
    del form[""]
    return {
        section: [each for each in group if each.name not in EVERYDAY]
        for section, group in form.items()
    }


def form_fields(settings: Settings) -> dict[str, list[FormField]]:
    """All settings that a form may change, by section; "" has the name.

    >>> [field.value for field in form_fields(Settings("Shelf"))["search"]]
    ['no', 'no', 'auto', '2', 'no']
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
                name = name.removeprefix(".")
                words = CHOICES.get(name, {}) if choices else {}
                shown = name, text, about["description"], choices, words
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
    texts = _with_analyzer(settings, texts)
    for setting in chain.from_iterable(form_fields(settings).values()):
        text = texts.get(setting.name, setting.value).strip()
        if text == setting.value:
            continue
        if setting.choices and text not in setting.choices:
            choices = ", ".join(setting.choices)
            raise refusal(
                "%(name)s is %(text)r: use %(choices)s",
                name=setting.name,
                text=text,
                choices=choices,
            )
        section, _, key = setting.name.rpartition(".")
        part = values[section] if section else values
        part[key] = _from_text(setting.name, type(part[key]), text)
        changes[setting.name] = text
    return validated(values), changes


def _with_analyzer(settings: Settings, texts: Mapping[str, str]) -> Mapping[str, str]:
    """The same texts; where another language was chosen, with its analyzer."""
    language = texts.get(LANGUAGE, CUSTOM)
    if language in (CUSTOM, language_of_analyzer(settings.text.analyzer)):
        return texts
    if language not in language_choices():
        raise refusal(
            "the language %(language)r is not known: choose one of the list",
            language=language,
        )
    return {**texts, "text.analyzer": analyzer_of(language)}


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
        raise refusal(
            "%(name)s cannot be used: enter one line of %(length)s characters",
            name=name,
            length=length,
        )
    return text
