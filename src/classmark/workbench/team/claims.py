"""Claims: which documents are open, each by one person, at all servers of a project."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from classmark.problems import Mistake
from classmark.workbench.store.presence import Presence

LOG = logging.getLogger(__name__)
MINUTES = 10
SKEW = 60.0  # seconds: a claim that ends later than so is of a clock that was wrong
HELD = 3  # documents that one person may have open at once
TAKE = """
INSERT INTO claims (document, who, until) VALUES (?1, ?2, ?3)
ON CONFLICT (document) DO UPDATE SET who = excluded.who, until = excluded.until
WHERE claims.who = excluded.who OR claims.until <= ?4 OR claims.until > ?5
RETURNING who
"""
LEAVE_OLDEST = """
DELETE FROM claims WHERE who = ?1 AND document <> ?3 AND until <=
  (SELECT until FROM claims WHERE who = ?1 ORDER BY until DESC LIMIT 1 OFFSET ?2)
"""
RELEASE = "DELETE FROM claims WHERE document = ? AND who = ?"
OPEN = "SELECT document, who FROM claims WHERE until > ? AND until <= ?"


class Claims:
    """Documents that are open, each by one person, for some minutes.

    presence : where they are noted; None: in memory. A claim is a courtesy, and no
    lock: one that cannot be noted keeps nobody from working.

    >>> claims = Claims()
    >>> claims.take("d1", "ada"), claims.take("d1", "bo"), claims.holder("d1")
    (True, False, 'ada')
    """

    def __init__(
        self,
        presence: Presence | None = None,
        minutes: float = MINUTES,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._run, self._now = (presence or Presence()).run, now
        self._seconds = 60 * minutes

    def take(self, document: str, who: str) -> bool:
        """Have a document open from now on; False where another has it."""
        now = self._now()
        try:
            until = (
                now + self._seconds
            )  # threads do not come in the order of their times
            if not self._run(TAKE, (document, who, until, now, until + SKEW)):
                return False
            self._run(LEAVE_OLDEST, (who, HELD, document))
        except Mistake as problem:  # such as a full disk
            LOG.warning("not noted that %s has %s open: %s", who, document, problem)
        return True

    def release(self, document: str, who: str) -> None:
        """Close a document, where it is open by this person."""
        try:
            self._run(RELEASE, (document, who))
        except Mistake as problem:  # it ends by itself
            LOG.warning("not noted that %s closed %s: %s", who, document, problem)

    def holders(self) -> dict[str, str]:
        """Document → who has it open."""
        now = self._now()
        return dict(self._run(OPEN, (now, now + self._seconds + SKEW)))

    def holder(self, document: str) -> str:
        """Who has a document open; "" if nobody."""
        now = self._now()
        values = (now, now + self._seconds + SKEW, document)
        rows = self._run(f"{OPEN} AND document = ?", values)
        return str(rows[0][1]) if rows else ""
