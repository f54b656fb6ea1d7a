"""What would a change of the taxonomy do? Said before it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.problems import Mistake
from classmark.taxonomy import edits
from classmark.taxonomy.category import DEPRECATED, path_names
from classmark.workbench.categories import edit
from classmark.workbench.categories.browse import branch_counts
from classmark.workbench.categories.edit import carried

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.results import Logged
    from classmark.workbench.team.desk import Desk


SPLITS = 5000  # documents that go at once, at most


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the taxonomy, as a form has it.

    act : add, rename, move, merge, split, retire or describe;  category : of which, or,
    for add, the one above ("": the top);  to : where it goes;  id, label : new ones;
    documents : that go with a split;  said : note, guideline, notation, synonyms.
    """

    act: str
    category: str = ""
    to: str = ""
    id: str = ""
    label: str = ""
    documents: tuple[str, ...] = ()
    said: Mapping[str, str] | None = None


def foresee(desk: Desk, change: Change) -> tuple[str, ...]:
    """What a change would do, in sentences; a ``Mistake`` where it cannot be done."""
    if change.act not in FORESEEN:
        raise Mistake(f"act is {change.act!r}: use {', '.join(FORESEEN)}")
    if change.act != "add" or change.category:
        _known(desk, change.category)
    return FORESEEN[change.act](desk, change)


def carry_out(desk: Desk, change: Change, who: str) -> Logged:
    """Do it; it is on disk when this returns, and can be undone."""
    if change.act not in DONE:
        raise Mistake(f"act is {change.act!r}: use {', '.join(DONE)}")
    act = DONE[change.act]
    return desk.write(lambda project: act(project, change, who))


def _known(desk: Desk, id_: str) -> str:
    if id_ not in desk.categories:
        raise Mistake(f"there is no category {id_!r}: search for it, and choose one")
    return _path(desk, id_)


def _path(desk: Desk, id_: str) -> str:
    return " › ".join(path_names(desk.categories, desk.tree, id_))


def _add(desk: Desk, change: Change) -> tuple[str, ...]:
    edits.add(desk.tree, change.id)
    name = change.label or change.id
    if not change.id.strip():
        raise Mistake("a category needs an id: give one or more visible characters")
    if not change.category:
        return (f"“{name}” becomes a new category at the top.",)
    held = desk.state.counts[change.category]
    said = [f"“{name}” becomes a new category under {_path(desk, change.category)}."]
    if desk.tree.is_leaf(change.category) and held:
        said.append(f"Documents of the category above that stay there: {held:,}.")
    return tuple(said)


def _rename(desk: Desk, change: Change) -> tuple[str, ...]:
    if not (change.label or change.id):
        raise Mistake("give a new label, a new id, or both")
    if change.id:
        edits.rename(desk.tree, change.category, change.id)
    held = desk.state.counts[change.category]
    said = [f"{_path(desk, change.category)} is called “{change.label or change.id}”."]
    if change.id and change.id != change.category:
        said.append(f"Its id {change.category} becomes {change.id}.")
    said.append(f"All that was said of it stays with it, and its documents: {held:,}.")
    return tuple(said)


def _move(desk: Desk, change: Change) -> tuple[str, ...]:
    under = change.to or None
    if under is not None:
        _known(desk, under)
    edits.move(desk.tree, change.category, under)
    below = len(desk.tree.descendants(change.category))
    held = branch_counts(desk).get(change.category, 0)
    where = "the top" if under is None else _path(desk, under)
    along = f" and what stands below it ({below:,})" if below else ""
    return (
        f"{_path(desk, change.category)}{along} goes to {where}.",
        f"Documents that go along: {held:,}; no decision changes.",
    )


def _merge(desk: Desk, change: Change) -> tuple[str, ...]:
    into = _known(desk, change.to)
    edits.merge(desk.tree, change.category, change.to)
    store = desk.project.store
    numbers = store.number_of(change.category), store.number_of(change.to)
    acts = len(list(carried(store, *numbers, change.to)))
    held = desk.state.documents
    mine, theirs = (held.get(id_, []) for id_ in (change.category, change.to))
    both = len(set(mine) & set(theirs))
    daughters = len(desk.tree.children(change.category))
    already = f" ({both:,} of them there already)" if both else ""
    said = [
        f"{_path(desk, change.category)} is no more; {into} takes its place.",
        f"Documents that move there: {len(mine):,}{already}.",
        f"Judgments carried over: {acts:,}.",
    ]
    if daughters:
        said.append(f"What stands right below it goes along ({daughters:,}).")
    return tuple(said)


def _split(desk: Desk, change: Change) -> tuple[str, ...]:
    if not change.id.strip():
        raise Mistake("the new category needs an id: give one")
    edits.add(desk.tree, change.id)
    if not 1 <= len(change.documents) <= SPLITS:
        raise Mistake(f"tick the documents that go to the new category (1 to {SPLITS})")
    held = desk.state.counts[change.category]
    go = len(change.documents)
    name, beside = change.label or change.id, _path(desk, change.category)
    return (
        f"“{name}” becomes a new category beside {beside}.",
        f"Documents that go there: {go:,}; that stay: {max(0, held - go):,}.",
    )


def _retire(desk: Desk, change: Change) -> tuple[str, ...]:
    if desk.categories[change.category].status == DEPRECATED:
        raise Mistake(f"{change.category} is retired already")
    held = desk.state.counts[change.category]
    name = _path(desk, change.category)
    return (
        f"{name} is suggested no more, and takes no new document.",
        f"Documents that stay there: {held:,}.",
    )


FORESEEN: dict[str, Callable[[Desk, Change], tuple[str, ...]]] = {
    "add": _add, "rename": _rename, "move": _move, "merge": _merge, "split": _split,
    "retire": _retire,
}  # fmt: skip


def _do_add(project: Project, change: Change, who: str) -> Logged:
    above = change.category or None
    new = edit.new_category(change.id, change.label, above)
    return edit.add(project, new, who)


def _do_rename(project: Project, change: Change, who: str) -> Logged:
    label, new_id = change.label or None, change.id or None
    return edit.rename(project, change.category, label=label, new_id=new_id, who=who)


def _do_split(project: Project, change: Change, who: str) -> Logged:
    new = edit.new_category(change.id, change.label)
    return edit.split(project, change.category, new, change.documents, who)


def _do_describe(project: Project, change: Change, who: str) -> Logged:
    said = dict(change.said or {})
    names = said.pop("synonyms", None)
    synonyms = None if names is None else [n.strip() for n in names.splitlines()]
    return edit.describe(project, change.category, said, synonyms, who)


DONE: dict[str, Callable[[Project, Change, str], Logged]] = {
    "add": _do_add,
    "rename": _do_rename,
    "move": lambda p, c, who: edit.move(p, c.category, c.to or None, who),
    "merge": lambda p, c, who: edit.merge(p, c.category, c.to, who),
    "split": _do_split,
    "retire": lambda p, c, who: edit.retire(p, c.category, who),
    "describe": _do_describe,
}
