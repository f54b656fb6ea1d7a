"""Label many documents at once, as one group that one undo takes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from classmark.language import _, joined, ngettext, whole
from classmark.problems import refusal
from classmark.workbench.categories.find import of_path
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.results import Logged
from classmark.workbench.store.log import Act, whoami

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store
    from classmark.workbench.team.desk import Desk


AT_ONCE = 1000  # documents that are labelled together


@dataclass(frozen=True, slots=True)
class GroupLabelled:
    """What was written: the number of the group's first act, and how many got it.

    had : how many had the category before.
    """

    number: int
    category: str
    name: str
    labelled: int
    had: int


def category_named(desk: Desk, text: str) -> str:
    """The id of a category that was typed as its id, its path or its name."""
    typed, categories = text.strip(), desk.categories
    if not typed:
        raise refusal("no category was entered: type its name or id")
    if typed in categories:
        return typed
    if id_ := of_path(desk, typed):
        return id_
    same = [id_ for id_, c in categories.items() if c.name.lower() == typed.lower()]
    if len(same) == 1:
        return same[0]
    if same:
        ids = ", ".join(same[:5])
        raise refusal(
            "several categories are called %(typed)r: enter an id, %(ids)s",
            typed=typed,
            ids=ids,
        )
    names = {category.name.lower(): category.name for category in categories.values()}
    close = get_close_matches(typed.lower(), names, n=3)
    meant = joined(*(names[name] for name in close), by=_(" or "))
    raise refusal(
        "there is no category %(typed)r: %(what)s",
        typed=typed,
        what=_("did you mean %(meant)s?", meant=meant)
        if close
        else _("choose one from the taxonomy"),
    )


def label_all(
    desk: Desk, documents: Sequence[str], category: str, who: str
) -> GroupLabelled:
    """Assign a category to documents that do not have it; all of them or none.

    The acts on the others are within the first: one undo takes all of them back.
    """
    ids = list(dict.fromkeys(documents))
    if not ids:
        raise refusal("no document is selected: select some, or all of them")
    if len(ids) > AT_ONCE:
        raise refusal(
            "%(n)s documents are too many to label at once (at most "
            "%(at_once)s): add words or filters",
            n=whole(len(ids)),
            at_once=whole(AT_ONCE),
        )
    labels, name = desk.state.labels, desk.categories[category].name
    new = [id_ for id_ in ids if category not in labels.get(id_, ())]
    if not new:
        raise refusal("all of these documents are in %(name)r already", name=name)
    note = ngettext(
        "labelled at once, %(n)s document",
        "labelled at once, %(n)s documents",
        len(new),
    )
    decision = Decision(assign=(category,), note=note)

    def write(project: Project) -> Logged:
        store = project.store
        with store.transaction():
            first = decide(project, new[0], decision, {}, who, together=True)
            numbers = repeat_for(store, first, new[1:], note, who)
        return Logged((*first.numbers, *numbers), f"{name}: {len(new)} documents")

    logged = desk.write(write)
    desk.after_write(new, who, logged, [category])
    return GroupLabelled(
        logged.numbers[0], category, name, len(new), len(ids) - len(new)
    )


def repeat_for(
    store: Store, first: Logged, others: Sequence[str], note: str, who: str
) -> list[int]:
    """Log the acts of a decision for other documents, within those of the first."""
    entries = list(store.log(after=min(first.numbers) - 1))
    return [
        store.append(
            Act(id_, entry.act, None, entry.grade, note=note, within=entry.seq),
            who or whoami(),
            entry.numbers,
        )
        for entry in entries
        for id_ in others
    ]
