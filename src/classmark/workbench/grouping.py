"""The queue in groups: documents that are nearly the same are decided together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from classmark.problems import Mistake
from classmark.sparse import take
from classmark.workbench.deciding import Decision, decide
from classmark.workbench.log import Act, whoami
from classmark.workbench.queueing import queue
from classmark.workbench.vectors import collection_of
from classmark.workbench.views import Cell, Logged, Table

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store import Store

ALIKE = 0.8  # cosine
ALL = 2**62
OTHERS, WIDE = "like it", 60
SHOWN = 20  # documents decided with another, by name


def grouped_queue(
    project: Project,
    order: str = "uncertain",
    top: int = 20,
    to: str | None = None,
    alike: float = ALIKE,
) -> Table:
    """The queue, one line a group: its first document, and those like it.

    Groups are merged as long as the mean cosine between them is ``alike`` or more; they
    come in the order of their first documents.
    """
    if top < 1:
        raise Mistake(f"n is {top}: ask for at least one group")
    whole = queue(project, order, ALL, to)
    ids = [str(row["document"]) for row in whole.rows]
    found = groups_of(project, ids, alike)
    rows: list[dict[str, Cell]] = [
        {
            **whole.rows[group[0]],
            "size": len(group),
            OTHERS: ", ".join(ids[place] for place in group[1:]),
        }
        for group in found[:top]
    ]
    many = f"{len(ids)} documents in {len(found)} groups of cosine {alike:g}"
    return Table("Queue", rows, f"{many}; {whole.note}" if rows else whole.note)


def shortened(table: Table) -> Table:
    """The same with few ids a line: for people, who see the size beside them."""
    rows = []
    for row in table.rows:
        ids = str(row[OTHERS])
        short = ids if len(ids) <= WIDE else f"{ids[:WIDE].rpartition(',')[0]} …"
        rows.append({**row, OTHERS: short})
    return replace(table, rows=rows)


def decide_group(
    project: Project,
    document: str,
    decision: Decision,
    alike: float = ALIKE,
    who: str = "",
) -> Logged:
    """Decide on a document and on those of its group that are in the queue.

    The acts on the others are within those on the document: one undo takes an act back
    for all of them.
    """
    store, who = project.store, who or whoami()
    store.document(document)
    ids = [document, *(id_ for id_ in _waiting(store) if id_ != document)]
    group = [ids[place] for place in groups_of(project, ids, alike)[0][1:]]
    with store.transaction():
        still = set(_waiting(store))
        others = [id_ for id_ in group if id_ in still]
        first = decide(project, document, decision, who=who)
        acts = [
            Act(
                other,
                said.act,
                said.category,
                said.grade,
                note=decision.note,
                other=said.other,
                within=said.seq,
            )
            for said in list(store.log(after=min(first.numbers) - 1))
            for other in others
        ]
        numbers = store.judge(acts, who)
    said = f"{first.said} ({_named(others)})" if others else first.said
    return Logged((*first.numbers, *numbers), said)


def _named(others: Sequence[str]) -> str:
    """How many others were decided with a document, and which.

    >>> _named(["d2", "d3"])
    'and of 2 like it: d2, d3'
    """
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return f"and of {len(others)} like it: {', '.join(others[:SHOWN])}{more}"


def _waiting(store: Store) -> list[str]:
    return [document.id for document in store.undecided()]


def groups_of(
    project: Project, ids: Sequence[str], alike: float = ALIKE
) -> list[list[int]]:
    """Places in ``ids`` of each group; groups, and places in them, in order."""
    from classmark.clusters.agglomerative import near_duplicates

    if not 0 < alike <= 1:
        raise Mistake(f"--alike is {alike:g}: give a cosine above 0, up to 1")
    if not ids:
        return []
    collection = collection_of(project)
    place = {id_: at for at, id_ in enumerate(collection.ids)}
    rows = take(collection.rows, [place[id_] for id_ in ids])
    groups: dict[int, list[int]] = {}
    labels = near_duplicates(rows, alike, linkage="average")
    for at, group in enumerate(labels.tolist()):
        groups.setdefault(group, []).append(at)
    return list(groups.values())
