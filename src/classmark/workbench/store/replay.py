"""The log read act by act, and a project as it was at any of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from classmark.corpus.documents import Document
from classmark.progress import track
from classmark.taxonomy.category import Category
from classmark.workbench.store.database import damaged
from classmark.workbench.store.log import (
    BLANK,
    PREFER,
    RETRACT,
    STATEMENTS,
    TELLING,
    UNDO,
    UNSURE,
    JudgedRecord,
    LogEntry,
    Row,
    as_categories,
    sorted_out,
)

if TYPE_CHECKING:
    from classmark.workbench.store.store import Store


class LogReplay:
    """The state of documents and categories after each entry taken, in order.

    rows : number → the row of a category;  names : number → id of those that stand.

    >>> acts = [LogEntry(1, "d", "assign", 1.0, None, None, None, {}, (1, None))]
    >>> replay = LogReplay(acts)
    >>> replay.names[1] = "a"
    >>> replay.judged("d").labels
    {'a': 1.0}
    """

    def __init__(self, entries: Iterable[LogEntry] = ()) -> None:
        self.rows: dict[int, Row] = {}
        self.names: dict[int, str] = {}
        self._undone: set[int] = set()
        self._undoes: dict[int | None, int] = {}
        self._entries: dict[str, list[LogEntry]] = {}
        for entry in entries:
            self.take(entry)

    def take(self, entry: LogEntry) -> None:
        """Take the next entry."""
        for number, fields in entry.changes.items():
            row = self.rows.setdefault(number, dict(BLANK))
            row.update({field: after for field, (_, after) in fields.items()})
            if row["stands"]:
                self.names[number] = row["id"]
            else:
                self.names.pop(number, None)
        if entry.undoes is not None:
            self._undoes[entry.seq] = entry.undoes
            seq: int | None = entry.undoes
            while seq is not None:  # what an undone act undid holds again, and so on
                self._undone ^= {seq}
                seq = self._undoes.get(seq)
        elif entry.document is not None:
            self._entries.setdefault(entry.document, []).append(entry)

    def holds(self, seq: int) -> bool:
        """Whether an act is not undone."""
        return seq not in self._undone

    def judged(self, document: str) -> JudgedRecord:
        """What holds of a document now; its text is not here."""
        entries = [e for e in self._entries.get(document, []) if self.holds(e.seq)]
        last = _last_by(entries, STATEMENTS, lambda entry: entry.numbers[0])
        statements = {
            self.names[number]: (entry.act, entry.grade)
            for number, entry in last.items()
            if number in self.names
        }
        return JudgedRecord(
            Document(document, {}),
            preferences=self._preferences(entries),
            aside=_is_aside(entries),
            **sorted_out(statements),
        )

    def _preferences(self, entries: list[LogEntry]) -> dict[tuple[str, str], float]:
        pairs = _last_by(entries, (PREFER, RETRACT), lambda e: frozenset(e.numbers))
        preferences = {}
        for entry in pairs.values():
            winner, loser = (self.names.get(n or 0) for n in entry.numbers)
            if entry.act == PREFER and winner is not None and loser is not None:
                preferences[winner, loser] = float(entry.grade or 0.0)
        return preferences


def _last_by(
    entries: list[LogEntry], acts: tuple[str, ...], key: Callable[[LogEntry], Any]
) -> dict[Any, LogEntry]:
    """Key → the last of the entries with such acts, in the order of the log."""
    last: dict[Any, LogEntry] = {}
    for entry in entries:
        if entry.act in acts:
            last.pop(key(entry), None)
            last[key(entry)] = entry
    return last


def _is_aside(entries: list[LogEntry]) -> bool:
    acts = [e for e in entries if e.within is None and e.act not in {UNDO, *TELLING}]
    return bool(acts) and acts[-1].act == UNSURE and acts[-1].numbers[0] is None


def require_replayed(store: Store) -> None:
    """Refuse a store in which what holds is not the result of its log."""
    replay = LogReplay(track(store.log(), "reading the log again"))
    names = [category.id for category in store.categories()]
    if sorted(names) != sorted(replay.names.values()):
        problem = sqlite3.DatabaseError("categories and log differ")
        raise damaged(store.engine.place, problem)
    for record in store.records():
        if _with_text(replay.judged(record.id), record) != record:
            differs = f"document {record.id!r} and the log differ"
            raise damaged(store.engine.place, sqlite3.DatabaseError(differs))


def _with_text(judged: JudgedRecord, record: JudgedRecord) -> JudgedRecord:
    return replace(
        judged, document=record.document, meta=record.meta, links=record.links
    )


class Moment(LogReplay):
    """The categories and the judgments as they were right after act ``upto``.

    Texts are those of today: the log has none. acts : how many acts that were.
    """

    def __init__(self, store: Store, upto: int | None = None) -> None:
        super().__init__()
        self.store = store
        self.upto, self.acts = -1, 0
        self._naming: dict[int, dict[str, None]] = {}
        for entry in store.log():
            if upto is not None and entry.seq > upto:
                break
            self.take(entry)

    def take(self, entry: LogEntry) -> None:
        """Go on to the next act."""
        super().take(entry)
        for number in entry.numbers:
            if number is not None and entry.document is not None:
                self._naming.setdefault(number, {})[entry.document] = None
        self.upto = entry.seq
        self.acts += 1

    def naming(self, number: int) -> dict[str, None]:
        """The documents of which an act ever named a category."""
        return self._naming.get(number, {})

    def categories(self) -> list[Category]:
        """The categories that stood, in order of arrival."""
        return as_categories(dict(sorted(self.rows.items())))

    def numbers(self) -> dict[str, int]:
        """Id → number of the categories that stood."""
        return {name: number for number, name in self.names.items()}

    def record(self, id_: str) -> JudgedRecord:
        """A document with the statements on it."""
        return _with_text(self.judged(id_), self.store.record(id_))

    def records(self) -> Iterator[JudgedRecord]:
        """All documents of today with the statements on them, in order of arrival."""
        for record in self.store.records():
            yield _with_text(self.judged(record.id), record)
