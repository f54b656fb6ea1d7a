"""Documents that are alike: nearly the same text, and neighbours in the collection."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats, Rows, take
from classmark.language import general, several
from classmark.problems import refusal
from classmark.ranking import top
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.deciding.queue import queue
from classmark.workbench.deciding.together import repeat_for
from classmark.workbench.examples.open_searches import AT_ONCE, BeingRead
from classmark.workbench.examples.vectors import vectors_of
from classmark.workbench.results import Cell, Logged, Table
from classmark.workbench.store.log import whoami

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk


ALIKE = 0.8  # cosine
ALL = 2**62
OTHERS, WIDE = "like it", 60
GROUPS_SHOWN = 20  # documents decided with another, by name


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
        raise refusal("the number of groups is %(top)s: enter at least 1", top=top)
    whole = queue(project, order, ALL, to)
    ids = [str(row["document"]) for row in whole.rows]
    groups = groups_of(project, ids, alike)
    rows: list[dict[str, Cell]] = [
        {
            **whole.rows[group[0]],
            "size": len(group),
            OTHERS: ", ".join(ids[place] for place in group[1:]),
        }
        for group in groups[:top]
    ]
    many = f"{several(len(ids), 'document')} in {several(len(groups), 'group')} of "
    many += f"cosine {alike:g}"
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
    store.require_document(document)
    ids = [document, *(d.id for d in store.undecided() if d.id != document)]
    group = [ids[place] for place in groups_of(project, ids, alike)[0][1:]]
    with store.transaction():
        waiting = {d.id for d in store.undecided()}
        others = [id_ for id_ in group if id_ in waiting]
        first, note = decide(project, document, decision, who=who), decision.note
        numbers = repeat_for(store, first, others, note, who)
    act = f"{first.said} ({_named(others)})" if others else first.said
    return Logged((*first.numbers, *numbers), act)


def _named(others: Sequence[str]) -> str:
    """How many others were decided with a document, and which.

    >>> _named(["d2", "d3"])
    'and of 2 like it: d2, d3'
    """
    more = (
        f" and {len(others) - GROUPS_SHOWN} more" if len(others) > GROUPS_SHOWN else ""
    )
    return f"and of {len(others)} like it: {', '.join(others[:GROUPS_SHOWN])}{more}"


def groups_of(
    project: Project, ids: Sequence[str], alike: float = ALIKE
) -> list[list[int]]:
    """Places in ``ids`` of each group; groups, and places in them, in order."""
    from classmark.clusters.agglomerative import near_duplicates

    if not 0 < alike <= 1:
        raise refusal(
            "--alike is %(alike)s: give a cosine above 0, up to 1",
            alike=general(alike),
        )
    if not ids:
        return []
    collection = vectors_of(project)
    place = {id_: at for at, id_ in enumerate(collection.ids)}
    rows = take(collection.rows, [place[id_] for id_ in ids])
    groups: dict[int, list[int]] = {}
    labels = near_duplicates(rows, alike, linkage="average")
    for at, group in enumerate(labels.tolist()):
        groups.setdefault(group, []).append(at)
    return list(groups.values())


SHOWN = 6
NEARLY = 0.8  # the cosine of documents that are nearly the same
LONGEST = 160  # letters of a beginning


class Alike(NamedTuple):
    """A document like another; cosine : how much, 0 to 1;  labels : names."""

    document: str
    title: str
    beginning: str
    cosine: float
    labels: tuple[str, ...]


def alike(desk: Desk, document: str, top_k: int = SHOWN) -> list[Alike]:
    """The documents most like one, the most like first.

    By words, and by meaning too where the project has a source of vectors.
    """
    desk.store.document(document)
    vectors = desk.search_cache.vectors(desk)
    rows, ids, _ = vectors
    try:
        at = ids.index(document)
    except ValueError:
        raise refusal(
            "%(document)s has just been added: try again in a moment",
            document=document,
        ) from None
    values = cosines_to(rows, at, vectors.lengths(rows))
    values[at] = -1.0
    best = [int(i) for i in top(values, min(top_k, len(ids))) if values[i] > 0]
    shown = []
    for id_, cosine in zip([ids[i] for i in best], values[best].tolist(), strict=True):
        record = desk.store.record(id_)
        fields = dict(record.document.fields)
        title = fields.pop("title", "") or id_
        text = max(fields.values(), key=len, default="")
        cut = text[:LONGEST].rsplit(" ", 1)[0] + " …" if text[LONGEST:] else text
        labels = [
            desk.categories[n].name for n in record.labels if n in desk.categories
        ]
        shown.append(Alike(id_, title, cut, cosine, tuple(labels)))
    return shown


def nearly_same(desk: Desk, document: str) -> list[Alike]:
    """The documents that are nearly the same as one.

    Of a large collection only once somebody has asked for similar ones: nobody waits
    until it is read.
    """
    if len(desk.state.ids) > AT_ONCE and not desk.search_cache.has_vectors:
        return []
    with suppress(BeingRead):
        return [other for other in alike(desk, document) if other.cosine >= NEARLY]
    return []


def cosines_to(rows: Rows, at: int, lengths: Floats | None = None) -> Floats:
    """⟨x, c⟩/(‖x‖ ‖c‖) for each row x and the row c at a place, shape (n,).

    lengths : ‖x‖ of each row; None: 1.

    >>> from classmark.arrays import rows_from
    >>> cosines_to(rows_from([[0.6, 0.8], [1.0, 0.0]]), 0).round(1).tolist()
    [1.0, 0.6]
    """
    dense = np.zeros(rows.width)
    columns, values = rows.row(at)
    dense[columns] = values
    products = np.asarray(rows.to_scipy() @ dense, float)
    return products if lengths is None else products / (lengths * lengths[at])
