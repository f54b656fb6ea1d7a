"""What a search by examples shows: its basket, what it learned, what it found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.workbench.by_example import title_of
from classmark.workbench.searching import Piece, cut_out

if TYPE_CHECKING:
    from classmark.corpus.documents import Document
    from classmark.text.analyzer import Analyzer
    from classmark.workbench.project import Project

READ = 20_000  # letters of a document that are looked through for its best lines
OWN = "own"


@dataclass(frozen=True, slots=True)
class Example:
    """Something in the basket.

    act : example, yes, no, skip, or ``own``: a text that is no document, its name the
    id.
    """

    id: str
    title: str
    act: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that may be wanted.

    text : its best lines, in pieces;  why : word → its part of the score;  origin :
    ``likely``, or drawn at ``random``;  mark : what was said of it, or nothing.
    """

    rank: int
    id: str
    title: str
    text: tuple[Piece, ...]
    why: tuple[tuple[str, float], ...] = ()
    score: float | None = None
    origin: str = "likely"
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Basket:
    """A search by examples, as it stands.

    screening : it goes for nearly all, by a rule;  examples, against : what it learned
    from;  words : the heaviest of the query, of ``terms`` in all;  documents : how many
    are ranked;  told : how far it is, a line each;  advice : whether to go on;  stop :
    it may stop.
    """

    number: int
    name: str
    screening: bool
    learned: str
    examples: tuple[Example, ...]
    against: tuple[Example, ...]
    words: tuple[tuple[str, float], ...]
    terms: int
    documents: int
    found: tuple[Candidate, ...]
    told: tuple[str, ...] = ()
    advice: str = ""
    stop: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Saved:
    """A search that was kept, as it is listed."""

    number: int
    name: str
    screening: bool
    examples: int
    yes: int
    no: int
    begun: str
    who: str


def best_lines(
    document: Document, words: Iterable[str], analyzer: Analyzer
) -> tuple[Piece, ...]:
    """The lines of a document with most of these words; its first ones without any."""
    fields = document.fields.items()
    body = "\n".join(text for name, text in fields if name != "title")[:READ]
    terms = {term for word in words for term in analyzer.terms([word]) if term}
    return tuple(cut_out(body, terms, analyzer))


def in_basket(
    project: Project, marks: Mapping[str, str], texts: Mapping[str, str], *acts: str
) -> tuple[Example, ...]:
    """The documents with one of these marks, the last first; then one's own texts."""
    chosen = [(id_, act) for id_, act in reversed([*marks.items()]) if act in acts]
    found = [
        Example(id_, title_of(project.store.document(id_)), act) for id_, act in chosen
    ]
    own = [Example(name, " ".join(text.split()), OWN) for name, text in texts.items()]
    return (*found, *own)
