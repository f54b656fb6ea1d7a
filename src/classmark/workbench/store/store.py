"""Store: documents, categories, judgments and events of one project, in SQLite.

The judgment log is append-only and the truth; the labels of a document are a view of
it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Self

from classmark.corpus.documents import Document
from classmark.formats.records import THRESHOLD, Record
from classmark.language import _
from classmark.problems import MissingExtra, refusal, worded
from classmark.taxonomy.category import ACTIVE, Category
from classmark.workbench.settings import StoreSettings
from classmark.workbench.store.log import (
    BLANK,
    DELETE,
    IMPORT,
    INSERT,
    PARENTS,
    PREFER,
    REMOVE,
    REPLACE,
    RETRACT,
    Act,
    JudgedRecord,
    LogEntry,
    Row,
    as_categories,
    as_json,
    as_row,
    difference,
    now,
    sorted_out,
    stored_rows,
    unpacked,
)
from classmark.workbench.store.schema import damaged
from classmark.workbench.store.sqlite import Embedded, transaction

if TYPE_CHECKING:
    from classmark.workbench.store.postgres import Postgres


NEW_CATEGORY = """
INSERT INTO categories (number, id) VALUES (?, '') ON CONFLICT DO NOTHING
"""
CATEGORY_NUMBER = "SELECT number FROM categories WHERE id = ? AND stands = 1"
STATUS = "SELECT status FROM categories WHERE id = ? AND stands = 1"
MERGED_INTO = """
SELECT b.id FROM categories AS a JOIN categories AS b ON b.number = a.joined
WHERE a.id = ? AND b.stands = 1
"""
APPEND = """
INSERT INTO judgments (at, who, document, act, category, grade, model, rank, score,
  note, other, undoes, within, changes)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq
"""
NOTE_REVISITS = "INSERT INTO lessons (seq, revisits) VALUES (?, ?)"
ENTRIES = """
SELECT seq, document, act, grade, undoes, within, revisits, changes, category, other
FROM judgments LEFT JOIN lessons USING (seq) WHERE seq > ?
"""
NEW_DOCUMENT = """
INSERT INTO all_documents (id, fields, meta, links, added, added_by)
VALUES (?, ?, ?, ?, ?, ?)
"""
ADDED_BY = "UPDATE all_documents SET added_by = ? WHERE id = ?"
STANDS = """
UPDATE all_documents SET stands = coalesce(
  (SELECT CASE j.act WHEN 'insert' THEN 1 ELSE 0 END FROM judgments AS j
   WHERE j.document = all_documents.id AND j.act IN ('delete', 'insert')
   AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq)
   ORDER BY j.seq DESC LIMIT 1),
  CASE WHEN EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = all_documents.added_by)
  THEN 0 ELSE 1 END)
WHERE {} = ?
"""
REPLACE_DOCUMENT = (
    "UPDATE all_documents SET fields = ?, meta = ?, links = ? WHERE id = ?"
)
NOTE_TEXT = "INSERT INTO texts (seq, fields, meta, links) VALUES (?, ?, ?, ?)"
TEXTS = """
SELECT t.seq, j.undoes, j.document, t.fields, t.meta, t.links
FROM texts AS t JOIN judgments AS j ON j.seq = t.seq
WHERE t.seq > ?1 AND (j.undoes IS NULL OR j.undoes <= ?1)
AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = t.seq) ORDER BY t.seq
"""
UNDONE_SINCE = """
SELECT 1 FROM undone AS u JOIN judgments AS j ON j.undoes = u.seq
WHERE u.seq <= ?1 AND j.seq > ?1
AND NOT EXISTS (SELECT 1 FROM undone AS v WHERE v.seq = j.seq)
"""
UNDONE_WITH_UNDOINGS = """
WITH RECURSIVE without (seq) AS (
  SELECT seq FROM undone WHERE seq <= ?1
  UNION SELECT j.seq FROM judgments AS j JOIN without AS w ON j.undoes = w.seq
  WHERE j.seq <= ?1)
