"""Sheets: what is laid out for whom; it stays as it is while it is in use."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING

from classmark.workbench.deciding import Seen

if TYPE_CHECKING:
    from classmark.workbench.desk.sheets import Sheet

Key = tuple[str, str, bool]  # who, document, blind
KEPT = 512
MINUTES = 30


class Sheets:
    """The sheets laid out last, by person and document.

    A sheet that was shown does not change by being asked for again: nothing on it moves
    while somebody reads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[Key, tuple[float, Sheet]] = {}
        self._ahead: set[Key] = set()

    def put(self, who: str, sheet: Sheet, *, ahead: bool = False) -> Sheet:
        """Keep a sheet; return the one that is kept already, if there is one.

        ahead : nobody has seen it yet.
        """
        key = (who, sheet.id, sheet.blind)
        with self._lock:
            since, there = self._kept.get(key, (0.0, None))
            if there is not None and there.version == sheet.version and _holds(since):
                return there
            self._kept.pop(key, None)
            self._kept[key] = time.monotonic(), sheet
            (self._ahead.add if ahead else self._ahead.discard)(key)
            while len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
            self._ahead &= self._kept.keys()
        return sheet

    def is_unseen(self, who: str, document: str, *, blind: bool = False) -> bool:
        """Whether a sheet was laid out ahead, and nobody has looked at it yet."""
        return (who, document, blind) in self._ahead

    def show(self, who: str, document: str, learned: int, *, blind: bool) -> None:
        """Somebody looks at it from now on; it is dropped if more is learned now."""
        key = (who, document, blind)
        with self._lock:
            if key in self._ahead:
                self._ahead.discard(key)
                if self._kept[key][1].learned != learned:
                    del self._kept[key]

    def get(
        self, who: str, document: str, version: int, *, blind: bool = False
    ) -> Sheet | None:
        """The sheet laid out for somebody, unless something was said since."""
        with self._lock:
            since, sheet = self._kept.get((who, document, blind), (0.0, None))
        if sheet is None or sheet.version != version:
            return None
        return sheet if _holds(since) else None

    def seen(self, document: str, who: str) -> dict[str, Seen]:
        """What somebody was shown of categories: the model, ranks and scores."""
        with self._lock:
            both = [self._kept.get((who, document, blind)) for blind in (False, True)]
        found = [kept for kept in both if kept is not None]
        if not found:
            return {}
        _, sheet = max(found, key=lambda kept: kept[0])
        return {
            choice.category: Seen(sheet.model, choice.rank, choice.score)
            for choice in sheet.choices
            if choice.rank is not None
        }

    def clear(self) -> None:
        """Lay everything out anew: categories or the model are others."""
        with self._lock:
            self._kept.clear()
            self._ahead.clear()


def _holds(since: float) -> bool:
    return time.monotonic() - since < 60 * MINUTES
