"""Record: what a reader of documents yields and a writer takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from classmark.corpus.document import Document

PRIMARY, SECONDARY = 2.0, 1.0


@dataclass(frozen=True, slots=True)
class Record:
    """A document with what its file said about it.

    labels : category → grade (2 primary, 1 assigned or secondary), in the file's order;
    meta : short facts that are not text to be analysed (split, date, source…);
    links : (target id, anchor text) pairs;
    preferences : (winner, loser) → weight, what the labels do not say.
    """

    document: Document
    labels: Mapping[str, float] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    links: tuple[tuple[str, str], ...] = ()
    preferences: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The document's id."""
        return self.document.id
