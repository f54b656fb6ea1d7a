"""Queues: in which order somebody is given the documents that wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING

from classmark.problems import Mistake
from classmark.workbench.queueing import ORDERS, shuffled

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk

LISTED = "listed"
ROOM = 100  # documents that do not wait, before they are dropped from a list
FIRST = 0.5  # seconds that the first one who asks may wait for the order
SKIPPED = """
SELECT document FROM judgments AS j WHERE act = 'skip' AND who = ?
AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq) ORDER BY seq
"""


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """The order somebody chose, and which documents.

    order : "uncertain", "likely", "random", "similar" (to what they decided last), or
    "listed": as ``among`` names them;  filters : as the inbox shows them;  among : the
    documents they leave; None: all that wait.
    """

    order: str = "uncertain"
    filters: Mapping[str, str] = field(default_factory=dict)
    among: tuple[str, ...] | None = None


class Queues:
    """Every person's own queue over one ledger."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = Lock()
        self._choices: dict[str, QueueChoice] = {}
        self._skipped: dict[str, dict[str, None]] = {}
        self._all: list[str] = []
        self._left: list[str] = []
        self._returned = -1

    def of(self, who: str) -> QueueChoice:
        """What somebody chose; uncertain first, where nothing."""
        return self._choices.get(who, QueueChoice())

    def set(self, who: str, choice: QueueChoice) -> None:
        """Give somebody documents in this order from now on."""
        if choice.order not in (*ORDERS, LISTED):
            raise Mistake(f"order is {choice.order!r}: use {', '.join(ORDERS)}")
        self._choices[who] = choice

    def next_for(self, who: str, after: str | None = None) -> str | None:
        """The first document in somebody's order that nobody else has open."""
        claims = self._desk.claims
        self._desk.background.first_ordered(FIRST)
        for id_ in self.in_turn(who, after):
            if id_ != after and claims.take(id_, who):
                return id_
        return None

    def ordered(self, order: str, like: str | None = None) -> list[str]:
        """All documents that wait, in an order; as far as they were looked at yet.

        like : the document that "similar" means; None: the one decided last.
        """
        ledger, guesses = self._desk.ledger, self._desk.guesses
        first = [] if order == "random" else guesses.ordered(order, like)
        known = set(first)
        rest = (id_ for id_ in self._shuffled() if id_ not in known)
        return [id_ for id_ in (*first, *rest) if ledger.waits(id_)]

    def sample(self, most: int) -> list[str]:
        """Some documents that wait, drawn evenly: those that are to be looked at."""
        waits = self._desk.ledger.waits
        return list(islice((i for i in self._shuffled() if waits(i)), most))

    def skip(self, document: str, who: str) -> None:
        """Put a document at the end of somebody's queue."""
        skipped = self._skipped_by(who)
        skipped.pop(document, None)
        skipped[document] = None

    def unskip(self, document: str) -> None:
        """Look into the log again who has skipped what: something was taken back."""
        with self._lock:
            for who in [w for w, ids in self._skipped.items() if document in ids]:
                del self._skipped[who]

    def in_turn(self, who: str, after: str | None = None) -> Iterator[str]:
        """Somebody's documents that wait, what they skipped last."""
        skipped = self._skipped_by(who)
        waits = self._desk.ledger.waits
        for id_ in self._own(who, after):
            if id_ not in skipped and waits(id_):
                yield id_
        among = self.of(who).among
        for id_ in list(skipped):
            if waits(id_) and (among is None or id_ in among):
                yield id_

    def _own(self, who: str, after: str | None) -> Iterable[str]:
        choice = self.of(who)
        if choice.order == LISTED:
            yield from choice.among or ()
            return
        chosen = None if choice.among is None else set(choice.among)
        first: list[str] = []
        if choice.order != "random":
            first = self._desk.guesses.ordered(choice.order, after)
        for id_ in chain(first, self._shuffled()):
            if chosen is None or id_ in chosen:
                yield id_

    def _shuffled(self) -> list[str]:
        """The documents that wait, and some more, in the project's own random order."""
        ledger = self._desk.ledger
        with self._lock:
            if len(self._all) != len(ledger.ids):
                ids, name = list(ledger.ids), self._desk.project.settings.name
                self._all = [ids[i] for i in shuffled(ids, name)] if ids else []
            if self._returned != ledger.returned or self._is_long():
                self._returned = ledger.returned
                self._left = [id_ for id_ in self._all if ledger.waits(id_)]
            return self._left

    def _is_long(self) -> bool:
        """Whether most of the documents left do not wait any more."""
        return len(self._left) > 2 * self._desk.ledger.count() + ROOM

    def _skipped_by(self, who: str) -> dict[str, None]:
        with self._lock:
            if who not in self._skipped:
                rows = self._desk.project.store.run(SKIPPED, (who,))
                self._skipped[who] = dict.fromkeys(id_ for (id_,) in rows)
            return self._skipped[who]
