"""Which documents are in which category? Known without reading the whole log again.

Acts since the last look are enough, unless categories came, went or were renamed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk
    from classmark.workbench.store import Store

LABELS = "SELECT document, category FROM labels"
MANY = 2000  # acts, above which all are read again
_KEPT: WeakKeyDictionary[Desk, Holdings] = WeakKeyDictionary()
_LOCK = Lock()


@dataclass(frozen=True)
class Holdings:
    """The labels of every decided document, as they were after an act.

    labels : document → ids of its categories;  upto : the number of the act.
    """

    labels: Mapping[str, tuple[str, ...]]
    upto: int

    @cached_property
    def counts(self) -> Counter[str]:
        """Category → how many documents have it as a label."""
        return Counter(name for names in self.labels.values() for name in names)

    @cached_property
    def documents(self) -> Mapping[str, list[str]]:
        """Category → its documents, those decided last at the end."""
        found: dict[str, list[str]] = {}
        for document, names in self.labels.items():
            for name in names:
                found.setdefault(name, []).append(document)
        return found


def holdings_of(desk: Desk) -> Holdings:
    """What the categories of a desk hold now."""
    store = desk.project.store
    with _LOCK:
        kept = _KEPT.get(desk)
        last = _last(store)
        if kept is None or _is_other(store, kept, last):
            kept = Holdings(_labels(store.run(f"{LABELS} ORDER BY seq")), last)
        elif last != kept.upto:
            kept = _followed(store, kept, last)
        _KEPT[desk] = kept
        return kept


def _last(store: Store) -> int:
    (last,) = store.run("SELECT coalesce(max(seq), -1) FROM judgments").fetchone()
    return int(last)


def _is_other(store: Store, kept: Holdings, last: int) -> bool:
    """Whether categories changed since, or too much did."""
    (changed,) = store.run(
        "SELECT count(changes) FROM judgments WHERE seq > ?", (kept.upto,)
    ).fetchone()
    return bool(changed) or not 0 <= last - kept.upto <= MANY


def _followed(store: Store, kept: Holdings, last: int) -> Holdings:
    labels = dict(kept.labels)
    for (id_,) in store.run(
        "SELECT DISTINCT document FROM judgments WHERE seq > ? AND seq <= ? "
        "AND document IS NOT NULL", (kept.upto, last)
    ).fetchall():  # fmt: skip
        labels.pop(id_, None)
        rows = store.run(f"{LABELS} WHERE document = ? ORDER BY seq", (id_,))
        labels |= _labels(rows)
    return Holdings(labels, last)


def _labels(rows: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for document, category in rows:
        found[document] = (*found.get(document, ()), category)
    return found
