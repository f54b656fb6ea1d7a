"""What is kept open for searching: the index, the vectors, the searches under way."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any

from classmark.problems import Mistake
from classmark.workbench.desk.likeness import Likeness
from classmark.workbench.desk.sifting import KIND, Sifting
from classmark.workbench.searches import LIKE, Search, list_searches
from classmark.workbench.searching import Searchable
from classmark.workbench.vectors import collection_of, kept_collection, state_of

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk
    from classmark.workbench.project import Project
    from classmark.workbench.vectors import Collection

AT_ONCE = 5_000  # documents that are made vectors while somebody waits
WARM = 8  # searches that stay in memory
READING = "reading the documents"


class BeingRead(Mistake):
    """The documents are made vectors by a job: it takes a while the first time."""


class Slot:
    """A search in memory, and what it knows: one thread at a time has it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.held: Likeness | Sifting | None = None
        self.collection: Collection | None = None
        self.version: tuple[Any, ...] = ()


class Shelf:
    """What one desk keeps open for all its threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._searchable: Searchable | None = None
        self._collection: Collection | None = None
        self._state: dict[str, Any] | None = None
        self._slots: OrderedDict[int, Slot] = OrderedDict()

    def searchable(self, desk: Desk) -> Searchable:
        """The index in service; opened anew when another came into service."""
        with self._lock:
            held = self._searchable
            if held is None or not held.is_current(desk.project):
                held = self._searchable = Searchable(desk.project)
            return held

    def collection(self, desk: Desk) -> Collection:
        """The documents as vectors: of now, or of before while a job reads them."""
        state = state_of(desk.project)
        with self._lock:
            if self._collection is not None and self._state == state:
                return self._collection
            if not desk.jobs.running(READING):
                found = kept_collection(desk.project)
                if found is None and state["documents"][0] <= AT_ONCE:
                    found = collection_of(desk.project)
                if found is not None:
                    self._collection, self._state = found, state
                    return found
                with suppress(Mistake):
                    desk.jobs.start(READING, _read)
            if self._collection is None:
                raise BeingRead("the documents are being read: come back in a moment")
            return self._collection

    def is_behind(self, desk: Desk) -> bool:
        """Whether documents came that are not vectors yet."""
        return self._state is not None and self._state != state_of(desk.project)

    @contextmanager
    def taken(
        self, desk: Desk, number: int, who: str = ""
    ) -> Iterator[Likeness | Sifting]:
        """A search, for this thread alone; read anew if others marked in it."""
        search, collection = search_of(desk.project, number), self.collection(desk)
        slot = self._slot(number)
        with slot.lock:
            version = _version(desk.project, search)
            if slot.collection is not collection or slot.version != version:
                slot.held = None
            try:
                held = slot.held = slot.held or _opened(desk, search, collection)
                held.lend(desk.project, who)
                yield held
                slot.collection = collection
                slot.version = _version(desk.project, search_of(desk.project, number))
            except BaseException:
                slot.held = None
                raise

    def _slot(self, number: int) -> Slot:
        with self._lock:
            slot = self._slots.setdefault(number, Slot())
            self._slots.move_to_end(number)
            while len(self._slots) > WARM:
                self._slots.popitem(last=False)
            return slot


def search_of(project: Project, number: int) -> Search:
    """A search by its number."""
    for kind in (LIKE, KIND):
        for search in list_searches(project.store, kind):
            if search.number == number:
                return search
    raise Mistake(f"there is no search {number}: the list has those that there are")


def _opened(desk: Desk, search: Search, collection: Collection) -> Likeness | Sifting:
    made = Sifting if search.settings.get("kind") == KIND else Likeness
    return made(desk.project, search, collection)


def _version(project: Project, search: Search) -> tuple[Any, ...]:
    """What a search in memory depends on: its marks, and its settings."""
    last = "SELECT coalesce(max(seq), 0) FROM marks WHERE search = ?"
    (seq,) = project.store.run(last, (search.number,)).fetchone()
    settings = {name: each for name, each in search.settings.items() if name != "shown"}
    return seq, settings


def _read(project: Project) -> str:
    return f"{len(collection_of(project).ids):,} documents are read"
