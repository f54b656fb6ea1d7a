"""Sheet: a document on the desk, with its suggestions and the words behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.workbench.collecting import text_of
from classmark.workbench.suggesting import path_names

if TYPE_CHECKING:
    from classmark.formats.record import Record
    from classmark.workbench.desk.desk import Desk

SHOWN = 10
_RUN = re.compile(r"\w+")
STRENGTHS = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text; side : "for" or "against" a category, or ""; strength : 1 to 4."""

    text: str
    side: str = ""
    strength: int = 0
    says: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A category that may be chosen, as it is shown.

    stands : what was said of it before: assign, primary, reject, or "".
    """

    category: str
    path: tuple[str, ...]
    likely: str
    favour: tuple[tuple[str, float], ...] = ()
    against: tuple[tuple[str, float], ...] = ()
    note: str = ""
    stands: str = ""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A document, and what may be said of it.

    texts : for each choice its number and the text in pieces;  version : the number of
    the last act on the document;  more : how many categories are not shown, in words.
    """

    id: str
    title: str
    about: tuple[tuple[str, str], ...]
    texts: tuple[tuple[int, tuple[Piece, ...]], ...]
    choices: tuple[Choice, ...]
    more: str
    version: int


def lay_out(desk: Desk, document: str) -> Sheet:
    """Lay a document on the desk."""
    record = desk.project.store.record(document)
    text = text_of(desk.project, record)
    choices = _choices(desk, record, text)
    fields = dict(record.document.fields)
    title = fields.pop("title", "") or document
    about = tuple((k, v) for k, v in fields.items() if len(v) < 60)
    body = "\n\n".join(v for v in fields.values() if len(v) >= 60) or text
    more = f"{len(desk.categories) - len(choices):,} more"
    pieces = in_pieces(body, choices)
    return Sheet(document, title, about, pieces, choices, more, 0)


def _choices(desk: Desk, record: Record, text: str) -> tuple[Choice, ...]:
    model = desk.model()
    return tuple(
        Choice(
            one.category,
            path_names(desk.categories, desk.tree, one.category),
            "" if one.probability is None else f"{one.probability:.0%}",
            one.favour,
            one.against,
            desk.categories[one.category].note,
            "assign" if one.category in record.labels else "",
        )
        for one in ([] if model is None else model.suggest(text, SHOWN))
    )


def marked(text: str, parts: Mapping[str, float]) -> Iterator[Piece]:
    """Cut a text where its words speak for or against a category.

    parts : a word as it stands in the text, in small letters → its part in the score.

    >>> [piece.side for piece in marked("Bees, not ants", {"bees": 2.0, "ants": -1.0})]
    ['for', '', 'against']
    """
    largest = max(map(abs, parts.values()), default=1.0)
    at = 0
    for run in _RUN.finditer(text):
        part = parts.get(run[0].lower())
        if part is None:
            continue
        if run.start() > at:
            yield Piece(text[at : run.start()])
        strength = max(1, round(STRENGTHS * abs(part) / largest))
        side = "for" if part > 0 else "against"
        yield Piece(run[0], side, strength, f"{part:+.2f}".replace("-", "−"))
        at = run.end()
    if at < len(text):
        yield Piece(text[at:])


def in_pieces(
    text: str, choices: Sequence[Choice]
) -> tuple[tuple[int, tuple[Piece, ...]], ...]:
    """The text once for each choice, its own words marked."""
    found = [
        (number, tuple(marked(text, dict(choice.favour) | dict(choice.against))))
        for number, choice in enumerate(choices, start=1)
    ]
    return tuple(found) or ((1, (Piece(text),)),)
