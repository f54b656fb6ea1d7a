"""Store: documents, categories, judgments and events of one project.

The judgment log is append-only and the truth; the labels of a document are a view of
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import count
from textwrap import shorten
from typing import Any

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.store.log import (
    Act,
    JudgedRecord,
    Log,
    LogEntry,
    as_categories,
    as_json,
    as_row,
    difference,
    now,
    rows_of,
    sorted_out,
    write,
)

__all__ = ["Act", "LogEntry", "Store"]

PUT_DOCUMENT = """
INSERT INTO documents (id, fields, meta, links, added) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET fields = excluded.fields, meta = excluded.meta, links = excluded.links
"""
DOCUMENTS = "SELECT id, fields, meta, links FROM documents"
UNDECIDED = """
FROM documents WHERE id NOT IN (SELECT document FROM labels)
AND id NOT IN (SELECT document FROM aside)
"""
LABELS = "SELECT document, category, grade FROM labels"
STANDING = "SELECT document, category, act, grade FROM standing"
PREFERENCES = "SELECT document, category, other, grade FROM preferences"
IS_ASIDE = "SELECT 1 FROM aside WHERE document = ?"
NOTE_EVENT = "INSERT INTO events (at, who, what, detail) VALUES (?, ?, ?, ?)"
EVENTS = "SELECT detail FROM events WHERE what = ? ORDER BY seq DESC"
COUNTS = {
    "documents": "SELECT count(*) FROM documents",
    "categories": "SELECT count(*) FROM categories WHERE stands = 1",
    "labelled documents": "SELECT count(DISTINCT document) FROM labels",
    "labels": "SELECT count(*) FROM labels",
    "preferences": "SELECT count(*) FROM preferences",
    "judgments in the log": "SELECT count(document) FROM judgments",
}
TITLE = 80  # letters of a text that stand for its title


class Store(Log):
    """The project's database; a context manager that closes it."""

    def put_documents(self, records: Iterable[Record]) -> int:
        """Add documents, or replace the contents of known ids; return how many."""
        added = 0
        for record in records:
            fields, meta = dict(record.document.fields), dict(record.meta)
            contents = (fields, meta, [list(link) for link in record.links])
            self.run(PUT_DOCUMENT, (record.id, *map(as_json, contents), now()))
            added += 1
        return added

    def records(self) -> Iterator[JudgedRecord]:
        """All documents with the statements on them, in order of arrival."""
        statements, preferences = self.standing(), self.preferences()
        aside = self.aside()
        for row in self.run(f"{DOCUMENTS} ORDER BY number"):
            id_ = row[0]
            yield _judged(
                row, statements.get(id_, {}), preferences.get(id_, {}), id_ in aside
            )

    def record(self, id_: str) -> JudgedRecord:
        """One document by its id, with the statements on it."""
        statements = self.standing(id_).get(id_, {})
        preferences = self.preferences(id_).get(id_, {})
        return _judged(self._row(id_), statements, preferences, self.is_aside(id_))

    def waiting(self) -> int:
        """How many documents ``undecided`` gives."""
        (count,) = self.run(f"SELECT count(*) {UNDECIDED}").fetchone()
        return int(count)

    def undecided(self) -> Iterator[Document]:
        """Documents without a label that are not set aside, in order of arrival."""
        for id_, fields in self.run(f"SELECT id, fields {UNDECIDED} ORDER BY number"):
            yield Document(id_, json.loads(fields))

    def ids(self) -> set[str]:
        """The ids of all documents."""
        return {id_ for (id_,) in self.run("SELECT id FROM documents")}

    def document(self, id_: str) -> Document:
        """One document by its id."""
        return Document(id_, json.loads(self._row(id_)[1]))

    def _row(self, id_: str) -> Any:
        row = self.run(f"{DOCUMENTS} WHERE id = ?", (id_,)).fetchone()
        if row is None:
            raise Mistake(f"there is no document {id_!r} in {self.path.parent}")
        return row

    def put_categories(
        self, categories: Iterable[Category], who: str = "import"
    ) -> int:
        """Add categories, or replace the contents of known ids; return how many.

        A guideline stays where the new category has none.
        """
        new = list(categories)
        with self.transaction():
            before = rows_of(self)
            number = {row["id"]: n for n, row in before.items() if row["stands"]}
            free = count(max(before, default=0) + 1)
            number |= {c.id: next(free) for c in new if c.id not in number}
            after = {number[c.id]: as_row(c, number) for c in new}
            for n, row in after.items():
                row["guideline"] = row["guideline"] or before.get(n, row)["guideline"]
            if changes := difference(before, after):
                write(self, changes)
                self.judge([Act(None, "import", changes=changes)], who)
        return len(new)

    def categories(self) -> list[Category]:
        """All categories that stand, in order of arrival."""
        return as_categories(rows_of(self))

    def labels(self) -> dict[str, dict[str, float]]:
        """Document → category → grade, as of now."""
        labels: dict[str, dict[str, float]] = {}
        for id_, category, grade in self._by_document(LABELS):
            labels.setdefault(id_, {})[category] = grade
        return labels

    def standing(
        self, document: str | None = None
    ) -> dict[str, dict[str, tuple[str, float | None]]]:
        """Document → category → (act, grade), the last statement; of all or one."""
        statements: dict[str, dict[str, tuple[str, float | None]]] = {}
        for id_, category, act, grade in self._by_document(STANDING, document):
            statements.setdefault(id_, {})[category] = (act, grade)
        return statements

    def preferences(
        self, document: str | None = None
    ) -> dict[str, dict[tuple[str, str], float]]:
        """Document → (winner, loser) → weight, the last of each pair; of all or one."""
        preferences: dict[str, dict[tuple[str, str], float]] = {}
        for id_, winner, loser, weight in self._by_document(PREFERENCES, document):
            preferences.setdefault(id_, {})[winner, loser] = weight
        return preferences

    def is_aside(self, document: str) -> bool:
        """Whether a document is set aside."""
        return self.run(IS_ASIDE, (document,)).fetchone() is not None

    def aside(self) -> set[str]:
        """Documents set aside: the last statement on them is «unsure»."""
        return {id_ for (id_,) in self.run("SELECT document FROM aside")}

    def _by_document(self, sql: str, document: str | None = None) -> Iterable[Any]:
        order = "ORDER BY document, seq"
        if document is None:
            return self.run(f"{sql} {order}")
        return self.run(f"{sql} WHERE document = ? {order}", (document,))

    def note_event(self, event: str, who: str, **detail: Any) -> None:
        """Remember that something was done to the project as a whole."""
        self.run(NOTE_EVENT, (now(), who, event, as_json(detail)))

    def last_event(self, event: str, **matching: Any) -> dict[str, Any]:
        """The details of the last event of a kind; empty where there was none.

        matching : details that it has.
        """
        for (text,) in self.run(EVENTS, (event,)):
            detail = dict(json.loads(text))
            if matching.items() <= detail.items():
                return detail
        return {}

    def counts(self) -> dict[str, int]:
        """How many of everything."""
        return {name: self.run(sql).fetchone()[0] for name, sql in COUNTS.items()}


def _judged(
    row: tuple[str, str, str, str],
    statements: dict[str, tuple[str, float | None]],
    preferences: dict[tuple[str, str], float],
    aside: bool,
) -> JudgedRecord:
    id_, fields, meta, links = row
    return JudgedRecord(
        Document(id_, json.loads(fields)),
        meta=json.loads(meta),
        links=tuple((to, anchor) for to, anchor in json.loads(links)),
        preferences=preferences,
        aside=aside,
        **sorted_out(statements),
    )


def title_of(document: Document) -> str:
    """The title in one line; without one, how the text begins, or the id.

    >>> title_of(Document("d", {"body": "A hive."}))
    'A hive.'
    """
    title = " ".join(document.title.split())
    return title or shorten(document.text, TITLE, placeholder=" …") or document.id


def titles(store: Store, documents: Iterable[str]) -> dict[str, str]:
    """Document → its title; its first words where it has none."""
    return {id_: title_of(store.document(id_))[:120] for id_ in documents}
