"""State: what the log of a project amounts to now, followed act by act, in memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, Self

from classmark.workbench.store.store import IS_HERE

if TYPE_CHECKING:
    from classmark.workbench.store.store import Store

LAST = (
    "SELECT (SELECT coalesce(max(seq), 0) FROM judgments), "
    "(SELECT coalesce(max(number), 0) FROM all_documents)"
)
SINCE = (
    "SELECT document, undoes IS NOT NULL, changes FROM judgments "
    "WHERE seq > ? AND seq <= ?"
)
NEW_DOCUMENTS = "SELECT id FROM documents WHERE number > ? ORDER BY number"
LABELS = "SELECT document, category FROM labels"
NAMING = {"id", "stands"}  # where they were set before, labels change with them
MANY = 2000  # acts, above which all labels are read again


class State:
    """The documents of a project in order of arrival, and what stands of each.

    ids : the documents;  labels : document → its categories, those decided last at the
    end;  aside : the documents that are set aside;  counts : category → how many
    documents have it;  upto : the last act that was followed;  labelled : the last
    after which labels were others;  newest : the number of the last document;
    last_undo : the last act followed that undoes another;  returned : grows when a
    document waits that did not before;  back : for the last of these numbers, which
    document, where it was one;  lock : held while acts are followed;  derived : what
    features compute act by act beside it, by their class.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.ids: dict[str, None] = {}
        self.labels: dict[str, tuple[str, ...]] = {}
        self.aside: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.upto = self.newest = self.returned = self.labelled = 0
        self.last_undo = 0
        self.back: dict[int, str] = {}
        self.derived: dict[type, Any] = {}
        self._documents: tuple[int, Mapping[str, list[str]]] = (-1, {})

    def follow(self, store: Store) -> Self:
        """Take up what was written since; within a transaction, nothing."""
        if store.engine.in_transaction:
            return self
        with self.lock:
            upto, newest = (int(value) for value in store.run(LAST).fetchone())
            if upto < self.upto or newest < self.newest:  # the store was restored
                self.upto = self.newest = 0
                self.ids.clear()
            if newest != self.newest:
                for (id_,) in store.run(NEW_DOCUMENTS, (self.newest,)):
                    self.ids[id_] = None
                self.returned += 1
            if upto != self.upto:
                self._take(store, upto)
            self.upto, self.newest = upto, newest
        return self

    def _take(self, store: Store, upto: int) -> None:
        """Follow the acts until a number; all labels anew where their names changed."""
        few = self.upto and upto - self.upto <= MANY
        acts = store.run(SINCE, (self.upto, upto)).fetchall() if few else []
        if not few or any(undoes for _, undoes, _ in acts):
            self.last_undo = upto
        if not few or any(map(_touches_labels, (changes for *_, changes in acts))):
            with store.snapshot():
                rows = store.run(f"{LABELS} ORDER BY seq")
                self.labels, self.aside = _by_document(rows), store.aside()
            self.counts = Counter(c for names in self.labels.values() for c in names)
            self._list_documents(store)
            self.labelled = upto
            return
        touched = {str(id_) for id_, *_ in acts if id_ is not None}
        if any(not _is_of_categories(*act) for id_, *act in acts if id_ is None) or any(
            (id_ in self.ids) != bool(store.run(IS_HERE, (id_,)).fetchone())
            for id_ in touched
        ):
            self._list_documents(store)
        if touched:
            self.labelled = upto
        for id_ in touched:
            waited = self.waits(id_)
            self._look(store, id_)
            if not waited and self.waits(id_):
                self.returned += 1
                self.back[self.returned] = id_
        while len(self.back) > MANY:
            del self.back[next(iter(self.back))]

    def _list_documents(self, store: Store) -> None:
        """Take up which documents are here: some came back, or were taken away."""
        self.ids = {id_: None for (id_,) in store.run(NEW_DOCUMENTS, (0,))}
        self.returned += 1

    def _look(self, store: Store, document: str) -> None:
        for category in self.labels.pop(document, ()):
            self.counts[category] -= 1
            if not self.counts[category]:
                del self.counts[category]
        rows = store.run(f"{LABELS} WHERE document = ? ORDER BY seq", (document,))
        self.labels |= _by_document(rows)
        self.counts.update(self.labels.get(document, ()))
        if store.is_aside(document):
            self.aside.add(document)
        else:
            self.aside.discard(document)

    @property
    def documents(self) -> Mapping[str, list[str]]:
        """Category → its documents, those decided last at the end."""
        with self.lock:
            if self._documents[0] != self.labelled:
                documents: dict[str, list[str]] = {}
                for id_, names in self.labels.items():
                    for name in names:
                        documents.setdefault(name, []).append(id_)
                self._documents = self.labelled, documents
            return self._documents[1]

    def waits(self, document: str) -> bool:
        """Whether a document is here, has no label and is not set aside."""
        decided = document in self.labels or document in self.aside
        return document in self.ids and not decided

    @property
    def waiting(self) -> list[str]:
        """The documents that wait, in order of arrival."""
        with self.lock:
            return [id_ for id_ in self.ids if self.waits(id_)]

    @property
    def n_aside(self) -> int:
        """How many documents are set aside and have no label."""
        return sum(document not in self.labels for document in self.aside)

    @property
    def n_waiting(self) -> int:
        """How many documents wait."""
        return max(0, len(self.ids) - len(self.labels) - self.n_aside)


def _is_of_categories(undoes: bool, changes: str | None) -> bool:
    """Whether an act changes categories, and can change no document."""
    return not undoes and bool(changes)


def _touches_labels(changes: str | None) -> bool:
    """Whether changes of categories call some otherwise, take away or bring back."""
    if not changes:
        return False
    fields = json.loads(changes).values()
    return any(pair[name][0] for pair in fields for name in NAMING & pair.keys())


def _by_document(rows: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Document → its categories; those with the same one alone share a tuple."""
    labels: dict[str, tuple[str, ...]] = {}
    alone: dict[str, tuple[str]] = {}
    for document, category in rows:
        one = alone.setdefault(category, (category,))
        before = labels.get(document)
        labels[document] = one if before is None else before + one
    return labels
