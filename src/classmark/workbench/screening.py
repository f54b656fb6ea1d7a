"""Screen a project's documents: begin, read on, say yes or no, see how far it is.

A screening is a search of the kind ``screen``: its rule and the random order of its
draws are in the settings, its answers are marks, on the disk before they are
acknowledged. Whatever stops in between, it goes on from the marks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.examples.screening import Progress, Reading, Rule
from classmark.problems import Mistake
from classmark.workbench.examples import ids_of
from classmark.workbench.likes import Liked, Likes, title_of
from classmark.workbench.screens import (
    KIND,
    RELEVANT,
    Begun,
    ToRead,
    begin,
    flags_of,
    keep_shown,
    next_batch,
    note,
    opened,
    rule_of,
)
from classmark.workbench.searches import (
    Mark,
    Said,
    Search,
    Standing,
    list_searches,
    open_search,
    standing_marks,
    undo_marks,
)
from classmark.workbench.vectors import collection_of
from classmark.workbench.views import Cell, Table

if TYPE_CHECKING:
    from classmark.workbench.project import Project

__all__ = [
    "KIND",
    "Begun",
    "Rule",
    "Status",
    "ToRead",
    "answered",
    "list_screenings",
    "mark",
    "read_next",
    "start",
    "status",
    "undo",
]


@dataclass(frozen=True, slots=True)
class Status:
    """Where a screening stands; later : documents that came after it had begun."""

    search: str
    progress: Progress
    reading: Reading
    later: int = 0


def start(
    project: Project, begun: Begun, rule: Rule, name: str | None = None
) -> Status:
    """Begin a screening of all documents that the project has now."""
    search = begin(project, begun, rule, name, collection_of(project))
    return status(project, search.name)


def read_next(
    project: Project, name: str | None = None, count: int | None = None
) -> list[ToRead]:
    """The documents to read next, by all that was answered; the same until then."""
    search = _open(project, name)
    screening, ids = opened(project, search, collection_of(project))
    shown = next_batch(project, screening, ids, count)
    keep_shown(project, search, shown)
    return shown


def mark(
    project: Project, name: str | None, said: Mapping[Said, Sequence[str]]
) -> Status:
    """Log answers, in the order in which their documents were shown.

    said : act → ids, with commas between them. A document may be marked anew: the last
    word holds.
    """
    search, store = _open(project, name), project.store
    acts: dict[str, Said] = {}
    for act, texts in said.items():
        for id_ in ids_of(texts, store, f"--{act}"):
            if acts.setdefault(id_, act) != act:
                raise Mistake(f"document {id_!r}: {acts[id_]} and {act}: say one")
    if not acts:
        raise Mistake("nothing is said: give ids with --yes, --no or --skip")
    note(project, search, acts)
    return status(project, search.name)


def undo(project: Project, name: str | None = None) -> tuple[list[Mark], Status]:
    """Take back what this user marked last, all of one command."""
    search = _open(project, name)
    back = undo_marks(project.store, search)
    return back, status(project, search.name)


def status(project: Project, name: str | None = None) -> Status:
    """Where a screening stands."""
    search = _open(project, name)
    said = [found.mark for found in standing_marks(project.store, search)]
    reading = Reading(int(search.settings["documents"]), rule_of(search))
    reading.answer(range(len(said)), *flags_of(said))
    now = len(project.store.ids())
    later = now - int(search.settings["documents"])
    return Status(search.name, reading.progress(), reading, later)


def list_screenings(project: Project) -> Table:
    """Every screening, the one used last first."""
    rows: list[dict[str, Cell]] = []
    for search in list_searches(project.store, KIND):
        progress = status(project, search.name).progress
        rows.append(
            {
                "screening": search.name,
                "documents": progress.documents,
                "read": progress.read,
                "found": progress.found,
                "recall at least": progress.recall_bound,
                "phase": progress.phase,
                "begun": search.created,
                "by": search.who,
            }
        )
    note = "" if rows else "none yet: classmark screen start --examples a1 begins one"
    return Table("Screenings", rows, note)


def answered(
    project: Project, name: str | None = None, *, everything: bool = False
) -> Likes:
    """The relevant documents in the order they were found; or all that were read."""
    search = _open(project, name)
    standing = standing_marks(project.store, search)
    wanted = [s for s in standing if everything or s.mark.act in RELEVANT]
    acts = [s.mark.act for s in standing]
    found = [_liked(project, rank, one) for rank, one in enumerate(wanted, start=1)]
    return Likes(
        search.name, KIND, None, acts.count("example"), acts.count("yes"),
        acts.count("no"), 0, {}, int(search.settings["documents"]), found,
    )  # fmt: skip


def _liked(project: Project, rank: int, one: Standing) -> Liked:
    """The place in the order is the rank, and its inverse the score."""
    title = title_of(project.store.document(one.mark.document))
    return Liked(rank, one.mark.document, title, 1 / rank, mark=one.mark.act)


def _open(project: Project, name: str | None) -> Search:
    return open_search(project.store, name, KIND)
