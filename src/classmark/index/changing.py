"""How the documents of an index are changed, and who merges what changes leave."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from classmark.index.background import Merger, clear
from classmark.index.building import bytes_of
from classmark.index.documents import Given, entries
from classmark.index.snapshots import Snapshot
from classmark.index.updating import Changes
from classmark.problems import Mistake

MERGING = ("commit", "background", "demand")
#: With so many segments a commit waits for the thread that merges them.
CROWD = 64


class Changeable(ABC):
    """A generation that is read, and the changes that will make the next one."""

    _snapshot: Snapshot

    def __init__(
        self, path: Path, snapshot: Snapshot, memory: int, merging: str = "commit"
    ) -> None:
        if merging not in MERGING:
            raise Mistake(f"merging is {merging!r}: use one of {', '.join(MERGING)}")
        self.path, self.merging, self._memory = path, merging, memory
        self._room = max(memory, bytes_of("64MB"))
        self._changes: Changes | None = None
        self._merger = Merger(path, snapshot, self._room // 4)
        self._is_closed = False
        self._show(snapshot)

    def add(self, documents: Iterable[Given]) -> None:
        """Add documents whose ids are new; ``commit`` makes them seen."""
        changes = self._begin()
        changes.add(entries(documents, changes.setup.fields))

    def replace(self, documents: Iterable[Given]) -> None:
        """Add documents in place of those with the same ids, if there are any.

        The new ones are numbered after all others.
        """
        changes = self._begin()
        changes.replace(entries(documents, changes.setup.fields))

    def delete(self, ids: Iterable[str]) -> None:
        """Delete documents by their ids."""
        if isinstance(ids, str):
            raise Mistake(f"ids is the string {ids!r}: give a list of ids")
        self._begin().delete(ids)

    def commit(self) -> Self:
        """Put the changes in service: whole and durable, or not at all.

        What the background has merged is read from now on, too; if it failed, that is
        said here, and the changes wait for the next ``commit``.
        """
        self._merger.complain()
        if self._changes is not None:
            if len(self._changes.parts) > CROWD:
                self._merger.wait()
            tidy = None if self.merging == "commit" else self._merger.taken_up
            with self._merger.mutex:
                self._merger.newest = self._changes.commit(tidy)
                self._end()
        if self._merger.newest is not self._snapshot:
            self._show(self._merger.newest)
        self._go_on()
        return self

    def discard(self) -> Self:
        """Forget the changes that are not committed."""
        if self._changes is not None:
            with self._merger.mutex:
                self._changes.discard()
                self._end()
                self._merger.publish()
            self._go_on()
        return self

    def merge(self) -> Self:
        """Make one segment of all, without deleted documents, and commit."""
        self._merger.stop()
        self._begin().merge()
        return self.commit()

    def close(self) -> None:
        """End the merging in the background, and forget what was not committed.

        The index can still be read. If the merging failed, that is said here.
        """
        self._is_closed = True
        try:
            self.discard()
        finally:
            self._merger.stop()
        self._merger.complain()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _show(self, snapshot: Snapshot) -> None:
        """Read another generation from now on."""

    def _begin(self) -> Changes:
        if self._is_closed:
            raise Mistake(f"{self.path} was closed: open the index again to change it")
        if self._changes is None:
            with self._merger.mutex:
                base = self._merger.newest
                self._changes = Changes(self.path, self._room, base)
                self._merger.may_publish = False
                clear(self.path)  # its lock must not seem another process's
        return self._changes

    def _end(self) -> None:
        self._changes = None
        self._merger.may_publish = True

    def _go_on(self) -> None:
        if self.merging == "background" and not self._is_closed:
            self._merger.start()
