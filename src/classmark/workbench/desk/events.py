"""Events: what happens on the desk, told to everybody who listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Self

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
