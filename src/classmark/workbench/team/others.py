"""Others: what other processes have written to a project, told at this desk."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING

from classmark.workbench.store.log import SKIP
from classmark.workbench.team.events import Event

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk

SETTLED = 0.25  # seconds after which this desk's own acts are known to be its own
MANY = 100  # acts, above which they are not told one by one
ACTS = """
SELECT j.seq, j.document, j.who, j.act, coalesce(c.id, '')
FROM judgments AS j LEFT JOIN categories AS c ON c.number = j.category
WHERE j.seq > ? AND j.seq <= ? AND j.document IS NOT NULL ORDER BY j.seq
"""


class Others:
    """Acts on documents that this desk has not made itself.

    Only one thread looks; everybody may say what is ours.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = Lock()
        self._ours: set[int] = set()
        self._upto = self._newest = desk.state.upto
        self._seen = time.monotonic()

    def ours(self, numbers: Iterable[int]) -> None:
        """These acts were made here, and everybody here knows of them."""
        with self._lock:
            self._ours.update(numbers)

    @property
    def are_waiting(self) -> bool:
        """Whether there are acts that may be somebody else's."""
        return self._newest > self._upto

    def look(self) -> None:
        """Tell what others have done, once it is clear that it was they."""
        if self.are_waiting and time.monotonic() - self._seen >= SETTLED:
            self._tell(self._newest)
        if not self.are_waiting:
            self._newest, self._seen = self._desk.state.upto, time.monotonic()

    def _tell(self, upto: int) -> None:
        desk, before = self._desk, self._upto
        rows = desk.store.run(ACTS, (before, upto)).fetchall()
        with self._lock:
            theirs = [row for row in rows if row[0] not in self._ours]
            self._ours = {number for number in self._ours if number > upto}
        self._upto = upto
        if theirs:
            desk.examples.forget()
        if len(theirs) > MANY:
            return
        for (document, who), acts in groupby(theirs, key=lambda row: row[1:3]):
            each = list(acts)
            if all(act == SKIP for _, _, _, act, _ in each):
                desk.queues.skip(document, who)
            else:
                desk.queues.unskip(document)
            said = ", ".join(f"{act} {name}".strip() for *_, act, name in each)
            event = Event("decided", each[0][0], document, who, said)
            desk.events.pass_on(event)
