"""What is said of a document on the desk, and which one is next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.workbench.deciding import Decision, Seen, decide
from classmark.workbench.queueing import queue

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk


@dataclass(frozen=True, slots=True)
class Saved:
    """What was written, and which document is next; None: no more."""

    number: int
    said: str
    next: str | None


def next_for(desk: Desk, after: str | None = None) -> str | None:
    """The next document to decide on."""
    rows = queue(desk.project, "uncertain", 2).rows
    waiting = [str(row["document"]) for row in rows]
    return next((id_ for id_ in waiting if id_ != after), None)


def decide_on(
    desk: Desk, document: str, decision: Decision, seen: Mapping[str, Seen], who: str
) -> Saved:
    """Write a decision, durably, and learn from it."""
    with desk.writing() as project:
        logged = decide(project, document, decision, seen, who)
    desk.learn()
    return Saved(logged.numbers[-1], logged.said, next_for(desk, document))
