"""A tree for the categories of a project: built, shown, and taken as one act."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import keep_columns, take
from classmark.hierarchies.building import BRANCHING, group_categories
from classmark.problems import refusal
from classmark.taxonomy.category import Category, taxonomy_of
from classmark.workbench.categories.edit import log_changes
from classmark.workbench.categories.propose import (
    NAMING,
    free_id,
    prefix_of_ids,
    words_behind,
)
from classmark.workbench.examples.vectors import vectors_of
from classmark.workbench.learning.fit import TEST, labelled, part_of
from classmark.workbench.results import Cell, Column, Logged, Table
from classmark.workbench.store.log import Row, as_json, as_row, whoami

if TYPE_CHECKING:
    from collections.abc import Sequence

    from classmark.hierarchies.building import CategoryGroups
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store


BUILT = "tree built"  # the event that keeps a tree until it is taken
SHOWN = (
    Column("group"),
    Column("documents"),
    Column("categories", "categories right below"),
    Column("terms"),
)


@dataclass(frozen=True, slots=True)
class ProposedGroup:
    """A new inner category.

    parent : the number of the proposed group above, None at the top;  categories : the
    ids that go right below it;  documents : in or below it;  terms : what tells it from
    its sisters.
    """

    id: str
    label: str
    parent: int | None
    categories: tuple[str, ...]
    documents: int
    terms: tuple[str, ...]


def build(
    project: Project,
    by: str = "content",
    *,
    below: str | None = None,
    branching: int = BRANCHING,
) -> list[ProposedGroup]:
    """Group the categories right below one, or at the top, by their documents.

    by, branching : as ``group_categories`` explains them. Documents below a category
    count as its own, those set apart for testing are left out. What is proposed is
    kept, and what was before it is forgotten; nothing changes until ``take``.
    """
    store = project.store
    items = _items(project, below)
    tree, item_of = project.tree, dict[str, list[str]]()
    for item in items:
        for node in (item, *tree.descendants(item)):
            item_of.setdefault(node, []).append(item)
    collection = vectors_of(project)
    place = {id_: row for row, id_ in enumerate(collection.ids)}
    y = {
        record.id: list(
            dict.fromkeys(i for c in record.labels for i in item_of.get(c, ()))
        )
        for record in labelled(project)
        if part_of(record) != TEST and record.id in place
    }
    y = {id_: labels for id_, labels in y.items() if labels}
    if len({item for labels in y.values() for item in labels}) <= branching:
        raise refusal(
            "nothing to group %(where)s: no more than %(branching)s categories "
            "have documents to learn from: assign some, or give a smaller "
            "branching",
            where=_where(below),
            branching=branching,
        )
    groups = group_categories(
        take(collection.rows, [place[id_] for id_ in y]),
        y.values(),
        by=by,
        branching=branching,
        feature_names=collection.vectorizer.vocabulary_.terms,
    )
    proposed = _described(project, below, groups, y, collection)
    store.note_event(
        BUILT, whoami(), below=below, by=by, items=items,
        groups=[asdict(group) for group in proposed],
    )  # fmt: skip
    return proposed


def take_tree(project: Project, who: str = "") -> Logged:
    """Make the tree that was shown last that of the project: one act, one undo.

    Refused when the categories it groups are not those it was built from.
    """
    store = project.store
    with store.transaction():
        kept = store.last_event(BUILT)
        remedy = "run classmark taxonomy build"
        if not kept.get("groups"):
            raise refusal("no tree was built: %(remedy)s", remedy=remedy)
        below, items = kept["below"], kept["items"]
        ids = {group["id"] for group in kept["groups"]}
        if ids & set(project.categories) or _items(project, below) != items:
            raise refusal(
                "the categories have changed since: %(remedy)s again", remedy=remedy
            )
        after = _rows_after(store, below, kept["groups"])
        seq = log_changes(store, "build", after, who)
        taxonomy_of(store.categories())
    moved = sum(len(group["categories"]) for group in kept["groups"])
    said = (
        f"built a tree {_where(below)} (groups: {len(ids)}, categories moved: {moved})"
    )
    return Logged((seq,), said)


def as_table(below: str | None, groups: Sequence[ProposedGroup]) -> Table:
    """The groups as people read them, each below its parent."""
    rows: list[dict[str, Cell]] = []
    waiting = [(at, 0) for at, each in enumerate(groups) if each.parent is None][::-1]
    while waiting:
        at, depth = waiting.pop()
        group = groups[at]
        rows.append(
            {
                "group": "  " * depth + group.label,
                "documents": group.documents,
                "categories": ", ".join(group.categories) or None,
                "terms": ", ".join(group.terms),
                "id": group.id,
            }
        )
        inside = [at_ for at_, each in enumerate(groups) if each.parent == at]
        waiting += [(at_, depth + 1) for at_ in inside[::-1]]
    note = (
        "nothing has changed yet. To take this tree: classmark taxonomy build "
        "--accept; classmark undo takes it back, taxonomy rename gives better names"
    )
    return Table(f"Groups of categories {_where(below)}", rows, note, SHOWN)


def _where(below: str | None) -> str:
    return "at the top" if below is None else f"below {below}"


def _items(project: Project, below: str | None) -> list[str]:
    """The categories to group, in their order."""
    if below is not None:
        project.store.require_open([below])
    return project.tree.roots if below is None else project.tree.children(below)


def _described(
    project: Project,
    below: str | None,
    groups: CategoryGroups,
    y: dict[str, list[str]],
    collection: Any,
) -> list[ProposedGroup]:
    """Name the groups, in words for stems, and count their documents."""
    members = [set(groups.members(at)) for at in range(len(groups.parents))]
    for at in range(len(members) - 1, -1, -1):
        if groups.parents[at] >= 0:
            members[groups.parents[at]] |= members[at]
    names = collection.vectorizer.vocabulary_.terms
    column = {name: at for at, name in enumerate(names)}
    row = {id_: at for at, id_ in enumerate(collection.ids)}

    def with_most(stems: Sequence[str], documents: list[str]) -> list[str]:
        """Documents with most of the stems first."""
        columns = np.array(sorted(column[stem] for stem in stems), np.int64)
        rows = keep_columns(
            take(collection.rows, [row[id_] for id_ in documents]), columns
        )
        return [
            documents[at] for at in np.argsort(-np.diff(rows.starts), kind="stable")
        ]

    ids_in_use = set(project.categories)
    prefix = "" if below is None else prefix_of_ids(project, below)
    proposed = []
    for at, stems in enumerate(groups.terms):
        inside = [id_ for id_, labels in y.items() if members[at].intersection(labels)]
        terms = words_behind(project, collection, stems, with_most(stems, inside))
        id_ = free_id(prefix, terms or (f"group {at + 1}",), ids_in_use)
        ids_in_use.add(id_)
        label = ", ".join(terms[:NAMING]).capitalize() or id_
        above = groups.parents[at] if groups.parents[at] >= 0 else None
        direct = tuple(groups.members(at))
        proposed.append(ProposedGroup(id_, label, above, direct, len(inside), terms))
    return proposed


def _rows_after(
    store: Store, below: str | None, groups: list[dict[str, Any]]
) -> dict[int, Row]:
    """The new inner categories, and what they group with other parents."""
    rows = store.category_rows()
    free = count(max(rows, default=0) + 1)
    numbers = [next(free) for _ in groups]
    top = None if below is None else store.number_of(below)
    after: dict[int, Row] = {}
    for number, group in zip(numbers, groups, strict=True):
        above = top if group["parent"] is None else numbers[group["parent"]]
        parents = [] if above is None else [above]
        new = as_row(Category(group["id"], group["label"]), {})
        after[number] = new | {"parents": as_json(parents)}
        for child in map(store.number_of, group["categories"]):
            old = json.loads(str(rows[child]["parents"]))
            moved = (
                [number, *old]
                if top is None
                else [number if parent == top else parent for parent in old]
            )
            after[child] = rows[child] | {"parents": as_json(moved)}
    return after
