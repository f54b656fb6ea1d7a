"""Events: what happens in a project, told to all who listen at a server."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

KEPT = 256  # that a slow listener may leave unread


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    kind : "decided" (an act on a document), "learned" (up to act ``number``), "job" (of
    that number, begun or ended), "trained" (by that job) or "taxonomy" (categories
    changed);  said : in words.
    """

    kind: str
    number: int = 0
    document: str = ""
    who: str = ""
    said: str = ""


class Events:
    """Tells what happens to all listeners; one who does not read misses the oldest.

    >>> events = Events()
    >>> with events.subscribe() as listener:
    ...     events.tell("decided", 7)
    ...     listener.popleft().number
    7
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: dict[int, tuple[deque[Event], bool]] = {}

    @contextmanager
    def subscribe(self, *, here: bool = False) -> Iterator[deque[Event]]:
        """Listen: events are appended from now on; ``here`` : of this server only."""
        listener: deque[Event] = deque(maxlen=KEPT)
        with self._lock:
            self._listeners[id(listener)] = listener, here
        try:
            yield listener
        finally:
            with self._lock:
                del self._listeners[id(listener)]

    def tell(self, kind: str, number: int = 0, **facts: str) -> None:
        """Tell everybody of an event at this server."""
        self.pass_on(Event(kind, number, **facts), here=True)

    def pass_on(self, event: Event, *, here: bool = False) -> None:
        """Tell of an event; not ``here`` : of another server, which has webhooks."""
        with self._lock:
            for listener, only_here in self._listeners.values():
                if here or not only_here:
                    listener.append(event)
