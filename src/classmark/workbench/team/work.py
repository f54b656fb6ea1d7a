"""Work given to people: a branch of the tree or some documents, and their progress."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from classmark.problems import Mistake
from classmark.workbench.deciding.inbox import Filters, documents_in
from classmark.workbench.deciding.queue import QueueChoice

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk


GIVEN, WITHDRAWN = "work given", "work withdrawn"
MOST = 5000  # documents that are given at once
EVENTS = (
    "SELECT seq, at, who, what, detail FROM events WHERE what IN (?, ?) ORDER BY seq"
)


@dataclass(frozen=True, slots=True)
class WorkItem:
    """Some documents that one person shall decide on.

    number : by which it is withdrawn;  to, by : who decides, and who gave it;  branch :
    whatever waits there, by the ranker's guess;  documents : or these;  done, total :
    how many of them are decided or postponed, and how many there are; of a branch, what
    the person decided there since, and that with what waits.
    """

    number: int
    at: str
    to: str
    by: str
    branch: str = ""
    documents: tuple[str, ...] = ()
    note: str = ""
    done: int = 0
    total: int = 0

    @property
    def is_done(self) -> bool:
        """Whether nothing of it waits."""
        return self.done >= self.total


def give(
    desk: Desk,
    to: str,
    by: str,
    branch: str = "",
    documents: Sequence[str] = (),
    note: str = "",
) -> None:
    """Give somebody a branch, or documents; it is noted in the project's log."""
    if not to.strip():
        raise Mistake("nobody is named: choose who shall decide")
    if bool(branch) == bool(documents):
        raise Mistake("give a branch or documents, one of them")
    if branch and branch not in desk.categories:
        raise Mistake(f"there is no category {branch!r}: choose one from the taxonomy")
    if len(documents) > MOST:
        raise Mistake(
            f"{len(documents):,} documents are too many: give {MOST:,} at most"
        )
    if unknown := [id_ for id_ in documents if id_ not in desk.state.ids]:
        raise Mistake(f"there is no document {unknown[0]!r}: correct its id")
    facts = {"to": to.strip(), "branch": branch, "note": note.strip()}
    with desk.writing() as project:
        project.store.note_event(GIVEN, by, documents=list(documents), **facts)


def withdraw(desk: Desk, number: int, by: str) -> None:
    """Take work back; what was decided of it stays."""
    if number not in {item.number for item in work_items(desk)}:
        raise Mistake("this work is not given any more: load the page again")
    with desk.writing() as project:
        project.store.note_event(WITHDRAWN, by, number=number)


def work_items(desk: Desk, to: str | None = None) -> list[WorkItem]:
    """The work that is given, of everybody or one person, with how far it is."""
    items: dict[int, WorkItem] = {}
    for seq, at, who, what, text in desk.store.run(EVENTS, (GIVEN, WITHDRAWN)):
        facts = json.loads(text)
        if what == WITHDRAWN:
            items.pop(facts["number"], None)
        elif to is None or facts["to"] == to:
            items[seq] = _item(desk, seq, at, who, facts)
    return list(items.values())


def _item(desk: Desk, seq: int, at: str, who: str, facts: dict[str, Any]) -> WorkItem:
    documents = tuple[str, ...](facts["documents"])
    branch, to, note = (str(facts[name]) for name in ("branch", "to", "note"))
    state = desk.state
    if documents:
        total = len(documents)
        done = sum(not state.waits(id_) for id_ in documents)
    elif branch in desk.categories:
        waiting = len(documents_in(desk, "random", Filters(branch=branch)))
        decided = Filters("decided", branch, who=to)
        done = len(documents_in(desk, "random", decided))
        total = done + waiting
    else:
        done = total = 0
    return WorkItem(seq, at, to, who, branch, documents, note, done, total)


def begin(desk: Desk, number: int, who: str) -> None:
    """Let somebody decide on the documents of some work next."""
    item = next((each for each in work_items(desk, who) if each.number == number), None)
    if item is None:
        raise Mistake("this work is not yours any more: choose other documents")
    order, filters = desk.queues.of(who).order, Filters(branch=item.branch)
    among = item.documents or tuple(documents_in(desk, order, filters))
    desk.queues.set(who, QueueChoice(order, filters.chosen, among))
