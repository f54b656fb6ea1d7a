"""Store: documents, categories, judgments and events of one project, in SQLite.

The judgment log is append-only and the truth; what a document's labels are now is a
view of it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from classmark.corpus.document import Document
from classmark.formats.record import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.schema import connect, damaged


class Act(NamedTuple):
    """One line of the judgment log, before it has a number.

    act : ``assign`` (with a grade) or ``remove``; ``prefer`` (category over other, the
    grade being the weight) or ``retract``, which takes back what was preferred between
    the two;  model, rank, score : what the expert saw when deciding.
    """

    document: str
    act: str
    category: str | None = None
    grade: float | None = None
    model: str = ""
    rank: int | None = None
    score: float | None = None
    note: str = ""
    other: str | None = None


class Store:
    """The project's database; a context manager that closes it."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        self._connection = connect(path, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that happens inside is committed together, or not at all."""
        self._run("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._run("COMMIT")

    def put_documents(self, records: Iterable[Record]) -> int:
        """Add documents, or replace the contents of known ids; return how many."""
        count = 0
        for record in records:
            values = (
                record.id,
                _json(dict(record.document.fields)),
                _json(dict(record.meta)),
                _json([list(link) for link in record.links]),
                _now(),
            )
            self._run(
                "INSERT INTO documents (id, fields, meta, links, added) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                "fields = excluded.fields, meta = excluded.meta, "
                "links = excluded.links",
                values,
            )
            count += 1
        return count

    def records(self) -> Iterator[Record]:
        """All documents with their present labels, in order of arrival."""
        labels, preferences = self.labels(), self.preferences()
        for id_, fields, meta, links in self._run(
            "SELECT id, fields, meta, links FROM documents ORDER BY number"
        ):
            yield Record(
                Document(id_, json.loads(fields)),
                labels.get(id_, {}),
                json.loads(meta),
                tuple((to, anchor) for to, anchor in json.loads(links)),
                preferences.get(id_, {}),
            )

    def ids(self) -> set[str]:
        """The ids of all documents."""
        return {id_ for (id_,) in self._run("SELECT id FROM documents")}

    def document(self, id_: str) -> Document:
        """One document by its id."""
        found = self._run(
            "SELECT fields FROM documents WHERE id = ?", (id_,)
        ).fetchone()
        if found is None:
            raise Mistake(f"there is no document {id_!r} in {self.path.parent}")
        return Document(id_, json.loads(found[0]))

    def put_categories(self, categories: Iterable[Category]) -> int:
        """Add categories, or replace what is said of known ids; return how many."""
        count = 0
        for category in categories:
            values = (
                category.id,
                category.label,
                category.note,
                _json(category.synonyms),
                _json(category.parents),
                category.notation,
                category.status,
            )
            self._run(
                "INSERT INTO categories "
                "(id, label, note, synonyms, parents, notation, status) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                "label = excluded.label, note = excluded.note, "
                "synonyms = excluded.synonyms, parents = excluded.parents, "
                "notation = excluded.notation, status = excluded.status",
                values,
            )
            count += 1
        return count

    def categories(self) -> list[Category]:
        """All categories, in order of arrival."""
        found = self._run(
            "SELECT id, label, note, synonyms, parents, notation, status "
            "FROM categories ORDER BY number"
        )
        return [
            Category(
                id_,
                label,
                note,
                tuple(json.loads(synonyms)),
                tuple(json.loads(parents)),
                notation,
                status,
            )
            for id_, label, note, synonyms, parents, notation, status in found
        ]

    def judge(self, acts: Iterable[Act], who: str) -> list[int]:
        """Append to the judgment log; return the numbers given."""
        numbers = []
        for act in acts:
            cursor = self._run(
                "INSERT INTO judgments (at, who, document, act, category, grade, "
                "model, rank, score, note, other) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (_now(), who, *act),
            )
            numbers.append(int(cursor.lastrowid or 0))
        return numbers

    def labels(self) -> dict[str, dict[str, float]]:
        """Document → category → grade: what the log says now."""
        found: dict[str, dict[str, float]] = {}
        for document, category, grade in self._run(
            "SELECT document, category, grade FROM labels ORDER BY document, seq"
        ):
            found.setdefault(document, {})[category] = grade
        return found

    def preferences(self) -> dict[str, dict[tuple[str, str], float]]:
        """Document → (winner, loser) → weight: what the log says last of each pair."""
        found: dict[str, dict[tuple[str, str], float]] = {}
        for document, winner, loser, weight in self._run(
            "SELECT document, category, other, grade FROM preferences "
            "ORDER BY document, seq"
        ):
            found.setdefault(document, {})[winner, loser] = weight
        return found

    def note_event(self, what: str, who: str, **detail: Any) -> None:
        """Remember that something was done to the project as a whole."""
        self._run(
            "INSERT INTO events (at, who, what, detail) VALUES (?, ?, ?, ?)",
            (_now(), who, what, _json(detail)),
        )

    def counts(self) -> dict[str, int]:
        """How many of everything."""
        queries = {
            "documents": "SELECT count(*) FROM documents",
            "categories": "SELECT count(*) FROM categories",
            "labelled documents": "SELECT count(DISTINCT document) FROM labels",
            "labels": "SELECT count(*) FROM labels",
            "preferences": "SELECT count(*) FROM preferences",
            "judgments in the log": "SELECT count(*) FROM judgments",
        }
        return {name: self._run(sql).fetchone()[0] for name, sql in queries.items()}

    def check(self) -> None:
        """Read every page; a bad one is a ``DamagedFolder`` with its remedy."""
        for (verdict,) in self._run("PRAGMA integrity_check(1)"):
            if verdict != "ok":
                raise damaged(self.path, sqlite3.DatabaseError(verdict))

    def _run(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(sql, values)
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise
        except sqlite3.DatabaseError as problem:
            raise damaged(self.path, problem) from problem


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
