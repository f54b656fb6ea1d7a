"""Store: documents, categories, judgments and events of one project, in SQLite.

The judgment log is append-only and the truth; what a document's labels are now is a
view of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.store.log import (
    Act,
    Entry,
    Judged,
    Log,
    as_categories,
    as_json,
    as_row,
    difference,
    now,
    rows_of,
    sorted_out,
    write,
)

__all__ = ["Act", "Entry", "Store"]

UNDECIDED = (
    "FROM documents WHERE id NOT IN (SELECT document FROM labels) "
    "AND id NOT IN (SELECT document FROM aside)"
)


class Store(Log):
    """The project's database; a context manager that closes it."""

    def put_documents(self, records: Iterable[Record]) -> int:
        """Add documents, or replace the contents of known ids; return how many."""
        added = 0
        for record in records:
            values = (
                record.id,
                as_json(dict(record.document.fields)),
                as_json(dict(record.meta)),
                as_json([list(link) for link in record.links]),
                now(),
            )
            self.run(
                "INSERT INTO documents (id, fields, meta, links, added) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                "fields = excluded.fields, meta = excluded.meta, "
                "links = excluded.links",
                values,
            )
            added += 1
        return added

    def records(self) -> Iterator[Judged]:
        """All documents with all that was said of them, in order of arrival."""
        said, preferences, aside = self.standing(), self.preferences(), self.aside()
        for id_, *columns in self.run(
            "SELECT id, fields, meta, links FROM documents ORDER BY number"
        ):
            yield replace(
                _plain(id_, *columns),
                preferences=preferences.get(id_, {}),
                aside=id_ in aside,
                **sorted_out(said.get(id_, {})),
            )

    def record(self, id_: str) -> Judged:
        """One document by its id, with all that was said of it."""
        columns = self.run(
            "SELECT fields, meta, links FROM documents WHERE id = ?", (id_,)
        ).fetchone()
        if columns is None:
            raise self._unknown(id_)
        return replace(
            _plain(id_, *columns),
            preferences=self.preferences(id_).get(id_, {}),
            aside=self.is_aside(id_),
            **sorted_out(self.standing(id_).get(id_, {})),
        )

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
        found = self.run("SELECT fields FROM documents WHERE id = ?", (id_,)).fetchone()
        if found is None:
            raise self._unknown(id_)
        return Document(id_, json.loads(found[0]))

    def _unknown(self, document: str) -> Mistake:
        return Mistake(f"there is no document {document!r} in {self.path.parent}")

    def put_categories(
        self, categories: Iterable[Category], who: str = "import"
    ) -> int:
        """Add categories, or replace what is said of known ids; return how many.

        A guideline stays where none is given.
        """
        given = list(categories)
        with self.transaction():
            before = rows_of(self)
            number = {str(row["id"]): n for n, row in before.items() if row["stands"]}
            fresh = count(max(before, default=0) + 1)
            number |= {c.id: next(fresh) for c in given if c.id not in number}
            after = {number[c.id]: as_row(c, number) for c in given}
            for n, row in after.items():
                row["guideline"] = row["guideline"] or before.get(n, row)["guideline"]
            if changes := difference(before, after):
                write(self, changes)
                self.judge([Act(None, "import", changes=changes)], who)
        return len(given)

    def categories(self) -> list[Category]:
        """All categories that stand, in order of arrival."""
        return as_categories(rows_of(self))

    def labels(self) -> dict[str, dict[str, float]]:
        """Document → category → grade: what the log says now."""
        found: dict[str, dict[str, float]] = {}
        for document, category, grade in self.run(
            "SELECT document, category, grade FROM labels ORDER BY document, seq"
        ):
            found.setdefault(document, {})[category] = grade
        return found

    def standing(
        self, document: str | None = None
    ) -> dict[str, dict[str, tuple[str, float | None]]]:
        """Document → category → (act, grade), the last word on each; of all or one."""
        found: dict[str, dict[str, tuple[str, float | None]]] = {}
        for id_, category, act, grade in self._of(
            "SELECT document, category, act, grade FROM standing", document
        ):
            found.setdefault(id_, {})[category] = (act, grade)
        return found

    def preferences(
        self, document: str | None = None
    ) -> dict[str, dict[tuple[str, str], float]]:
        """Document → (winner, loser) → weight: what the log says last of each pair."""
        found: dict[str, dict[tuple[str, str], float]] = {}
        for id_, winner, loser, weight in self._of(
            "SELECT document, category, other, grade FROM preferences", document
        ):
            found.setdefault(id_, {})[winner, loser] = weight
        return found

    def is_aside(self, document: str) -> bool:
        """Whether a document is set aside."""
        sql = "SELECT 1 FROM aside WHERE document = ?"
        return self.run(sql, (document,)).fetchone() is not None

    def aside(self) -> set[str]:
        """Documents set aside: the last that was said of them is «unsure»."""
        return {id_ for (id_,) in self.run("SELECT document FROM aside")}

    def _of(self, sql: str, document: str | None) -> Iterable[Any]:
        order = "ORDER BY document, seq"
        if document is None:
            return self.run(f"{sql} {order}")
        return self.run(f"{sql} WHERE document = ? {order}", (document,))

    def note_event(self, what: str, who: str, **detail: Any) -> None:
        """Remember that something was done to the project as a whole."""
        self.run(
            "INSERT INTO events (at, who, what, detail) VALUES (?, ?, ?, ?)",
            (now(), who, what, as_json(detail)),
        )

    def last_event(self, what: str, **matching: Any) -> dict[str, Any]:
        """What was noted of the last event of a kind; nothing where there was none.

        matching : what was noted is to say so.
        """
        for (text,) in self.run(
            "SELECT detail FROM events WHERE what = ? ORDER BY seq DESC", (what,)
        ):
            detail = dict(json.loads(text))
            if matching.items() <= detail.items():
                return detail
        return {}

    def counts(self) -> dict[str, int]:
        """How many of everything."""
        queries = {
            "documents": "SELECT count(*) FROM documents",
            "categories": "SELECT count(*) FROM categories WHERE stands = 1",
            "labelled documents": "SELECT count(DISTINCT document) FROM labels",
            "labels": "SELECT count(*) FROM labels",
            "preferences": "SELECT count(*) FROM preferences",
            "judgments in the log": "SELECT count(document) FROM judgments",
        }
        return {name: self.run(sql).fetchone()[0] for name, sql in queries.items()}


def _plain(id_: str, fields: str, meta: str, links: str) -> Judged:
    return Judged(
        Document(id_, json.loads(fields)),
        meta=json.loads(meta),
        links=tuple((to, anchor) for to, anchor in json.loads(links)),
    )


def titles(store: Store, documents: Iterable[str]) -> dict[str, str]:
    """Document → its title; its first words where it has none."""
    found = {}
    for id_ in documents:
        said: Mapping[str, str] = store.document(id_).fields
        words = said.get("title") or next(iter(said.values()), "")
        found[id_] = re.sub(r"\s+", " ", words).strip()[:120] or id_
    return found
