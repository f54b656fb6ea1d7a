"""Who has which document open, and what listeners are told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock
from typing import NamedTuple, Self

MINUTES = 10
HELD = 3  # documents that one person may have open at once


class Claim(NamedTuple):
    """Who has a document open, and until when, if nothing is heard of it."""

    who: str
    until: float


class Claims:
    """Documents that are open, each by one person, for some minutes.

    >>> claims = Claims()
    >>> claims.take("d1", "ada"), claims.take("d1", "bo"), claims.holder("d1")
    (True, False, 'ada')
    """

    def __init__(self, minutes: float = MINUTES) -> None:
        self._lock = Lock()
        self._held: dict[str, Claim] = {}
        self._seconds = 60 * minutes

    def take(self, document: str, who: str) -> bool:
        """Have a document open from now on; False where another has it."""
        with self._lock:
            if self._of(document) not in ("", who):
                return False
            self._held.pop(document, None)
            self._held[document] = Claim(who, time.monotonic() + self._seconds)
            mine = [id_ for id_, claim in self._held.items() if claim.who == who]
            for old in mine[:-HELD]:
                del self._held[old]
            return True

    def release(self, document: str, who: str) -> None:
        """Close a document, where it is open by this person."""
        with self._lock:
            if document in self._held and self._held[document].who == who:
                del self._held[document]

    def holder(self, document: str) -> str:
        """Who has a document open; "" if nobody."""
        with self._lock:
            return self._of(document)

    def held(self) -> dict[str, str]:
        """Every open document and who has it."""
        with self._lock:
            return {id_: who for id_ in list(self._held) if (who := self._of(id_))}

    def clear(self) -> None:
        """Close everything."""
        with self._lock:
            self._held.clear()

    def _of(self, document: str) -> str:
        claim = self._held.get(document)
        if claim is None:
            return ""
        if claim.until < time.monotonic():
            del self._held[document]
            return ""
        return claim.who


KINDS = ("decided", "learned", "job", "taxonomy")
KEPT = 256  # that a slow listener may leave unread


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    kind : "decided" (an act on a document), "learned" (up to act ``number``), "job" (of
    that number, begun or ended) or "taxonomy" (categories changed);  said : in words.
    """

    kind: str
    number: int = 0
    document: str = ""
    who: str = ""
    said: str = ""


class Listener:
    """Events since it began to listen, oldest first; a context manager that stops it.

    One who does not read misses the oldest, and ``missed`` says how many.
    """

    def __init__(self, events: Events) -> None:
        self._events = events
        self._queue: SimpleQueue[Event] = SimpleQueue()
        self.missed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, timeout: float | None = None) -> Event | None:
        """The next event; None where none came in ``timeout`` seconds."""
        with suppress(Empty):
            return self._queue.get(timeout=timeout)
        return None

    def waiting(self) -> Iterator[Event]:
        """The events that are there already."""
        with suppress(Empty):
            while True:
                yield self._queue.get_nowait()

    def put(self, event: Event) -> None:
        """Be told of an event."""
        if self._queue.qsize() >= KEPT:
            with suppress(Empty):
                self._queue.get_nowait()
                self.missed += 1
        self._queue.put(event)

    def close(self) -> None:
        """Listen no longer."""
        self._events.leave(self)


class Events:
    """Tells what happens to all listeners.

    >>> events = Events()
    >>> with events.subscribe() as listener:
    ...     events.tell(Event("decided", 7, "d1"))
    ...     listener.get().number
    7
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: list[Listener] = []

    def subscribe(self) -> Listener:
        """Listen from now on."""
        listener = Listener(self)
        with self._lock:
            self._listeners.append(listener)
        return listener

    def leave(self, listener: Listener) -> None:
        """Tell this one nothing any more."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def tell(self, event: Event) -> None:
        """Tell everybody."""
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener.put(event)