SELECT seq FROM without
"""
DOCUMENTS = "SELECT id, fields, meta, links FROM documents"
IS_HERE = "SELECT 1 FROM documents WHERE id = ?"
EVER = "SELECT id, fields, meta, links FROM all_documents"
CHANGED_CATEGORIES = """
SELECT changes FROM judgments WHERE changes IS NOT NULL AND seq > ? AND seq <= ?
ORDER BY seq
"""
LATER_CATEGORIES = "SELECT count(*) FROM categories WHERE number >= ?"
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


class Store:
    """The project's database with its judgment log; a context manager that closes it.

    path : the SQLite file;  server : where else the tables are, if its ``url`` says so;
    the path then only says which project they belong to;  run, state, check, close : of
    the engine that has the tables.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        shared: bool = False,
        server: StoreSettings | None = None,
    ) -> None:
        self.path = path
        self.engine: Embedded | Postgres
        if server is not None and server.url:
            try:
                from classmark.workbench.store import postgres
            except ImportError:
                raise MissingExtra("Stores in PostgreSQL", "postgres") from None
            self.engine = postgres.Postgres(server, create=create)
        else:
            self.engine = Embedded(path, create=create, shared=shared)
        self.server = server
        self.run, self.close = self.engine.run, self.engine.close
        self.state, self.check = self.engine.state, self.engine.check

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def transaction(self) -> AbstractContextManager[None]:
        """All that happens inside is committed together, or not at all.

        One inside another is part of it. One at a time writes, whoever it is.
        """
        return transaction(self.engine)

    def snapshot(self) -> AbstractContextManager[None]:
        """All that is read inside is of one moment, whatever others write."""
        return transaction(self.engine, write=False)

    def number_of(self, category: str) -> int:
        """The number of a category that stands, by its id."""
        row = self.run(CATEGORY_NUMBER, (category,)).fetchone()
        if row is not None:
            return int(row[0])
        merged = self.run(MERGED_INTO, (category,)).fetchone()
        if merged:
            remedy = _("it was merged into %(other)r: use that", other=merged[0])
        else:
            add = worded("run classmark taxonomy add {category}", category=category)
            remedy = _("correct its id, or %(remedy)s", remedy=add)
        raise refusal(
            "there is no category %(category)r: %(remedy)s",
            category=category,
            remedy=remedy,
        )

    def has_category(self, id_: str) -> bool:
        """Whether a category of this id stands."""
        return self.run(CATEGORY_NUMBER, (id_,)).fetchone() is not None

    def is_threshold(self, name: str | None) -> bool:
        """Whether a name is the word for the threshold, and no category's."""
        return name == THRESHOLD and not self.has_category(name)

    def require_open(self, names: Iterable[str]) -> None:
        """Refuse categories that are not there or are retired."""
        for name in names:
            row = self.run(STATUS, (name,)).fetchone() or (self.number_of(name),)
            if row != (ACTIVE,):
                raise refusal(
                    "category %(name)r is retired: choose another, or undo its "
                    "retirement",
                    name=name,
                )

    def judge(self, acts: Iterable[Act], who: str) -> list[int]:
        """Append to the judgment log, all or nothing; return the acts' numbers."""
        seqs, numbers = [], dict[str | None, int | None]({None: None})
        with self.transaction():
            for act in acts:
                compares = act.act in (PREFER, RETRACT)
                for name in (act.category, act.other):
                    if name not in numbers and not (
                        compares and self.is_threshold(name)
                    ):
                        numbers[name] = self.number_of(str(name))
                pair = (numbers.get(act.category), numbers.get(act.other))
                seqs.append(self.append(act, who, pair))
        return seqs

    def append(
        self, act: Act, who: str, pair: tuple[int | None, int | None] = (None, None)
    ) -> int:
        """Make an act's changes of categories, and append it to the log.

        pair : the numbers of its category and other.
        """
        for number, fields in (act.changes or {}).items():
            if not fields.keys() <= BLANK.keys():
                raise damaged(self.engine.place, "an unknown field")
            self.run(NEW_CATEGORY, (number,))
            columns = ", ".join(f"{field} = ?" for field in fields)
            self.run(
                f"UPDATE categories SET {columns} WHERE number = ?",  # noqa: S608 (our own names)
                (*(after for _, after in fields.values()), number),
            )
        row = act._asdict() | {
            "category": pair[0],
            "other": pair[1],
            "changes": as_json(act.changes) if act.changes else None,
        }
        ((seq,),) = self.run(APPEND, (now(), who, *row.values()))
        return int(seq)

    def note_revisits(self, seq: int, revisits: int) -> None:
        """Remember how many re-visits the learner made on an act; once per act."""
        self.run(NOTE_REVISITS, (seq, revisits))

    def log(self, after: int = -1, only: str = "", *of: Any) -> Iterator[LogEntry]:
        """Every act with a greater number than ``after``, in order; only : some."""
        sql = f"{ENTRIES} {only} ORDER BY seq"
        for *columns, text, category, other in self.run(sql, (after, *of)):
            changes = unpacked(text) if text else {}
            yield LogEntry._make((*columns, changes, (category, other)))

    def put_documents(
        self,
        records: Iterable[Record],
        who: str = "import",
        within: int | None = None,
    ) -> int:
        """Add documents, or replace the contents of known ids; return how many.

        To replace is an act of the log, by ``who``; what is the same already is none.
        To bring back an id that was deleted is an act, too. within : the import that
        they are part of, which is undone with them.
        """
        put = 0
        for record in records:
            contents = contents_of(record)
            row = self.run(f"{EVER} WHERE id = ?", (record.id,)).fetchone()
            if row is None:
                self.run(NEW_DOCUMENT, (record.id, *contents, now(), within))
            else:
                if not self.contents([record.id]):
                    self.append(Act(record.id, INSERT, within=within), who)
                    self.stand("id", record.id)
                if tuple(row[1:]) != contents:
                    seq = self.append(Act(record.id, REPLACE, within=within), who)
                    self.replace_text(record.id, seq, contents)
            put += 1
        return put

    def insert_document(self, record: Record, who: str) -> None:
        """Add one document, as an act of the log; its id is new."""
        if self.run(f"{EVER} WHERE id = ?", (record.id,)).fetchone() is None:
            self.put_documents([record], who)
            seq = self.append(Act(record.id, INSERT), who)
            self.run(ADDED_BY, (seq, record.id))
        else:
            self.put_documents([record], who)

    def delete_document(self, id_: str, who: str) -> int:
        """Take a document away with all that holds of it; return the act's number."""
        self.require_document(id_)
        statements, pairs = self.standing(id_), self.preferences(id_)
        seq = self.append(Act(id_, DELETE), who)
        self.judge(taken_back(id_, statements, pairs, seq), who)
        self.stand("id", id_)
        return seq

    def stand(self, column: str, value: str | int) -> None:
        """Let documents be here, or not, as the acts that hold say.

        column : ``id``, or ``added_by``, the import that brought them;  value : of it.
        """
        self.run(STANDS.format(column), (value,))

    def replace_text(self, id_: str, seq: int, contents: tuple[str, ...]) -> None:
        """Let a document say something else from an act on; what it said is kept.

        contents : its fields, meta and links, as JSON.
        """
        self.run(NOTE_TEXT, (seq, *self._row(id_, ever=True)[1:]))
        self.run(REPLACE_DOCUMENT, (*contents, id_))

    def texts_before(
        self, after: int, without: Collection[int] = ()
    ) -> dict[str, list[tuple[int, Record]]]:
        """Document → what it said before each act with a greater number than ``after``.

        Acts that were undone, and their undoings, are left out; those before ``after``
        only where they are among ``without``.
        """
        texts: dict[str, list[tuple[int, Record]]] = {}
        for seq, undoes, *row in self.run(TEXTS, (after,)):
            if undoes not in without:
                texts.setdefault(row[0], []).append((seq, _record(row)))
        return texts

    def undone_since(self, upto: int) -> frozenset[int]:
        """The acts up to a number that are undone now, if later acts undid some.

        With them their undoings up to that number; empty where no later act undid one.
        """
        if self.run(UNDONE_SINCE, (upto,)).fetchone() is None:
            return frozenset()
        return frozenset(seq for (seq,) in self.run(UNDONE_WITH_UNDOINGS, (upto,)))

    def contents(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Id → what ``contents_of`` its record is, of those documents that are here."""
        places = ", ".join("?" * len(ids))
        rows = self.run(f"{DOCUMENTS} WHERE id IN ({places})", tuple(ids))
        return {id_: tuple(contents) for id_, *contents in rows}

    def records(self, *, ever: bool = False) -> Iterator[JudgedRecord]:
        """All documents with the statements on them, in order of arrival.

        ever : with those that were deleted since, of which nothing holds now.
        """
        statements, preferences = self.standing(), self.preferences()
        aside = self.aside()
        for row in self.run(f"{EVER if ever else DOCUMENTS} ORDER BY number"):
            id_ = row[0]
            yield _judged(
                row, statements.get(id_, {}), preferences.get(id_, {}), id_ in aside
            )

    def record(self, id_: str, *, ever: bool = False) -> JudgedRecord:
        """One document by its id, with the statements on it.

        ever : whether it may have been deleted.
        """
        statements = self.standing(id_).get(id_, {})
        preferences = self.preferences(id_).get(id_, {})
        return _judged(
            self._row(id_, ever=ever), statements, preferences, self.is_aside(id_)
        )

    def waiting(self) -> int:
        """How many documents ``undecided`` gives."""
        (count,) = self.run(f"SELECT count(*) {UNDECIDED}").fetchone()
        return int(count)

    def documents(self) -> Iterator[Document]:
        """All documents, in order of arrival."""
        for id_, fields in self.run("SELECT id, fields FROM documents ORDER BY number"):
            yield Document(id_, json.loads(fields))

    def undecided(self) -> Iterator[Document]:
        """Documents without a label that are not set aside, in order of arrival."""
        for id_, fields in self.run(f"SELECT id, fields {UNDECIDED} ORDER BY number"):
            yield Document(id_, json.loads(fields))

    def ids(self) -> set[str]:
        """The ids of all documents."""
        return {id_ for (id_,) in self.run("SELECT id FROM documents")}

    def document(self, id_: str) -> Document:
        """One document by its id, even if it was deleted since somebody listed it."""
        return Document(id_, json.loads(self._row(id_, ever=True)[1]))

    def require_document(self, id_: str) -> None:
        """Refuse an id of which there is no document, or a deleted one."""
        if self.run(IS_HERE, (id_,)).fetchone() is None:
            self._row(id_)

    def _row(self, id_: str, *, ever: bool = False) -> Any:
        sql = EVER if ever else DOCUMENTS
        row = self.run(f"{sql} WHERE id = ?", (id_,)).fetchone()
        if row is None:
            raise refusal(
                "there is no document %(id)r in %(parent)s",
                id=id_,
                parent=self.path.parent,
            )
        return row

    def put_categories(
        self,
        categories: Iterable[Category],
        who: str = "import",
        within: int | None = None,
    ) -> int:
        """Add categories, or replace the contents of known ids; return how many.

        A guideline stays where the new category has none. within : the import that
        they are part of.
        """
        new = list(categories)
        with self.transaction():
            before = self.category_rows()
            number = {row["id"]: n for n, row in before.items() if row["stands"]}
            free = count(max(before, default=0) + 1)
            number |= {c.id: next(free) for c in new if c.id not in number}
            after = {number[c.id]: as_row(c, number) for c in new}
            for n, row in after.items():
                row["guideline"] = row["guideline"] or before.get(n, row)["guideline"]
            if changes := difference(before, after):
                self.judge([Act(None, IMPORT, changes=changes, within=within)], who)
        return len(new)

    def category_rows(self, numbers: Iterable[int] | None = None) -> dict[int, Row]:
        """Number → the row of a category, of all or some, by number."""
        rows = stored_rows(self, numbers)
        return {row[0]: dict(zip(BLANK, row[1:], strict=True)) for row in rows}

    def categories(self) -> list[Category]:
        """All categories that stand, in order of arrival."""
        return as_categories(stored_rows(self))

    def changed_categories(self, after: int, upto: int) -> list[Category] | None:
        """The categories that acts between two changed, or added last, as they are.

        None where one is called otherwise, was taken away or was brought back.
        """
        new, numbers = set[int](), set[int]()
        for (text,) in self.run(CHANGED_CATEGORIES, (after, upto)):
            for number, fields in unpacked(text).items():
                numbers.add(number)
                if "id" in fields or "stands" in fields:
                    if number in new or fields.get("stands", (1, 1)) != (0, 1):
                        return None
                    new.add(number)
        if new:
            ((later,),) = self.run(LATER_CATEGORIES, (min(new),))
            if later != len(new):
                return None
        rows = stored_rows(self, numbers)
        above = {p for row in rows for p in json.loads(row[PARENTS])}
        changed = {id_ for _, id_, *_ in rows}
        every = [*rows, *stored_rows(self, above - numbers)]
        return [each for each in as_categories(every) if each.id in changed]

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

    def counts(self, *names: str) -> dict[str, int]:
        """How many of everything, or of what is named."""
        return {
            name: int(self.run(COUNTS[name]).fetchone()[0]) for name in names or COUNTS
        }


def taken_back(
    document: str,
    statements: Mapping[str, Mapping[str, Any]],
    pairs: Mapping[str, Mapping[tuple[str, str], float]],
    within: int,
) -> Iterator[Act]:
    """The acts that take back all that is said of a document.

    statements, pairs : document → what holds, as ``Store.standing`` and
    ``Store.preferences`` give it.
    """
    for name in statements.get(document, {}):
        yield Act(document, REMOVE, name, within=within)
    for winner, loser in pairs.get(document, {}):
        yield Act(document, RETRACT, winner, other=loser, within=within)


def contents_of(record: Record) -> tuple[str, ...]:
    """The fields, meta and links of a record, as they stand in the store."""
    fields, meta = dict(record.document.fields), dict(record.meta)
    return (*map(as_json, (fields, meta, [list(link) for link in record.links])),)


def _judged(
    row: tuple[str, str, str, str],
    statements: dict[str, tuple[str, float | None]],
    preferences: dict[tuple[str, str], float],
    aside: bool,
) -> JudgedRecord:
    record = _record(row)
    return JudgedRecord(
        record.document,
        meta=record.meta,
        links=record.links,
        preferences=preferences,
        aside=aside,
        **sorted_out(statements),
    )


def _record(row: Sequence[str]) -> Record:
    id_, fields, meta, links = row
    pairs = tuple((to, anchor) for to, anchor in json.loads(links))
    return Record(Document(id_, json.loads(fields)), meta=json.loads(meta), links=pairs)


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
