"""The settings of a project as they are shown, explained and changed by people."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classmark.problems import Mistake
from classmark.storage import sync_folder
from classmark.workbench.settings import FILE, LOGS, Settings, settings_text

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk


YES_NO = ("no", "yes")
SECTIONS = {
    "text": "How texts become words. Holds from the next training and indexing on.",
    "learning": "How the ranker learns. Holds from the next training on.",
    "search": "What is kept of searches. Holds at once.",
}
SAYS = {
    "name": "What the project is called on every page.",
    "text.analyzer": "How a text is cut into words: steps separated by |.",
    "text.fields": "Which fields of a document are read, separated by commas; empty: "
    "all.",
    "learning.weighting": "How much a word counts by how often it occurs.",
    "learning.min_df": "Words in fewer documents than this are left out.",
    "learning.learner": "What learns to order the categories; plm learns from every "
    "decision at once.",
    "learning.loss": "Of plm and loglinear: which wrong orders are priced together.",
    "learning.C": "What a wrong order costs; 0: the learner's usual price.",
    "learning.center": "Of plm: how strongly categories begin at the average of their "
    "documents; 0: not at all.",
    "learning.grades": "Whether a primary label stands above a secondary one.",
    "learning.strategy": "How the tree of categories is used; auto chooses by size.",
    "learning.base": "What decides at the nodes of the tree.",
    "learning.memory": "What the weights may take.",
    "learning.rare": "Whether close calls with a rare category are voted on again.",
    "learning.policy": "By which rule a pruned tree loses nodes.",
    "learning.bold": "Whether nodes go also where the gain is not sure.",
    "search.log": "Whether searches and what was opened are kept, and with whose name.",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its full name, its value as text, what it may be, what it means.

    choices : empty where anything goes.
    """

    name: str
    value: str
    says: str
    choices: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Its name without the section's."""
        return self.name.rpartition(".")[2].replace("_", " ")


def settings_of(settings: Settings) -> dict[str, list[Setting]]:
    """All settings that may be changed here, by section; "" has the name.

    >>> [one.value for one in settings_of(Settings("Shelf"))["search"]]
    ['no']
    """
    choices = _choices()
    found = {"": [Setting("name", settings.name, SAYS["name"])]}
    for section in SECTIONS:
        values = asdict(getattr(settings, section))
        found[section] = [
            Setting(name, _shown(value), SAYS.get(name, ""), choices.get(name, ()))
            for name, value in ((f"{section}.{k}", v) for k, v in values.items())
        ]
    return found


def change_settings(desk: Desk, given: Mapping[str, str], who: str) -> list[str]:
    """Change what differs, if all of it can be used; return the names changed."""
    settings = desk.project.settings
    known = [one for group in settings_of(settings).values() for one in group]
    new = {
        one.name: given[one.name].strip()
        for one in known
        if one.name in given and given[one.name].strip() != one.value
    }
    if new:
        changed = _changed(settings, new)
        _require(changed)
        with desk.writing() as project:
            write_settings(desk.folder, changed)
            project.store.note_event("settings", who, changed=new)
        desk.look_again()
    return list(new)


def write_settings(folder: Path, settings: Settings) -> None:
    """Write ``classmark.toml`` so that it is there whole, before or after a crash."""
    beside = folder / f"{FILE}.new"
    with beside.open("w", encoding="utf-8") as file:
        file.write(settings_text(settings))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(folder / FILE)
    sync_folder(folder)


def _changed(settings: Settings, new: Mapping[str, str]) -> Settings:
    for name, text in new.items():
        section, _, key = name.rpartition(".")
        if not section:
            settings = replace(settings, name=_name(text))
            continue
        part = getattr(settings, section)
        value = _read(name, text, getattr(part, key))
        settings = replace(settings, **{section: replace(part, **{key: value})})
    return settings


def _name(text: str) -> str:
    if not text or not text.isprintable() or len(text) > 200:
        raise Mistake("name is not usable: give one line of 1 to 200 characters")
    return text


def _read(name: str, text: str, was: Any) -> Any:
    """A value out of a text, of the kind that it was."""
    choices = _choices().get(name, ())
    if choices and text not in choices:
        raise Mistake(f"{name} is {text!r}: use {', '.join(choices)}")
    if isinstance(was, bool):
        return text == "yes"
    if isinstance(was, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if isinstance(was, int | float):
        return _number(name, text, type(was))
    if not text.isprintable() or len(text) > 500:
        raise Mistake(f"{name} is not usable: give one line of up to 500 characters")
    return text


def _number(name: str, text: str, kind: type[int | float]) -> int | float:
    try:
        number = kind(text)
    except ValueError:
        number = kind(-1)
    if not 0 <= number < 1e9:
        words = "a whole number" if kind is int else "a number"
        raise Mistake(f"{name} is {text!r}: give {words}, 0 or more")
    return number


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return YES_NO[value]
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _choices() -> dict[str, tuple[str, ...]]:
    from classmark.weighting.vectorizer import WEIGHTINGS
    from classmark.workbench.learning.fit import STRATEGIES

    return {
        "learning.weighting": WEIGHTINGS,
        "learning.learner": ("plm", "loglinear", "rocchio", "perceptron"),
        "learning.loss": ("dom", "dis", "dme", "dom-dme", "svm", "zero-one"),
        "learning.grades": ("equal", "layered"),
        "learning.strategy": STRATEGIES,
        "learning.base": ("svm", "logistic", "naive-bayes"),
        "learning.policy": ("meta", "bound", "random"),
        "learning.rare": YES_NO,
        "learning.bold": YES_NO,
        "search.log": LOGS,
    }


def _require(settings: Settings) -> None:
    from classmark.workbench.learning.fit import require
    from classmark.workbench.learning.train import require_analyzer

    require_analyzer(settings.text.analyzer)
    require(settings.learning)
