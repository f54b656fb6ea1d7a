"""Moment: what the project's log said after one of its acts, or says now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from classmark.taxonomy.category import Category
from classmark.workbench.changes import BLANK, Row, as_categories
from classmark.workbench.replaying import Replay

if TYPE_CHECKING:
    from classmark.workbench.judged import Judged
    from classmark.workbench.log import Entry
    from classmark.workbench.store import Store


class Moment:
    """The categories and the judgments as they were right after act ``upto``.

    Texts are those of today: the log has none. acts : how many acts that were.
    """

    def __init__(self, store: Store, upto: int | None = None) -> None:
        self.store = store
        self.upto, self.acts = -1, 0
        self._naming: dict[int, dict[str, None]] = {}
        self.rows: dict[int, Row] = {}
        self.replay = Replay()
        for entry in store.log():
            if upto is not None and entry.seq > upto:
                break
            self.take(entry)

    def take(self, entry: Entry) -> None:
        """Go on to the next act."""
        self.replay.take(entry)
        for number, fields in entry.changes.items():
            row = self.rows.setdefault(number, dict(BLANK))
            row.update({field: after for field, (_, after) in fields.items()})
        for named in entry.numbers if entry.document is not None else ():
            if named is not None:
                self._naming.setdefault(named, {})[str(entry.document)] = None
        self.upto = entry.seq
        self.acts += 1

    def naming(self, number: int) -> dict[str, None]:
        """The documents of which something was ever said that names a category."""
        return self._naming.get(number, {})

    def categories(self) -> list[Category]:
        """The categories that stood, in order of arrival."""
        return as_categories(dict(sorted(self.rows.items())))

    def numbers(self) -> dict[str, int]:
        """Id → number of the categories that stood."""
        return {name: number for number, name in self.replay.names.items()}

    def record(self, id_: str) -> Judged:
        """A document and what was said of it."""
        return self._then(self.store.record(id_))

    def records(self) -> Iterator[Judged]:
        """All documents of today with what was said of them, in order of arrival."""
        for today in self.store.records():
            yield self._then(today)

    def _then(self, today: Judged) -> Judged:
        then = self.replay.judged(today.id)
        return replace(
            then, document=today.document, meta=today.meta, links=today.links
        )
