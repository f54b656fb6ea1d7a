"""What a query finds among a project's documents, and the words behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats
from classmark.examples.problem import some
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.ranking import top
from classmark.workbench.lessons import text_of
from classmark.workbench.vectors import words_behind

if TYPE_CHECKING:
    from classmark.corpus.documents import Document
    from classmark.workbench.project import Project
    from classmark.workbench.vectors import Collection, SpreadCollection

REASONS = 5
HEAVIEST = 12
READ = 100  # so many of the best are read for the words behind their terms
TITLE = 80


@dataclass(frozen=True, slots=True)
class Liked:
    """A document that was found; why : word → its part of the score, greatest first.

    mark : what was said of it in this search, or nothing.
    """

    rank: int
    id: str
    title: str
    score: float
    why: Mapping[str, float] = field(default_factory=dict)
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Likes:
    """What a query found, best first, and what the query is.

    method, C : how it was learned;  examples, yes, no : from how many;  nonzero : how
    many terms have a weight;  query : its heaviest words;  documents : how many were
    ranked.
    """

    search: str
    method: str
    C: float | None
    examples: int
    yes: int
    no: int
    nonzero: int
    query: Mapping[str, float]
    documents: int
    found: Sequence[Liked]
    notes: Sequence[str] = ()


class Part(NamedTuple):
    """A term's part of a score: its weight in the query times that in the document."""

    term: str
    word: str
    weight: float
    value: float
    part: float


@dataclass(frozen=True, slots=True)
class Reasons:
    """Every term's part of a document's score, the greatest first; they add up."""

    id: str
    title: str
    score: float
    parts: Sequence[Part]


class Reader:
    """Reads documents for whoever asks what a query found in them."""

    def __init__(
        self, project: Project, collection: Collection | SpreadCollection
    ) -> None:
        self.project, self.collection = project, collection
        self.row = {id_: row for row, id_ in enumerate(collection.ids)}
        self.terms = collection.vectorizer.vocabulary_.terms
        self.words: dict[str, str] = {}

    def found(
        self,
        scores: Floats,
        weights: Floats,
        k: int,
        marks: Mapping[str, str],
    ) -> list[Liked]:
        """The best k documents by their scores; those of -inf are left out."""
        best = [int(row) for row in top(scores, k) if scores[row] > -np.inf]
        rows, found = some(self.collection.rows, best), []
        for rank, row in enumerate(best, start=1):
            id_ = self.collection.ids[row]
            document = self.project.store.document(id_)
            words = self.read(document) if rank <= READ else self.words
            columns, values = rows.row(rank - 1)
            parts = weights[columns] * values
            why = {
                self._word(int(columns[at]), words): float(parts[at])
                for at in top(parts, REASONS)
                if parts[at] > 0
            }
            score, mark = float(scores[row]), marks.get(id_, "")
            found.append(Liked(rank, id_, title_of(document), score, why, mark))
        return found

    def reasons(self, id_: str, weights: Floats) -> Reasons:
        """Every term's part of the score of one document."""
        document = self.project.store.document(id_)
        words = self.read(document)
        columns, values = some(self.collection.rows, [self.row[id_]]).row(0)
        parts = [
            Part(
                self.terms[column],
                self._word(column, words),
                float(weights[column]),
                float(value),
                float(weights[column] * value),
            )
            for column, value in zip(columns.tolist(), values.tolist(), strict=True)
        ]
        score = sum(part.part for part in parts)
        told = sorted((p for p in parts if p.part), key=lambda p: -abs(p.part))
        return Reasons(id_, title_of(document), score, told)

    def heaviest(self, weights: Floats) -> dict[str, float]:
        """The heaviest words of a query, of either sign."""
        return {
            self._word(int(column), self.words): float(weights[column])
            for column in top(np.abs(weights), HEAVIEST)
            if weights[column]
        }

    def learn_words(self, text: str) -> dict[str, str]:
        """Remember which words the terms of a text were; return those of this text."""
        own = words_behind(text, self.collection.vectorizer.analyzer_)
        self.words |= {term: w for term, w in own.items() if term not in self.words}
        return own

    def read(self, document: Document) -> dict[str, str]:
        """Remember the words of a document; return them by their terms."""
        return self.learn_words(text_of(self.project, Record(document)))

    def _word(self, column: int, words: Mapping[str, str]) -> str:
        term = self.terms[column]
        return words.get(term) or self.words.get(term, term)


def title_of(document: Document) -> str:
    """The title, or how the text begins.

    >>> from classmark.corpus.documents import Document
    >>> title_of(Document("d", {"body": "A hive."}))
    'A hive.'
    """
    return document.title or shorten(document.text, TITLE, placeholder=" …")


def require_count(k: int) -> int:
    """The number of documents asked for, once it is known to be one."""
    if k < 1:
        raise Mistake(f"k is {k}: ask for at least one document")
    return k


def require_terms(terms: int) -> int:
    """The number of terms to keep, once it is known to be one."""
    if terms < 1:
        raise Mistake(f"terms is {terms}: keep at least one")
    return terms
