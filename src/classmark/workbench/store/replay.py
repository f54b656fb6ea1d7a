"""The log read act by act, and a project as it was at any of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
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
    Entry,
    Judged,
    Row,
    as_categories,
    sorted_out,
)

if TYPE_CHECKING:
    from classmark.workbench.store.store import Store


class Replay:
    """The state of documents and categories after each entry taken, in order.

    >>> taken = [Entry(1, "d", "assign", "a", None, 1.0, *[None] * 3, {}, (1, None))]
    >>> replay = Replay(taken)
    >>> replay.names[1] = "a"
    >>> replay.judged("d").labels
    {'a': 1.0}
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.names: dict[int, str] = {}
        self._called: dict[int, str] = {}
        self._undone: set[int] = set()
        self._undoes: dict[int, int] = {}
        self._said: dict[str, list[Entry]] = {}
        for entry in entries:
            self.take(entry)

    def take(self, entry: Entry) -> None:
        """Take the next entry."""
        for number, fields in entry.changes.items():
            if "id" in fields:
                self._called[number] = str(fields["id"][1])
            standing = number in self.names
            if fields["stands"][1] if "stands" in fields else standing:
                self.names[number] = self._called[number]
            else:
                self.names.pop(number, None)
        if entry.undoes is not None:
            self._undoes[entry.seq] = entry.undoes
            self._fall(entry.undoes)
        elif entry.document is not None:
            self._said.setdefault(entry.document, []).append(entry)

    def holds(self, seq: int) -> bool:
        """Whether an act is not undone."""
        return seq not in self._undone

    def documents(self) -> list[str]:
        """The documents something was said of."""
        return list(self._said)

    def judged(self, document: str) -> Judged:
        """What holds of a document now; its text is not here."""
        entries = [e for e in self._said.get(document, []) if self.holds(e.seq)]
        said: dict[int, Entry] = {}
        for entry in entries:
            number = entry.numbers[0]
            if entry.act in STATEMENTS and number is not None:
                said.pop(number, None)
                said[number] = entry
        parts: dict[str, Any] = sorted_out(
            {
                self.names[number]: (entry.act, entry.grade)
                for number, entry in said.items()
                if number in self.names
            }
        )
        preferred = self._preferred(entries)
        aside = _aside(entries)
        return Judged(
            Document(document, {}), preferences=preferred, aside=aside, **parts
        )

    def _preferred(self, entries: list[Entry]) -> dict[tuple[str, str], float]:
        last: dict[frozenset[int | None], Entry] = {}
        for entry in entries:
            if entry.act in {PREFER, RETRACT}:
                last.pop(frozenset(entry.numbers), None)
                last[frozenset(entry.numbers)] = entry
        found = {}
        for entry in last.values():
            winner, loser = (self.names.get(n or 0) for n in entry.numbers)
            if entry.act == PREFER and winner is not None and loser is not None:
                found[winner, loser] = float(entry.grade or 0.0)
        return found

    def _fall(self, seq: int) -> None:
        """An act holds no more; what it undid holds again, and so on down the chain."""
        falls, at = True, seq
        while True:
            if falls:
                self._undone.add(at)
            else:
                self._undone.remove(at)
            if at not in self._undoes:
                return
            at, falls = self._undoes[at], not falls


def require_replayed(store: Store) -> None:
    """Refuse a store in which what holds is not what its log says."""
    replay = Replay(track(store.log(), "reading the log again"))
    names = [category.id for category in store.categories()]
    if sorted(names) != sorted(replay.names.values()):
        raise damaged(
            store.engine.place, sqlite3.DatabaseError("categories and log differ")
        )
    for record in store.records():
        said = replay.judged(record.id)
        same = replace(
            said, document=record.document, meta=record.meta, links=record.links
        )
        if same != record:
            problem = f"document {record.id!r} and the log differ"
            raise damaged(store.engine.place, sqlite3.DatabaseError(problem))


def _aside(entries: list[Entry]) -> bool:
    own = [e for e in entries if e.within is None and e.act not in {UNDO, *TELLING}]
    return bool(own) and own[-1].act == UNSURE and own[-1].numbers[0] is None


class Moment:
    """The categories and the judgments as they were right after act ``upto``.

    Texts are those of today: the log has none. acts : how many acts that were.
    """

    def __init__(self, store: Store, upto: int | None = None) -> None:
        self.store = store
        self.upto, self.acts = -1, 0
        self._naming: dict[int, dict[str, None]] = {}
        self.rows: dict[int, Row] = {}
        self.replay = Replay()
        for entry in store.log():
            if upto is not None and entry.seq > upto:
                break
            self.take(entry)

    def take(self, entry: Entry) -> None:
        """Go on to the next act."""
        self.replay.take(entry)
        for number, fields in entry.changes.items():
            row = self.rows.setdefault(number, dict(BLANK))
            row.update({field: after for field, (_, after) in fields.items()})
        for named in entry.numbers if entry.document is not None else ():
            if named is not None:
                self._naming.setdefault(named, {})[str(entry.document)] = None
        self.upto = entry.seq
        self.acts += 1

    def naming(self, number: int) -> dict[str, None]:
        """The documents of which something was ever said that names a category."""
        return self._naming.get(number, {})

    def categories(self) -> list[Category]:
        """The categories that stood, in order of arrival."""
        return as_categories(dict(sorted(self.rows.items())))

    def numbers(self) -> dict[str, int]:
        """Id → number of the categories that stood."""
        return {name: number for number, name in self.replay.names.items()}

    def record(self, id_: str) -> Judged:
        """A document and what was said of it."""
        return self._then(self.store.record(id_))

    def records(self) -> Iterator[Judged]:
        """All documents of today with what was said of them, in order of arrival."""
        for today in self.store.records():
            yield self._then(today)

    def _then(self, today: Judged) -> Judged:
        then = self.replay.judged(today.id)
        return replace(
            then, document=today.document, meta=today.meta, links=today.links
        )
