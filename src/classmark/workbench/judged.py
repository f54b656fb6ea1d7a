"""Judged: a record, with all that experts said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from classmark.formats.records import Record

ASSIGN, REMOVE, PRIMARY, REJECT, UNSURE = (
    "assign", "remove", "primary", "reject", "unsure",
)  # fmt: skip
PREFER, RETRACT, UNDO = "prefer", "retract", "undo"
SKIP, NOTE, SETTLE = "skip", "note", "settle"
TELLING = (SKIP, NOTE, SETTLE)  # acts that leave what holds as it is
STATEMENTS = (ASSIGN, REMOVE, PRIMARY, REJECT, UNSURE)
LABELS = (ASSIGN, PRIMARY)


@dataclass(frozen=True, slots=True)
class Judged(Record):
    """What the log says of one document.

    primary : those of its labels that an expert called primary;  rejected : «not this
    one»;  unsure : neither this nor not this;  aside : the document as a whole is left
    for later. A category is in one of labels, rejected and unsure at most.
    """

    primary: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    aside: bool = False


def sorted_out(said: Mapping[str, tuple[str, float | None]]) -> dict[str, Any]:
    """Category → (act, grade) as the fields of a ``Judged``.

    >>> sorted_out({"a": ("primary", 2.0), "b": ("reject", None)})["labels"]
    {'a': 2.0}
    """
    by: dict[str, list[str]] = {act: [] for act in STATEMENTS}
    for name, (act, _) in said.items():
        by[act].append(name)
    return {
        "labels": {name: g for name, (act, g) in said.items() if act in LABELS},
        "primary": frozenset(by[PRIMARY]),
        "rejected": frozenset(by[REJECT]),
        "unsure": frozenset(by[UNSURE]),
    }
