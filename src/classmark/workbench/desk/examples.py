"""Examples: documents of a category that have most words in common with another."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from classmark.text.tokens import words

if TYPE_CHECKING:
    from classmark.corpus.documents import Document
    from classmark.formats.records import Record
    from classmark.workbench.project import Project

SHOWN = 2
KEPT = 8  # of a category
CATEGORIES = 2000  # that are kept
LONG = 400  # characters of a text that are compared
SHORT = 3  # letters of words that say little
NEWEST = """
SELECT document FROM judgments
WHERE category = (SELECT number FROM categories WHERE id = ? AND stands = 1)
AND act IN ('assign', 'primary') GROUP BY document ORDER BY max(seq) DESC LIMIT ?
"""
HOLDS = "SELECT 1 FROM labels WHERE document = ? AND category = ?"


class _Example(NamedTuple):
    id: str
    title: str
    words: frozenset[str]


class Examples:
    """A few documents of each category that was looked at, newest first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[str, list[_Example]] = {}

    def near(
        self, project: Project, category: str, record: Record
    ) -> tuple[tuple[str, str], ...]:
        """Id and title of two documents in a category, the most alike first."""
        own = _words(" ".join(record.document.fields.values()))
        others = [e for e in self._of(project, category) if e.id != record.id]
        others.sort(key=lambda e: -len(e.words & own))
        return tuple((example.id, example.title) for example in others[:SHOWN])

    def forget(self, categories: Iterable[str]) -> None:
        """Look at the documents of these anew: some came, or went."""
        with self._lock:
            for category in categories:
                self._kept.pop(category, None)

    def clear(self) -> None:
        """Look at the documents anew."""
        with self._lock:
            self._kept.clear()

    def _of(self, project: Project, category: str) -> list[_Example]:
        found = self._kept.get(category)
        if found is None:
            run = project.store.run
            ids = [id_ for (id_,) in run(NEWEST, (category, KEPT)).fetchall()]
            held = [id_ for id_ in ids if run(HOLDS, (id_, category)).fetchone()]
            found = [_example(project.store.document(id_)) for id_ in held]
            with self._lock:
                while len(self._kept) >= CATEGORIES:
                    del self._kept[next(iter(self._kept))]
                self._kept[category] = found
        return found


def _example(document: Document) -> _Example:
    title = document.fields.get("title", "") or document.id
    return _Example(document.id, title, _words(document.text))


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text[:LONG]) if len(word) > SHORT)
