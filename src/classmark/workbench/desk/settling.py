"""Settle a document of which people differ: say which labels are to stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from classmark.formats.records import PRIMARY as PRIMARY_GRADE
from classmark.formats.records import SECONDARY
from classmark.problems import Mistake
from classmark.workbench.categories import require_open
from classmark.workbench.desk.deciding import acts_since
from classmark.workbench.log import ASSIGN, LABELS, PRIMARY, REMOVE, SETTLE, UNSURE, Act
from classmark.workbench.undoing import undo
from classmark.workbench.views import Logged

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk
    from classmark.workbench.project import Project
    from classmark.workbench.store import Store


def settle(
    desk: Desk,
    document: str,
    labels: Mapping[str, bool],
    who: str,
    note: str = "",
    version: int | None = None,
) -> Logged:
    """Say which labels are to stand, after people differed; it is undone as one act.

    labels : category → whether it is primary;  version : as in ``decide_on``; refused
    where anybody has decided on the document since.
    """
    if not labels:
        raise Mistake(
            f"{document}: nothing was chosen: name the categories that are to stand"
        )

    def write(project: Project) -> Logged:
        store = project.store
        store.document(document)
        _require_unchanged(store, document, version)
        require_open(store, sorted(labels))
        stood = store.standing(document).get(document, {})
        first = store.append(Act(document, SETTLE, note=note), who)
        numbers = store.judge(_moves(document, labels, stood, first), who)
        for number in _set_aside(store, document):
            numbers += undo(project, number, who, first).numbers
        said = f"{document}: settled, {', '.join(labels)}"
        return Logged((first, *numbers), said)

    logged = desk.write(write)
    desk.after_write([document], who, logged)
    return logged


def _set_aside(store: Store, document: str) -> list[int]:
    """The acts that keep a document aside: once it is settled, they hold no more."""
    rows = store.run(
        "SELECT seq FROM judgments WHERE document = ? AND act = ? AND category IS NULL "
        "AND document IN (SELECT document FROM aside) "
        "AND seq NOT IN (SELECT seq FROM undone) ORDER BY seq",
        (document, UNSURE),
    )
    return [int(seq) for (seq,) in rows.fetchall()]


def _require_unchanged(store: Store, document: str, version: int | None) -> None:
    later = () if version is None else acts_since(store, document, version)
    if later:
        raise Mistake(
            f"{document}: {later[0].who} decided on it since ({later[0].act}): look at "
            "it again, and settle it then"
        )


def _moves(
    document: str,
    labels: Mapping[str, bool],
    stood: Mapping[str, tuple[str, float | None]],
    within: int,
) -> Iterator[Act]:
    """The acts that lead from what stands to what is to stand."""
    for name, is_primary in labels.items():
        act = PRIMARY if is_primary else ASSIGN
        if name not in stood or stood[name][0] != act:
            grade = PRIMARY_GRADE if is_primary else SECONDARY
            yield Act(document, act, name, grade, within=within)
    for name, (act, _) in stood.items():
        if act in LABELS and name not in labels:
            yield Act(document, REMOVE, name, within=within)
