"""What somebody did since they came in, for the end of the day."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk


MOST = 5  # categories that are named
PAUSE = 10 * 60.0  # seconds without an act that do not count as work
ACTS = """
SELECT j.document, j.act, c.id, j.rank, j.at, j.within FROM judgments AS j
LEFT JOIN categories AS c ON c.number = j.category
WHERE j.who = ? AND j.at >= ? AND j.document IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq) ORDER BY j.seq
"""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """The acts of one person since a moment, undone ones left out.

    decided : documents that got a label;  postponed, skipped, rejected, comments : how
    many;  first : of the labels that had a rank, how many were the first suggestion;
    ranked : how many had one;  minutes : of work, pauses over ten minutes left out;
    categories : the most frequent, with how often.
    """

    since: str
    decided: int = 0
    postponed: int = 0
    skipped: int = 0
    rejected: int = 0
    comments: int = 0
    first: int = 0
    ranked: int = 0
    minutes: float = 0.0
    categories: tuple[tuple[str, int], ...] = ()

    @property
    def per_hour(self) -> float | None:
        """Documents decided in an hour of work; None: too little to say.

        >>> SessionSummary("", decided=30, minutes=20.0).per_hour
        90.0
        """
        return 60 * self.decided / self.minutes if self.minutes >= 1 else None


def summary(desk: Desk, who: str, since: str) -> SessionSummary:
    """What somebody did since a moment, given as the log has times."""
    rows = desk.store.run(ACTS, (who, since)).fetchall()
    labels = [row for row in rows if row[1] in ("assign", "primary")]
    ranks = [rank for _, _, _, rank, _, _ in labels if rank is not None]
    count = Counter(act for _, act, category, *_ in rows if category is None)
    times = [datetime.fromisoformat(row[4]).timestamp() for row in rows]
    gaps = (later - at for at, later in pairwise(times))
    return SessionSummary(
        since,
        decided=len({row[0] for row in labels}),
        postponed=count["unsure"],
        skipped=count["skip"],
        rejected=sum(row[1] == "reject" for row in rows),
        comments=count["note"],
        first=ranks.count(1),
        ranked=len(ranks),
        minutes=sum(gap for gap in gaps if gap < PAUSE) / 60,
        categories=tuple(Counter(row[2] for row in labels).most_common(MOST)),
    )
