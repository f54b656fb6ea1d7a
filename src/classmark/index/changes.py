"""Documents are added, replaced and deleted; segments are merged in the background.

New documents become a new segment, deleted ones are only marked. So that segments do
not pile up, they are merged: let the level of a segment be ⌊log₈ documents⌋; when the
newest eight segments or more are all of a level or below, they become one. A document
is so written again once for each power of eight, and there are at most seven segments
of each level [ONeil96]. A segment of which half the documents are deleted is written
again without them. A commit does so, or a thread in the background, or nobody until all
is merged on demand.

The thread merges in a folder aside, under a lock of that folder, and holds up nobody.
What it has made is put in service by itself, if nobody has changes under way, under the
lock that all changes need; else by the commit of those changes. Documents that were
deleted or replaced meanwhile are marked in the merged segment. If its sources are not
there any more, since another process or a merge on demand came first, it is thrown
away: at any moment the generation in service is whole, and no change is lost.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Event, RLock, Thread
from typing import NamedTuple

import numpy as np

from classmark.index.build import IndexEntry, Setup, build_segment
from classmark.index.merge import merge_segments
from classmark.index.segment import Segment, SegmentPart
from classmark.index.snapshot import (
    ASIDE,
    Lock,
    Snapshot,
    commit,
    new_segment,
    open_snapshot,
    remove_segments,
    try_lock,
)
from classmark.problems import Mistake
from classmark.storage import Generations
from classmark.text.analyzer import Analyzer

FANOUT = 8
#: Texts wait in memory until they take this share of what there is.
SHARE = 4


class Changes:
    """What is to be committed: segments, marks, and documents not yet in a segment.

    memory : bytes that may be used;  base : the generation that is changed; where
    another process has moved on since, that of the process.
    """

    def __init__(self, path: Path, memory: int, base: Snapshot) -> None:
        self.path, self.base = path, base
        self.waiting: dict[str, IndexEntry] = {}
        self.size = 0
        self._lock = Lock(path)
        try:
            if open_number(path) != base.number:
                self.base = open_snapshot(path)
            settings = self.base.settings
            analyzer = Analyzer.parse(settings["analyzer"])
            fields, positions = settings["fields"], settings["positions"]
            self.setup = Setup(analyzer, fields, positions, memory)
        except BaseException:
            self._lock.free()
            raise
        self.parts = list(self.base.parts)

    def add(self, stream: Iterable[IndexEntry]) -> None:
        """Take new documents in; refuse an id that is there."""
        for entry in stream:
            if entry.id in self.waiting or self._find(entry.id) is not None:
                raise Mistake(
                    f"document {entry.id!r} is already there: replace it, or delete it "
                    "first (documents given before it are added)"
                )
            self._wait(entry)

    def replace(self, stream: Iterable[IndexEntry]) -> None:
        """Take documents in, instead of those with the same ids, if there are any."""
        for entry in stream:
            self._remove(entry.id)
            self._wait(entry)

    def delete(self, ids: Iterable[str]) -> None:
        """Delete documents; an unknown id is refused before anything is done."""
        unique_ids = list(dict.fromkeys(ids))
        for name in unique_ids:
            if name not in self.waiting and self._find(name) is None:
                raise Mistake(f"document {name!r} is not there: nothing was deleted")
        for name in unique_ids:
            self._remove(name)

    def merge(self) -> None:
        """Make one segment of all."""
        self._flush()
        if len(self.parts) > 1 or any(p.alive is not None for p in self.parts):
            self._merge(slice(0, len(self.parts)))

    def commit(
        self, tidy: Callable[[list[SegmentPart]], list[SegmentPart]] | None = None
    ) -> Snapshot:
        """Write everything, put it in service, and let others change the index.

        tidy : what becomes of the segments; None: they are merged as the policy says.
        """
        self._flush()
        if tidy is not None:
            self.parts = tidy(self.parts)
        self.parts = [part for part in self.parts if part.kept()]
        while tidy is None and (span := to_merge(self.parts)) is not None:
            self._merge(span)
        snapshot = commit(self.path, self.parts, self.base.settings)
        self.discard()
        return snapshot

    def discard(self) -> None:
        """Forget what was not committed."""
        self.parts, self.waiting, self.size = [], {}, 0
        self._lock.free()

    def _wait(self, entry: IndexEntry) -> None:
        self.waiting[entry.id] = entry
        self.size += entry.size() + 256
        if self.size > self.setup.memory // SHARE:
            self._flush()

    def _find(self, name: str) -> tuple[int, int] | None:
        """Return the segment and the number in it of a document that is alive."""
        for at, (segment, alive) in enumerate(self.parts):
            number = segment.ids.find(name)
            if number is not None and (alive is None or alive[number]):
                return at, number
        return None

    def _remove(self, name: str) -> None:
        if self.waiting.pop(name, None) is not None:
            return
        place = self._find(name)
        if place is None:
            return
        at, number = place
        alive = self.parts[at].mask()
        if any(alive is part.alive for part in self.base.parts):
            alive = alive.copy()  # readers keep theirs
        alive[number] = False
        self.parts[at] = SegmentPart(self.parts[at].segment, alive)

    def _flush(self) -> None:
        if not self.waiting:
            return
        entries = iter(list(self.waiting.values()))
        self.waiting, self.size = {}, 0
        segment = build_segment(entries, self.setup, lambda: new_segment(self.path))
        self.parts.append(SegmentPart(segment, None))

    def _merge(self, which: slice) -> None:
        """Replace some neighbouring segments by one."""
        folder = new_segment(self.path)
        merge_segments(
            self.parts[which],
            folder,
            positions=self.setup.positions,
            memory=self.setup.memory // 4,
        )
        self.parts[which] = [SegmentPart(Segment(folder), None)]


def to_merge(parts: Sequence[SegmentPart]) -> slice | None:
    """Say which neighbours are to become one next; None: all is in order."""
    for at, part in enumerate(parts):
        if 2 * part.kept() <= part.segment.n_items:
            return slice(at, at + 1)
    many = newest_to_merge([part.kept() for part in parts])
    return slice(len(parts) - many, len(parts)) if many else None


def newest_to_merge(sizes: list[int]) -> int:
    """Say how many of the newest segments are to become one; 0: none.

    >>> newest_to_merge([500, 9, 3, 2, 2, 1, 1, 1, 1, 1])
    8
    >>> newest_to_merge([500, 9, 3, 2, 2, 1])
    0
    """
    levels = [(max(size, 1).bit_length() - 1) // 3 for size in sizes]
    for level in sorted(set(levels)):
        run = 0
        while run < len(levels) and levels[-1 - run] <= level:
            run += 1
        if run >= FANOUT:
            return run
    return 0


def open_number(path: Path) -> int:
    """Return the number of the generation in service, 0 before the first."""
    current = Generations(path).current()
    return 0 if current is None else int(current.name)


class MergingFailed(Mistake):
    """The background could not merge; the index is as it was committed."""


class _Stopped(Exception):
    """The merging was cancelled."""


class Merged(NamedTuple):
    """A merged segment, its sources as they were, and the lock of its folder."""

    sources: tuple[SegmentPart, ...]
    segment: Segment
    lock: Lock

    def marked(self, now: Sequence[SegmentPart]) -> SegmentPart:
        """Return it with the documents marked that its sources have lost since."""
        left = {id(part.segment): part for part in now}
        masks = []
        for before in self.sources:
            part = left.get(id(before.segment))
            if part is None or part.alive is None:
                masks.append(np.full(before.kept(), part is not None))
            else:
                masks.append(before.living(part.alive))
        alive = np.concatenate(masks)
        return SegmentPart(self.segment, None if alive.all() else alive)


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
        """Put the merged segment in service, if nobody has changes under way."""
        with self.mutex:
            if self._merged is None or not self.may_publish:
                return
            lock = try_lock(self.path)
            if lock is None:
                return
            with lock:
                if open_number(self.path) != self.newest.number:
                    self._forget()
                    self.newest = open_snapshot(self.path)
                    return
                before = list(self.newest.parts)
                after = self.taken_up(before)
                if after is not before:
                    after = [part for part in after if part.kept()]
                    self.newest = commit(self.path, after, self.newest.settings)

    def taken_up(self, parts: list[SegmentPart]) -> list[SegmentPart]:
        """Return the segments with the merged one in the place of its sources."""
        merged = self._merged
        sources = {id(part.segment) for part in merged.sources} if merged else set()
        places = [at for at, part in enumerate(parts) if id(part.segment) in sources]
        # Some may be missing: a commit leaves segments out that are deleted altogether.
        if merged is None or not places or places[-1] - places[0] >= len(places):
            self._forget()
            return parts
        merged.segment.move(new_segment(self.path))
        self._merged = None
        merged.lock.free()
        first, last = places[0], places[-1] + 1
        return [*parts[:first], merged.marked(parts[first:last]), *parts[last:]]

    def _run(self) -> None:
        try:
            while sources := self._next():
                self._merge(sources)
        except _Stopped:
            self._is_busy = False
        except BaseException as problem:  # noqa: BLE001 - raised by complain
            self._problem, self._is_busy = problem, False

    def _next(self) -> tuple[SegmentPart, ...]:
        """Return the segments to merge; if there are none, the thread has ended."""
        with self.mutex:
            span = to_merge(self.newest.parts)
            if span is None or self._merged is not None:
                self._is_busy = False
                return ()
            return self.newest.parts[span]

    def _merge(self, sources: tuple[SegmentPart, ...]) -> None:
        with self.mutex:
            lock = try_lock(self.path / ASIDE)
        if lock is None:
            raise _Stopped  # another process merges
        folder = self.path / ASIDE / "segment"
        try:
            remove_segments(self.path / ASIDE)
            merge_segments(
                sources,
                folder,
                positions=self.newest.settings["positions"],
                memory=self.memory,
                watch=self._stop_if_unwanted,
            )
            self._merged = Merged(sources, Segment(folder), lock)
        except BaseException:
            lock.free()
            raise
        self.publish()

    def _stop_if_unwanted(self) -> None:
        if self._is_unwanted.is_set():
            raise _Stopped

    def _forget(self) -> None:
        if self._merged is not None:
            shutil.rmtree(self._merged.segment.folder)
            self._merged.lock.free()
            self._merged = None
