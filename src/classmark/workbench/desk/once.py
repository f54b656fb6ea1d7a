"""What is read of a project once, and again only when the log has grown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk

T = TypeVar("T")
_KEPT: WeakKeyDictionary[Desk, dict[Any, tuple[object, Any]]] = WeakKeyDictionary()


def once(desk: Desk, read: Callable[[Desk], T], of: object = None) -> T:
    """What ``read`` finds, kept until something more is said or imported.

    of : what else it rests on; it is read again when that is another.
    """
    store = desk.project.store
    (last,) = store.run("SELECT coalesce(max(seq), 0) FROM judgments").fetchone()
    state = (of, last, len(desk.ledger.ids), len(desk.ledger.labelled))
    kept = _KEPT.setdefault(desk, {})
    before = kept.get(read)
    if before is None or before[0] != state:
        before = kept[read] = state, read(desk)
    found: T = before[1]
    return found
