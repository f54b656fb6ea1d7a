"""Ledger: which documents wait, which are decided, which are set aside; in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from classmark.workbench.store.store import Store
    from classmark.workbench.team.desk import Desk


STANDS = (
    "SELECT EXISTS (SELECT 1 FROM labels WHERE document = ?), "
    "EXISTS (SELECT 1 FROM aside WHERE document = ?)"
)


class Ledger:
    """The documents of a project in order of arrival, and where each one stands.

    upto : the last act that is known; acts after it are looked at by ``catch_up``;
    returned : grows when a document waits that did not before.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.ids: dict[str, None] = {}
        self.labelled: set[str] = set()
        self.aside: set[str] = set()
        self.upto = self.newest = self.returned = 0

    def read(self, store: Store) -> None:
        """Know everything anew."""
        with store.snapshot():
            upto, newest = _last(store)
            ids = dict.fromkeys(
                id_ for (id_,) in store.run("SELECT id FROM documents ORDER BY number")
            )
            labelled = {
                id_ for (id_,) in store.run("SELECT DISTINCT document FROM labels")
            }
            aside = store.aside()
        with self._lock:
            self.ids, self.labelled, self.aside = ids, labelled, aside
            self.upto, self.newest = upto, newest
            self.returned += 1

    def catch_up(self, store: Store) -> list[str]:
        """Know what came since; return the documents that something was said of."""
        upto, newest = _last(store)
        came = [
            str(id_)
            for (id_,) in store.run(
                "SELECT DISTINCT document FROM judgments WHERE seq > ? AND seq <= ? "
                "AND document IS NOT NULL",
                (self.upto, upto),
            )
        ]
        for (id_,) in store.run(
            "SELECT id FROM documents WHERE number > ? ORDER BY number", (self.newest,)
        ):
            with self._lock:
                self.ids[id_] = None
            self.returned += 1
        self.look(store, came)
        self.upto, self.newest = max(upto, self.upto), max(newest, self.newest)
        return came

    def look(self, store: Store, documents: Iterable[str]) -> None:
        """Know where these documents stand now."""
        for id_ in documents:
            waited = self.waits(id_)
            stands = store.run(STANDS, (id_, id_)).fetchone()
            with self._lock:
                for those, found in zip(
                    (self.labelled, self.aside), stands, strict=True
                ):
                    those.add(id_) if found else those.discard(id_)
            self.returned += not waited and self.waits(id_)

    def waits(self, document: str) -> bool:
        """Whether a document has no label and is not set aside."""
        return document not in self.labelled and document not in self.aside

    def count(self) -> int:
        """How many documents wait, or about."""
        return len(self.ids) - len(self.labelled | self.aside)

    def waiting(self) -> list[str]:
        """The documents that wait, in order of arrival."""
        with self._lock:
            return [id_ for id_ in self.ids if self.waits(id_)]


def _last(store: Store) -> tuple[int, int]:
    (upto,) = store.run("SELECT coalesce(max(seq), 0) FROM judgments").fetchone()
    (newest,) = store.run("SELECT coalesce(max(number), 0) FROM documents").fetchone()
    return int(upto), int(newest)


LABELS = "SELECT document, category FROM labels"
MANY = 2000  # acts, above which all are read again
_KEPT: WeakKeyDictionary[Desk, Holdings] = WeakKeyDictionary()
_LOCK = Lock()


@dataclass(frozen=True)
class Holdings:
    """The labels of every decided document, as they were after an act.

    labels : document → ids of its categories;  upto : the number of the act.
    """

    labels: Mapping[str, tuple[str, ...]]
    upto: int

    @cached_property
    def counts(self) -> Counter[str]:
        """Category → how many documents have it as a label."""
        return Counter(name for names in self.labels.values() for name in names)

    @cached_property
    def documents(self) -> Mapping[str, list[str]]:
        """Category → its documents, those decided last at the end."""
        found: dict[str, list[str]] = {}
        for document, names in self.labels.items():
            for name in names:
                found.setdefault(name, []).append(document)
        return found


def holdings_of(desk: Desk) -> Holdings:
    """What the categories of a desk hold now."""
    store = desk.project.store
    with _LOCK:
        kept = _KEPT.get(desk)
        last = _last_act(store)
        if kept is None or _is_other(store, kept, last):
            kept = Holdings(_labels(store.run(f"{LABELS} ORDER BY seq")), last)
        elif last != kept.upto:
            kept = _followed(store, kept, last)
        _KEPT[desk] = kept
        return kept


def _last_act(store: Store) -> int:
    (last,) = store.run("SELECT coalesce(max(seq), -1) FROM judgments").fetchone()
    return int(last)


def _is_other(store: Store, kept: Holdings, last: int) -> bool:
    """Whether categories changed since, or too much did."""
    (changed,) = store.run(
        "SELECT count(changes) FROM judgments WHERE seq > ?", (kept.upto,)
    ).fetchone()
    return bool(changed) or not 0 <= last - kept.upto <= MANY


def _followed(store: Store, kept: Holdings, last: int) -> Holdings:
    labels = dict(kept.labels)
    for (id_,) in store.run(
        "SELECT DISTINCT document FROM judgments WHERE seq > ? AND seq <= ? "
        "AND document IS NOT NULL", (kept.upto, last)
    ).fetchall():  # fmt: skip
        labels.pop(id_, None)
        rows = store.run(f"{LABELS} WHERE document = ? ORDER BY seq", (id_,))
        labels |= _labels(rows)
    return Holdings(labels, last)


def _labels(rows: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for document, category in rows:
        found[document] = (*found.get(document, ()), category)
    return found
