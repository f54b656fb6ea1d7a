"""Work given to people: a branch of the tree or some documents, and their progress."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from classmark.language import whole
from classmark.problems import refusal
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
    def waiting(self) -> int:
        """How many documents of it wait."""
        return max(0, self.total - self.done)

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
) -> int:
    """Give somebody a branch, or documents; it is noted in the project's log.

    Return how many documents the person had been given before: these are left out, and
    where no other is left, or the branch was given, it is refused.
    """
    if not to.strip():
        raise refusal("nobody is chosen: choose who should decide")
    if bool(branch) == bool(documents):
        raise refusal("choose either a branch or documents")
    if branch and branch not in desk.categories:
        raise refusal(
            "there is no category %(branch)r: choose one from the taxonomy",
            branch=branch,
        )
    if len(documents) > MOST:
        raise refusal(
            "%(n)s documents are too many: give %(most)s at most",
            n=whole(len(documents)),
            most=whole(MOST),
        )
    if unknown := [id_ for id_ in documents if id_ not in desk.state.ids]:
        raise refusal(
            "there is no document %(unknown)r: correct its id", unknown=unknown[0]
        )
    open_items = [item for item in work_items(desk, to.strip()) if not item.is_done]
    given = {id_ for item in open_items for id_ in item.documents}
    new = [id_ for id_ in documents if id_ not in given]
    if not new and branch in ["", *(item.branch for item in open_items if item.branch)]:
        raise refusal("%(name)s has been assigned all of this already", name=to)
    facts = {"to": to.strip(), "branch": branch, "note": note.strip()}
    with desk.writing() as project:
        project.store.note_event(GIVEN, by, documents=new, **facts)
    return len(documents) - len(new)


def withdraw(desk: Desk, number: int, by: str) -> None:
    """Take work back; what was decided of it stays."""
    if number not in {item.number for item in work_items(desk)}:
        raise refusal("this task no longer exists: reload the page")
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
        raise refusal("this task is no longer yours: choose other documents")
    order, filters = desk.queues.of(who).order, Filters(branch=item.branch)
    among = item.documents or tuple(documents_in(desk, order, filters))
    desk.queues.set(who, QueueChoice(order, filters.chosen, among))
