"""Pace: how many categories were looked at for each document that was decided?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from classmark.workbench.store import Store

ACTS = 300  # the last ones, that are asked; no index by document is to be scanned
LOOKED_AT = """
SELECT avg(deepest), count(*) FROM (
  SELECT max(rank) AS deepest FROM judgments AS j
  WHERE seq > (SELECT max(seq) FROM judgments) - ? AND act IN ('assign', 'primary')
  AND rank IS NOT NULL AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq)
  GROUP BY document || ''
) AS decided
"""


def pace(store: Store) -> str:
    """The mean rank of the last label that was right, of late, in words; or ""."""
    mean, many = store.run(LOOKED_AT, (ACTS,)).fetchone()
    return f"{float(mean):.1f} looked at per document" if many else ""
