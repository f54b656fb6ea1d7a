"""What an import logs, as one act; preferences from a file."""

from __future__ import annotations

from collections.abc import (
    Iterable,
)
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.formats.preferences import numbered_preferences
from classmark.formats.records import THRESHOLD
from classmark.formats.text_files import FilePlace
from classmark.progress import track
from classmark.workbench.results import Table
from classmark.workbench.store.log import IMPORT, Act, whoami
from classmark.workbench.store.store import Store

if TYPE_CHECKING:
    from classmark.workbench.project import Project


class ImportAct:
    """The act that all of an import is within, so that it is undone as one.

    It is logged when something is first imported: what changes nothing is no act.
    """

    def __init__(self, store: Store, source: str, who: str) -> None:
        self.store, self.source, self.who = store, source, f"{who} (import)"
        self.logged: int | None = None

    @property
    def number(self) -> int:
        """Its number in the log."""
        if self.logged is None:
            self.logged = self.store.append(
                Act(None, IMPORT, note=self.source), self.who
            )
        return self.logged

    def judge(self, acts: Iterable[Act]) -> int:
        """Log acts within it; return how many."""
        listed = list(acts)
        within = self.number if listed else None
        parts = (act._replace(within=within) for act in listed)
        return len(self.store.judge(parts, self.who))


def import_preferences(project: Project, path: Path, who: str = "") -> Table:
    """Read «document, winner, loser[, weight]»; all of it is logged, or nothing.

    Documents and categories must be there; the word ``threshold`` may stand in the
    place of a category. A pair compared before is compared anew.
    """
    store, documents, count = project.store, set[str](), 0
    acts: list[Act] = []
    who = who or whoami()
    with store.transaction():
        categories = {category.id for category in store.categories()}
        ids, before = store.ids(), store.preferences()
        for line, preference in track(numbered_preferences(path), f"reading {path}"):
            document, winner, loser, weight = preference
            place = FilePlace(str(path), line)
            if document not in ids:
                raise place.refusal(
                    "there is no document %(document)r in the project: import it first",
                    document=document,
                )
            for name in (winner, loser):
                if name not in categories and name != THRESHOLD:
                    raise place.refusal(
                        "document %(document)r: there is no category %(name)r: "
                        "correct its id, or import its taxonomy first",
                        document=document,
                        name=name,
                    )
            documents.add(document)
            count += 1
            if before.get(document, {}).get((winner, loser)) != weight:
                acts.append(prefer(document, winner, loser, weight))
        logged = ImportAct(store, str(path), who).judge(acts)
        store.note_event("preferences imported", who, source=str(path), count=count)
    row = {"preferences": count, "documents": len(documents), "judgments": logged}
    return Table(f"Imported {path}", [row])


def prefer(document: str, winner: str, loser: str, weight: float = 1.0) -> Act:
    """The act of saying that one category should stand above another."""
    return Act(document, "prefer", winner, weight, other=loser)
