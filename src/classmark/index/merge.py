"""Segments become one: in bounded memory, by a policy, and in the background.

So that segments do not pile up, they are merged: let the level of a segment be ⌊log₈
documents⌋; when the newest eight segments or more are all of a level or below, they
become one. A document is so written again once for each power of eight, and there are
at most seven segments of each level [ONeil96]. A segment of which half the documents
are deleted is written again without them. A commit does so, or a thread in the
background, or nobody until all is merged on demand.

The thread merges in a folder aside, under a lock of that folder, and holds up nobody.
What it has made is put in service by itself, if nobody has changes under way, under the
lock that all changes need; else by the commit of those changes. Documents that were
deleted or replaced meanwhile are marked in the merged segment. If its sources are not
there any more, since another process or a merge on demand came first, it is thrown
away: at any moment the generation in service is whole, and no change is lost.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from threading import Event, RLock, Thread
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Ints, bounds_of, zeros
from classmark.corpus.documents import order_terms
from classmark.index.kernels_postings import GONE, append_lists, append_places
from classmark.index.postings import ColumnReader
from classmark.index.segment import (
    Cursor,
    Inverted,
    MergeSource,
    Segment,
    SegmentPart,
    SegmentWriter,
    TermRange,
)
from classmark.index.snapshot import (
    ASIDE,
    Lock,
    Snapshot,
    commit,
    new_segment,
    open_number,
    open_snapshot,
    remove_segments,
    try_lock,
)
from classmark.problems import Mistake

_IDS, _KEYS, _PER_HELD = 1 << 14, 1 << 17, 48


def merge_segments(
    parts: Sequence[SegmentPart],
    folder: Path,
    *,
    positions: bool,
    memory: int,
    fields: Sequence[str] | None = None,
    watch: Callable[[], object] = lambda: None,
) -> None:
    """Write the documents of all parts that are alive, in order, as one segment.

    The result is what one block of all those documents gives, byte by byte. Lists are
    held for as many terms at a time as ``memory`` bytes allow, but at least for one: so
    what is held is at most ``memory`` or, if more, 20 bytes for each document of the
    commonest term (with positions, and 10 for each of its occurrences); and 4 bytes for
    each document of a part that has deleted ones.

    fields : the fields it has, None for those of the parts, as they come.
    watch : called between the ranges of terms; what it raises ends the merging, and
        nothing is left of it.
    """
    with SegmentWriter(folder) as writer:
        all_fields = [name for part in parts for name in part.segment.fields]
        for name in fields or dict.fromkeys(all_fields):
            writer.field(name, positions=positions)
            for part in parts:
                writer.lengths(part.living(part.lengths(name)))
                part.segment.let_go()
            for inverted in _merged(parts, name, memory, places=positions):
                writer.lists(inverted)
                watch()
                for part in parts:
                    part.segment.let_go()
        for part in parts:
            _copy_ids(part, writer)
            part.segment.let_go()
        for keys, numbers in merged_keys(parts):
            writer.keys(keys, numbers, lambda number: id_of(parts, number))
            watch()


def id_of(parts: Sequence[SegmentPart], number: int) -> str:
    """Return the id of a document by its number after merging."""
    for part in parts:
        if number < part.kept():
            alive = part.alive
            at = number if alive is None else int(np.flatnonzero(alive)[number])
            return part.segment.ids[at]
        number -= part.kept()
    raise IndexError(number)


def _copy_ids(part: SegmentPart, writer: SegmentWriter) -> None:
    arrays, at, done = part.segment.arrays, 0, 0
    column = ColumnReader(arrays["id-sizes"], part.segment.n_items)
    while len(sizes := column.read(_IDS)):
        size = int(sizes.sum())
        names, at = arrays["ids"][at : at + size], at + size
        if part.alive is not None:
            alive = part.alive[done : done + len(sizes)]
            done += len(sizes)
            names, sizes = names[np.repeat(alive, sizes)], sizes[alive]
        writer.ids(names.tobytes(), sizes)


def merged_keys(
    parts: Sequence[SegmentPart],
) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
    """Merge the orders in which ids are found, one range of keys after another."""
    total = sum(part.kept() for part in parts)
    pieces = total // _KEYS + 1
    edges = [(n << 32) // pieces for n in range(pieces + 1)]
    for low, high in pairwise(edges):
        keys, numbers, shift = [], [], 0
        for part in parts:
            arrays = part.segment.arrays
            mine, order = arrays["id-keys"], arrays["id-order"]
            first = int(np.searchsorted(mine, np.uint32(low)))
            last = int(np.searchsorted(mine, np.uint32(high - 1), side="right"))
            mine, order = np.array(mine[first:last]), np.array(order[first:last])
            if part.alive is not None:
                order = part.renumbered()[order]
                mine, order = mine[order != GONE], order[order != GONE]
            keys.append(mine)
            numbers.append(order + np.uint32(shift))
            shift += part.kept()
        yield np.concatenate(keys), np.concatenate(numbers)


def _merged(
    parts: Sequence[SegmentPart], name: str, memory: int, *, places: bool
) -> Iterator[Inverted]:
    """Merge the lists of a field, some terms at a time."""
    having, shift = [], 0
    for part in parts:
        if name in part.segment.fields:
            having.append((part.segment.fields[name], shift, part.renumbered()))
        shift += part.kept()
    size = memory // (4 * _PER_HELD * max(len(having), 1))
    cursors = [Cursor(field, size) for field, _, _ in having]
    while any(len(cursor.stretch) for cursor in cursors):
        sources = [
            MergeSource(cursor.stretch, shift, renumbered)
            for cursor, (_, shift, renumbered) in zip(cursors, having, strict=True)
        ]
        stops = _stops([cursor.stretch for cursor in cursors], memory)
        yield join(sources, [slice(0, stop) for stop in stops], places=places)
        for cursor, stop in zip(cursors, stops, strict=True):
            cursor.advance(stop)


def _stops(stretches: list[TermRange], memory: int) -> list[int]:
    """Say how far to go in each so that the lists fit, all up to one term."""
    ends = []
    for stretch in stretches:
        far = stretch.reach(0, memory // len(stretches)) if len(stretch) else 0
        if far < len(stretch):
            ends.append(stretch.term(far))
        elif int(stretch.bounds[-1]) < len(stretch.field.terms):
            ends.append(stretch.term(far - 1) + b"\0")  # the least that comes after it
    if not ends:
        return [len(stretch) for stretch in stretches]
    return [stretch.place(min(ends)) for stretch in stretches]


def join(
    sources: Sequence[MergeSource], runs: Sequence[slice], *, places: bool
) -> Inverted:
    """Join runs of terms, one of each source, with their lists; drop empty lists."""
    pairs = list(zip(sources, runs, strict=True))
    vocabulary, number = order_terms([s.stretch.terms(run) for s, run in pairs])

    def bounds(sizes: list[Ints]) -> Ints:
        """Where the list of each term begins, of which sources have these sizes."""
        total = np.bincount(number, np.concatenate(sizes), len(vocabulary))
        return bounds_of(total.astype(np.int64))

    edges = bounds([s.stretch.df[run] for s, run in pairs])
    postings, ends = zeros(int(edges[-1]), np.uint64), edges[:-1].copy()
    inverted = Inverted(vocabulary.blob, postings, edges[:-1], ends)
    if places:
        edges = bounds([s.stretch.cf[run] for s, run in pairs])
        gaps, gap_ends = zeros(int(edges[-1]), np.uint32), edges[:-1].copy()
        inverted = inverted._replace(places=(gaps, edges[:-1], gap_ends))
    numbers = np.split(number, np.cumsum([run.stop - run.start for run in runs])[:-1])
    for (stretch, shift, renumbered), run, mine in zip(
        sources, runs, numbers, strict=True
    ):
        lists = tuple(stretch.lists(run))
        append_lists(lists, mine, shift, renumbered, ends, postings)
        if places:
            append_places(lists, mine, renumbered, stretch.gaps(run), gap_ends, gaps)
    return _without_empty(inverted)


def _without_empty(inverted: Inverted) -> Inverted:
    """Leave the terms out that only deleted documents had."""
    nonempty = inverted.ends > inverted.begins
    if nonempty.all():
        return inverted
    closing = np.flatnonzero(inverted.terms == ord("\n"))
    sizes = np.diff(closing, prepend=-1)
    terms = inverted.terms[np.repeat(nonempty, sizes)]
    bounds = inverted.begins[nonempty], inverted.ends[nonempty]
    places = inverted.places
    if places is not None:
        places = places[0], places[1][nonempty], places[2][nonempty]
    return Inverted(terms, inverted.postings, *bounds, places)


FANOUT = 8


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
            while True:
                with self.mutex:
                    span = to_merge(self.newest.parts)
                    if span is None or self._merged is not None:
                        self._is_busy = False  # the thread ends
                        return
                    sources = self.newest.parts[span]
                self._merge(sources)
        except _Stopped:
            self._is_busy = False
        except BaseException as problem:  # noqa: BLE001 - raised by complain
            self._problem, self._is_busy = problem, False

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
