"""Desk: one project kept open for many readers, its ranker in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Self

from classmark.formats.record import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import Category, taxonomy_of
from classmark.workbench.collecting import text_of
from classmark.workbench.deciding import Decision, Seen, decide
from classmark.workbench.learning import learner_in_service
from classmark.workbench.project import Project
from classmark.workbench.queueing import queue
from classmark.workbench.sheets import Choice, Sheet, in_pieces
from classmark.workbench.suggesting import path_names

if TYPE_CHECKING:
    from classmark.workbench.learner import Learner

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Saved:
    """What was written, and which document is next; None: no more."""

    number: int
    said: str
    next: str | None


class Desk:
    """A project that several threads may use at once."""

    def __init__(self, folder: Path) -> None:
        self.project = Project(folder, shared=True)
        self._lock = RLock()
        self._learner: Learner | None = None
        self._waiting: list[str] = []
        with self._lock:
            self._learner = learner_in_service(self.project)
            self._know_categories()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.project.__exit__()

    def _know_categories(self) -> None:
        self.categories: Mapping[str, Category] = {
            category.id: category for category in self.project.store.categories()
        }
        self.tree = taxonomy_of(self.categories.values())

    def tally(self) -> str:
        """How far the work is, in words."""
        with self._lock:
            counts = self.project.store.counts()
        return f"{counts['labelled documents']:,} of {counts['documents']:,} decided"

    def next(self, after: str | None = None) -> str | None:
        """The next document to decide on."""
        with self._lock:
            if not self._waiting:
                rows = queue(self.project, "uncertain", 50).rows
                self._waiting = [str(row["document"]) for row in rows]
            self._waiting = [id_ for id_ in self._waiting if id_ != after]
            return self._waiting[0] if self._waiting else None

    def open(self, document: str) -> Sheet:
        """Lay a document on the desk."""
        with self._lock:
            record = self.project.store.record(document)
            text = text_of(self.project, record)
            choices = self._choices(record, text)
        fields = dict(record.document.fields)
        title = fields.pop("title", "") or document
        about = tuple((k, v) for k, v in fields.items() if len(v) < 60)
        body = "\n\n".join(v for v in fields.values() if len(v) >= 60) or text
        left = len(self.categories) - len(choices)
        return Sheet(
            document, title, about, in_pieces(body, choices), choices,
            f"{left:,} more", 0,
        )  # fmt: skip

    def _choices(self, record: Record, text: str) -> tuple[Choice, ...]:
        if self._learner is None:
            return ()
        found = self._learner.model().suggest(text, SHOWN)
        return tuple(
            Choice(
                one.category,
                path_names(self.categories, self.tree, one.category),
                "" if one.probability is None else f"{one.probability:.0%}",
                one.favour,
                one.against,
                self.categories[one.category].note if one.category in self.categories else "",
                "assign" if one.category in record.labels else "",
            )
            for one in found
        )

    def decide(
        self, document: str, decision: Decision, seen: Mapping[str, Seen], who: str
    ) -> Saved:
        """Write a decision, durably, and learn from it."""
        with self._lock:
            logged = decide(self.project, document, decision, seen, who)
            self._waiting = [id_ for id_ in self._waiting if id_ != document]
            if self._learner is not None:
                self._learner.catch_up()
            return Saved(logged.numbers[-1], logged.said, self.next(document))

    def require(self, document: str) -> str:
        """The id, once it is known that there is such a document."""
        with self._lock:
            if not document:
                raise Mistake("name a document")
            self.project.store.document(document)
        return document
