"""Claims: which document does somebody have open, so that nobody else is given it?"""

from __future__ import annotations

import time
from threading import Lock
from typing import NamedTuple

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
            own = [id_ for id_, claim in self._held.items() if claim.who == who]
            for old in own[:-HELD]:
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
