"""Ledger: which documents wait, which are decided, which are set aside; in memory."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from classmark.workbench.store import Store

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
