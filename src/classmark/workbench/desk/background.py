"""Background: what goes on beside the requests: learning, ordering, noticing."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from threading import Condition, Thread
from typing import TYPE_CHECKING

from classmark.workbench.desk.events import Event
from classmark.workbench.desk.guesses import LOOKED_AT

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk

LOOK = 1.0  # seconds between two looks at what others have done
IDLE = 30.0  # seconds without an act, after which the ranker is saved
AGAIN = 2.0  # seconds, at least, between two looks at the queue


class Background:
    """One thread that learns, and one that looks at the documents that wait."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._wake, self._stale, self._stop = (threading.Event() for _ in range(3))
        self._hurry, self._begun = threading.Event(), threading.Event()
        self._changed = Condition()
        self._asked = self._looked = 0
        self._wanted = self._learned = 0
        self._acted = time.monotonic()
        self._threads = [
            Thread(target=self._repeat, args=(self._learn,), name="learning"),
            Thread(target=self._repeat, args=(self._order,), name="ordering"),
        ]

    def start(self) -> None:
        """Begin."""
        self._stale.set()
        for thread in self._threads:
            thread.daemon = True
            thread.start()

    def stop(self) -> None:
        """End, with everything saved."""
        self._stop.set()
        self._wake.set()
        self._stale.set()
        self._hurry.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def wake(self) -> None:
        """Learn soon."""
        self._wake.set()

    def learned(self, timeout: float | None = None) -> bool:
        """Wait until every act written by now is learned; False: not in time.

        A ranker that only training changes has nothing to learn.
        """
        with self._changed:
            self._wanted += 1
            wanted = self._wanted
            self._wake.set()
            return self._wait(lambda: self._learned >= wanted, timeout)

    def ordered(self, timeout: float | None = None) -> bool:
        """Wait until the documents that wait are looked at again, from now on."""
        with self._changed:
            self._asked += 1
            wanted = self._asked
            self._stale.set()
            self._hurry.set()
            return self._wait(lambda: self._looked >= wanted, timeout)

    def first_ordered(self, timeout: float) -> bool:
        """Wait, once, until some of the documents that wait were looked at."""
        found = self._begun.wait(timeout)
        self._begun.set()
        return found

    def _wait(self, until: Callable[[], bool], timeout: float | None) -> bool:
        return bool(self._changed.wait_for(until, timeout))

    def _repeat(self, step: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                step()
            except Exception:
                logging.getLogger(__name__).exception("%s failed", step.__name__)
                self._stop.wait(LOOK)

    def _learn(self) -> None:
        woken = self._wake.wait(LOOK)
        with self._changed:
            self._wake.clear()
            wanted = self._wanted
        desk = self._desk
        desk.notice()
        came = desk.ledger.catch_up(desk.project.store)
        if desk.service.upto < desk.ledger.upto:
            learned = desk.service.learn()
            if learned is not None and learned.documents:
                said = f"learned from {learned.documents}"
                desk.events.tell(Event("learned", desk.service.upto, said=said))
        if came or woken:
            self._acted = time.monotonic()
            self._stale.set()
        elif time.monotonic() - self._acted > IDLE:
            desk.service.save()
        with self._changed:
            self._learned = wanted
            self._changed.notify_all()

    def _order(self) -> None:
        self._stale.wait()
        with self._changed:
            self._stale.clear()
            self._hurry.clear()
            asked = self._asked
        desk = self._desk
        desk.guesses.look(desk.queues.sample(LOOKED_AT), self._rest)
        self._begun.set()
        with self._changed:
            self._looked = asked
            self._changed.notify_all()
        self._hurry.wait(AGAIN)

    def _rest(self, seconds: float) -> bool:
        self._begun.set()
        return not self._stop.wait(seconds)
