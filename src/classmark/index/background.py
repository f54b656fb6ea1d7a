"""Segments are merged in a thread of their own, while others read and write.

The thread merges in a folder aside, under a lock of that folder, and holds up nobody.
What it has made is put in service by itself, if nobody has changes under way, under the
lock that all changes need; else by the commit of those changes. Documents that were
deleted or replaced meanwhile are marked in the merged segment. If its sources are not
there any more, since another process or a merge on demand came first, it is thrown
away: at any moment the generation in service is whole, and no change is lost.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event, RLock, Thread
from typing import NamedTuple

import numpy as np

from classmark.arrays import Bools
from classmark.index.merging import Part, merge_segments
from classmark.index.segments import Segment
from classmark.index.snapshots import Lock, Snapshot, commit, new_segment, open_snapshot
from classmark.index.updating import open_number, to_merge
from classmark.problems import Mistake

ASIDE = "merging"


class MergingFailed(Mistake):
    """The background could not merge; the index is as it was committed."""


class _Stopped(Exception):
    """The merging is not wanted any more."""


class Merged(NamedTuple):
    """A segment made of others: those, as they were; and the lock of its folder."""

    sources: tuple[Part, ...]
    segment: Segment
    lock: Lock

    def place_in(self, parts: Sequence[Part]) -> slice | None:
        """Return where its sources are; None: they are not there any more.

        Some may be missing: a commit leaves segments out that are deleted altogether.
        """
        wanted = {id(part.segment) for part in self.sources}
        found = [at for at, part in enumerate(parts) if id(part.segment) in wanted]
        if not found or found[-1] - found[0] >= len(found):
            return None
        return slice(found[0], found[-1] + 1)

    def marked(self, now: Sequence[Part]) -> Part:
        """Return it with the documents marked that its sources have lost since."""
        left = {id(part.segment): part for part in now}
        alive = np.concatenate([_still(part, left) for part in self.sources])
        return Part(self.segment, None if alive.all() else alive)


def _still(before: Part, left: Mapping[int, Part]) -> Bools:
    """Say which documents that were alive still are."""
    now = left.get(id(before.segment))
    if now is None:
        return np.zeros(before.kept(), np.bool_)
    if now.alive is None:
        return np.ones(before.kept(), np.bool_)
    return now.alive if before.alive is None else now.alive[before.alive]


class Merger:
    """Merges the segments of an index, in a thread that ends when all is in order.

    newest : the last generation that is known;  may_publish : whether nobody has
    changes under way;  mutex : held to look at these, and to change them.
    """

    def __init__(self, path: Path, newest: Snapshot, memory: int) -> None:
        self.path, self.newest, self.memory = path, newest, memory
        self.may_publish, self.mutex = True, RLock()
        self._thread: Thread | None = None
        self._is_busy = False
        self._merged: Merged | None = None
        self._problem: BaseException | None = None
        self._is_unwanted = Event()

    def start(self) -> None:
        """Begin to merge, if there is anything to merge and nobody does so yet."""
        with self.mutex:
            if not self._is_busy and to_merge(self.newest.parts) is not None:
                self._is_busy = True
                self._thread = Thread(target=self._run, name=f"merging {self.path}")
                self._thread.start()

    def wait(self) -> None:
        """Wait until the thread has ended: all is merged, or changes are under way."""
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """End the thread, also amidst a merge, of which nothing is left."""
        self._is_unwanted.set()
        self.wait()
        self._is_unwanted.clear()
        with self.mutex:
            self.publish()
            self._forget()

    def complain(self) -> None:
        """Say what went wrong since the last time, if anything did."""
        problem, self._problem = self._problem, None
        if problem is not None:
            raise MergingFailed(
                f"{self.path}: merging in the background failed ({problem}): nothing "
                "committed is lost; mend the cause and commit again, or open the index "
                "with merging='demand'"
            ) from problem

    def publish(self) -> None:
        """Put what is merged in service, if nobody has changes under way."""
        with self.mutex:
            if self._merged is None or not self.may_publish:
                return
            lock = _lock(self.path)
            if lock is None:
                return
            try:
                if open_number(self.path) != self.newest.number:
                    self._forget()
                    self.newest = open_snapshot(self.path)
                    return
                before = list(self.newest.parts)
                after = self.taken_up(before)
                if after is not before:
                    after = [part for part in after if part.kept()]
                    self.newest = commit(self.path, after, self.newest.settings)
            finally:
                lock.free()

    def taken_up(self, parts: list[Part]) -> list[Part]:
        """Return segments with what was merged in the place of its sources."""
        merged = self._merged
        at = None if merged is None else merged.place_in(parts)
        if merged is None or at is None:
            self._forget()
            return parts
        merged.segment.move(new_segment(self.path))
        self._merged = None
        merged.lock.free()
        return [*parts[: at.start], merged.marked(parts[at]), *parts[at.stop :]]

    def _run(self) -> None:
        try:
            while sources := self._next():
                self._merge(sources)
        except _Stopped:
            self._is_busy = False
        except BaseException as problem:  # noqa: BLE001 - raised by complain
            self._problem, self._is_busy = problem, False

    def _next(self) -> tuple[Part, ...]:
        """Return what to merge; where there is nothing, the thread has ended."""
        with self.mutex:
            found = to_merge(self.newest.parts)
            if found is None or self._merged is not None:
                self._is_busy = False
                return ()
            return self.newest.parts[found]

    def _merge(self, sources: tuple[Part, ...]) -> None:
        with self.mutex:
            lock = _lock(self.path / ASIDE)
        if lock is None:
            raise _Stopped  # another process merges
        folder, places = (
            self.path / ASIDE / "segment",
            self.newest.settings["positions"],
        )
        try:
            _clear(self.path / ASIDE)
            merge_segments(
                sources,
                folder,
                positions=places,
                memory=self.memory,
                watch=self._watch,
            )
            self._merged = Merged(sources, Segment(folder), lock)
        except BaseException:
            lock.free()
            raise
        self.publish()

    def _watch(self) -> None:
        if self._is_unwanted.is_set():
            raise _Stopped

    def _forget(self) -> None:
        """Throw away what was merged."""
        if self._merged is not None:
            shutil.rmtree(self._merged.segment.folder)
            self._merged.lock.free()
            self._merged = None


def clear(path: Path) -> None:
    """Remove what a killed merger left aside, unless one is at work there."""
    lock = _lock(path / ASIDE) if (path / ASIDE).exists() else None
    if lock is not None:
        _clear(path / ASIDE)
        lock.free()


def _clear(aside: Path) -> None:
    for left in aside.glob("*segment*"):
        shutil.rmtree(left)


def _lock(path: Path) -> Lock | None:
    """Return the lock of a folder; None: another has it."""
    try:
        return Lock(path)
    except Mistake:
        return None
